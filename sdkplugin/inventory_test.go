package sdkplugin

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/agenthistory/ctx/sdkplugin/historyv1"
)

type fakeInventory struct {
	grpc.ServerStream
	ctx      context.Context
	messages []*historyv1.InventoryMessage
}

func (f *fakeInventory) Context() context.Context { return f.ctx }

func (f *fakeInventory) Send(m *historyv1.InventoryMessage) error {
	f.messages = append(f.messages, proto.CloneOf(m)) // as on the wire: the sender goes on using it
	return nil
}

func runInventory(t *testing.T, req *historyv1.InventoryRequest, fn func(context.Context, InventoryRequest, *InventoryWriter) error) ([]*historyv1.Source, *historyv1.InventoryEnd, error) {
	t.Helper()
	f := &fakeInventory{ctx: t.Context()}
	s := &server{provider: &scripted{inventory: fn}, log: nullLog()}
	err := s.Inventory(req, f)
	var sources []*historyv1.Source
	var end *historyv1.InventoryEnd
	for _, m := range f.messages {
		if n := len(m.GetSources().GetSources()); n > sourcesMessage {
			t.Errorf("a message of %d sources", n)
		}
		sources = append(sources, m.GetSources().GetSources()...)
		end = m.GetEnd()
	}
	return sources, end, err
}

func source(locator string) Source {
	return Source{Anchor: NativeAnchor("acme", Utf8("s"+locator)), Format: "acme_jsonl", Locator: locator, Observation: []byte("o"), Size: 10}
}

func TestInventory(t *testing.T) {
	req := &historyv1.InventoryRequest{Routes: []*historyv1.Route{{Id: "a", Path: "/a", Lineage: []byte("l")}, {Path: "/b"}, {Path: "/c"}}}
	sources, end, err := runInventory(t, req, func(_ context.Context, req InventoryRequest, out *InventoryWriter) error {
		if len(req.Routes) != 3 || req.Routes[0].ID != "a" || string(req.Routes[0].Lineage) != "l" {
			return fmt.Errorf("%+v", req)
		}
		for i := range 1200 {
			if err := out.Source(source(fmt.Sprintf("%04d", i))); err != nil {
				return err
			}
		}
		out.Walked(3, 1300, 2)
		out.Walked(1, 0, 0)
		out.Route(0, RouteComplete)
		out.Route(1, RouteMissing)
		out.Diagnostics.Add(Diagnostic{Severity: SeverityInfo, Code: "c", Message: "m", Locator: "/bad", Route: 1})
		return nil
	})
	if err != nil || len(sources) != 1200 || sources[700].Locator != "0700" {
		t.Fatalf("%d sources, %v", len(sources), err)
	}
	want := &historyv1.InventoryEnd{SkippedLinks: 2, Directories: 4, Files: 1300, Bytes: 12000,
		Diagnostics: []*historyv1.Diagnostic{{Severity: historyv1.Diagnostic_SEVERITY_INFO, Code: "c", Message: "m", Route: 1}},
		Routes: []*historyv1.RouteEnd{{State: historyv1.RouteEnd_STATE_COMPLETE, Sources: 1200},
			{State: historyv1.RouteEnd_STATE_MISSING}, {State: historyv1.RouteEnd_STATE_INCOMPLETE}}}
	if !proto.Equal(end, want) {
		t.Fatalf("%v\nwant %v", end, want)
	}
}

func TestInventoryIsCompleteWhenEveryRouteIs(t *testing.T) {
	req := &historyv1.InventoryRequest{Routes: []*historyv1.Route{{Path: "/a"}}}
	_, end, err := runInventory(t, req, func(_ context.Context, _ InventoryRequest, out *InventoryWriter) error {
		out.Route(0, RouteComplete)
		return nil
	})
	if err != nil || !end.Complete {
		t.Fatalf("%v, %v", end, err)
	}
	_, end, err = runInventory(t, &historyv1.InventoryRequest{}, func(context.Context, InventoryRequest, *InventoryWriter) error { return nil })
	if err != nil || !end.Complete {
		t.Fatalf("%v, %v", end, err)
	}
}

func TestInventoryBound(t *testing.T) {
	req := &historyv1.InventoryRequest{Routes: []*historyv1.Route{{Path: "/a"}}, MaxSources: 2}
	sources, end, err := runInventory(t, req, func(_ context.Context, _ InventoryRequest, out *InventoryWriter) error {
		for i := range 3 {
			if err := out.Source(source(fmt.Sprint(i))); errors.Is(err, ErrTooManySources) {
				break
			} else if err != nil {
				return err
			}
		}
		out.Route(0, RouteIncomplete)
		return nil
	})
	if err != nil || len(sources) != 2 || end.Complete {
		t.Fatalf("%d sources, %v, %v", len(sources), end, err)
	}
}

func TestBadInventories(t *testing.T) {
	with := func(change func(*Source)) func(context.Context, InventoryRequest, *InventoryWriter) error {
		return func(_ context.Context, _ InventoryRequest, out *InventoryWriter) error {
			s := source("a")
			change(&s)
			_ = out.Source(s) // swallowed, and still the inventory fails
			out.Route(0, RouteComplete)
			return nil
		}
	}
	cases := map[string]func(context.Context, InventoryRequest, *InventoryWriter) error{
		"no anchor":      with(func(s *Source) { s.Anchor = nil }),
		"no format":      with(func(s *Source) { s.Format = "" }),
		"locator":        with(func(s *Source) { s.Locator = "../a" }),
		"no observation": with(func(s *Source) { s.Observation = nil }),
		"big token":      with(func(s *Source) { s.Observation = make([]byte, MaxObservation+1) }),
		"route":          with(func(s *Source) { s.Route = 1 }),
		"session id":     with(func(s *Source) { s.ProviderSessionID = "\xff" }),
		"route state":    func(_ context.Context, _ InventoryRequest, out *InventoryWriter) error { out.Route(0, 9); return nil },
		"state of no route": func(_ context.Context, _ InventoryRequest, out *InventoryWriter) error {
			out.Route(5, RouteComplete)
			return nil
		},
		"error": func(context.Context, InventoryRequest, *InventoryWriter) error { return errors.New("/secret") },
		"panic": func(context.Context, InventoryRequest, *InventoryWriter) error { panic("secret") },
	}
	for name, fn := range cases {
		_, end, err := runInventory(t, &historyv1.InventoryRequest{Routes: []*historyv1.Route{{Path: "/a"}}}, fn)
		if status.Code(err) != codes.Internal || end != nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v, %v", name, end, err)
		}
	}
}

func TestDescribeAndResolve(t *testing.T) {
	s := &server{provider: &scripted{}, log: nullLog()}
	d, err := s.Describe(t.Context(), &historyv1.DescribeRequest{})
	if err != nil || d.Resolves || d.CliName != "acme" {
		t.Fatalf("%v, %v", d, err)
	}
	if _, err := s.Resolve(t.Context(), &historyv1.ResolveRequest{}); status.Code(err) != codes.Unimplemented {
		t.Errorf("%v", err)
	}
	for name, describe := range map[string]func(*DescribeResponse){
		"invalid": func(d *DescribeResponse) { d.Id = "" },
		"panic":   func(*DescribeResponse) { panic("x") },
	} {
		s := &server{provider: &scripted{describe: describe}, log: nullLog()}
		if _, err := s.Describe(t.Context(), &historyv1.DescribeRequest{}); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	s = &server{provider: &resolving{}, log: nullLog()}
	if d, err := s.Describe(t.Context(), &historyv1.DescribeRequest{}); err != nil || !d.Resolves {
		t.Errorf("%v, %v", d, err)
	}
	r, err := s.Resolve(t.Context(), &historyv1.ResolveRequest{Home: "/h", Environment: map[string]string{"A": "b"}})
	want := &historyv1.ResolveResponse{
		Candidates: []*historyv1.Candidate{{Path: "/h/b", Format: "acme_jsonl", Role: "r", Probe: &historyv1.Probe{Globs: []string{"*"}}}},
		Issues:     []*historyv1.Issue{{Code: IssueSelector, Message: "one line"}}}
	if err != nil || !proto.Equal(r, want) {
		t.Errorf("%v, %v", r, err)
	}
}

type resolving struct{ scripted }

func (*resolving) Resolve(_ context.Context, req *ResolveRequest, resp *ResolveResponse) error {
	resp.Candidates = []*Candidate{{Path: req.Home + "/" + req.Environment["A"], Format: "acme_jsonl", Role: "r", Probe: &Probe{Globs: []string{"*"}}}}
	resp.Issues = []*Issue{{Code: IssueSelector, Message: "one\nline"}}
	return nil
}

func TestDiagnostics(t *testing.T) {
	var ds Diagnostics
	for range 2 * MaxDiagnostics {
		ds.AddError("e", "x")
	}
	if len(ds) != MaxDiagnostics {
		t.Errorf("%d kept", len(ds))
	}
}
