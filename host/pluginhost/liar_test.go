package pluginhost

import (
	"context"
	"os"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/agenthistory/ctx/sdkplugin/historyv1"
)

// liar is a provider below the SDK, so that it can send what the SDK refuses.
type liar struct {
	historyv1.UnimplementedProviderServer
	mode string
}

func description() *historyv1.DescribeResponse {
	return &historyv1.DescribeResponse{
		Id: "liar", CliName: "liar", ParserRevision: "1", Resolves: true,
		Formats: []*historyv1.Format{{Name: "liar_tree", Leaf: "liar_leaf", SchemaVariant: "v1"}},
	}
}

func (l *liar) Describe(_ context.Context, _ *historyv1.DescribeRequest) (*historyv1.DescribeResponse, error) {
	d := description()
	switch l.mode {
	case "describe-hang":
		select {}
	case "describe-crash":
		os.Exit(4)
	case "describe-error":
		return nil, status.Error(codes.Internal, "the text of somebody's message\n\x1b[31m")
	case "describe-huge":
		d.DisplayName = strings.Repeat("x", 2<<20)
	case "describe-bad-id":
		d.Id = "../../etc"
	case "environment":
		for _, v := range os.Environ() {
			d.Aliases = append(d.Aliases, v)
		}
	}
	return d, nil
}

func (l *liar) Resolve(_ context.Context, _ *historyv1.ResolveRequest) (*historyv1.ResolveResponse, error) {
	if l.mode == "resolve-hang" {
		select {}
	}
	return &historyv1.ResolveResponse{Candidates: []*historyv1.Candidate{{Path: "relative"}}}, nil
}

func source() *historyv1.Source {
	return &historyv1.Source{Anchor: []byte("a"), Format: "liar_leaf", Locator: "s.jsonl", Observation: []byte("o")}
}

func (l *liar) Inventory(req *historyv1.InventoryRequest, stream grpc.ServerStreamingServer[historyv1.InventoryMessage]) error {
	switch l.mode {
	case "inventory-hang":
		<-stream.Context().Done()
	case "inventory-crash":
		os.Exit(5)
	case "inventory-no-end":
		return nil
	case "inventory-parts":
		many := &historyv1.Sources{Sources: make([]*historyv1.Source, mostParts+1)}
		for i := range many.Sources {
			many.Sources[i] = &historyv1.Source{}
		}
		return stream.Send(&historyv1.InventoryMessage{Message: &historyv1.InventoryMessage_Sources{Sources: many}})
	}
	return stream.Send(&historyv1.InventoryMessage{Message: &historyv1.InventoryMessage_End{End: &historyv1.InventoryEnd{}}})
}

func begin(ordinal uint32) *historyv1.ScanMessage {
	return &historyv1.ScanMessage{Message: &historyv1.ScanMessage_Begin{Begin: &historyv1.SourceBegin{Source: ordinal, Mode: historyv1.Mode_MODE_FULL}}}
}

func batch(ordinal uint32, events ...*historyv1.Event) *historyv1.ScanMessage {
	return &historyv1.ScanMessage{Message: &historyv1.ScanMessage_Batch{Batch: &historyv1.Batch{
		Source: ordinal, Sessions: []*historyv1.Session{{Ref: &historyv1.SessionRef{Kind: "s", Key: []byte("k")}}}, Events: events,
	}}}
}

func event() *historyv1.Event {
	return &historyv1.Event{
		Key: []byte("k"), Kind: "e", Type: "message", Structured: []byte(`{"a":"é"}`), Body: &historyv1.Value{Spans: []*historyv1.Span{{Offset: 5, Length: 4, Quoted: true}}},
	}
}

func end(ordinal uint32) *historyv1.ScanMessage {
	return &historyv1.ScanMessage{Message: &historyv1.ScanMessage_End{End: &historyv1.SourceEnd{
		Source: ordinal, Observation: []byte("o"), ContentDigest: make([]byte, 32), Counts: &historyv1.Counts{Complete: 1, Retained: 1},
	}}}
}

// Scan reads each source as a correct provider would, except for source 1, which mode spoils.
func (l *liar) Scan(stream grpc.BidiStreamingServer[historyv1.ScanSource, historyv1.ScanMessage]) error {
	if l.mode == "scan-never-reads" {
		<-stream.Context().Done()
		return nil
	}
	for {
		source, err := stream.Recv()
		if err != nil {
			break
		}
		n := source.GetOrdinal()
		messages := []*historyv1.ScanMessage{begin(n), batch(n, event()), end(n)}
		if n == 1 {
			messages = l.spoil(stream.Context(), messages)
		}
		for _, m := range messages {
			if err := stream.Send(m); err != nil {
				return err
			}
		}
	}
	if l.mode == "scan-never-returns" {
		<-stream.Context().Done()
	}
	return nil
}

func (l *liar) spoil(ctx context.Context, messages []*historyv1.ScanMessage) []*historyv1.ScanMessage {
	switch l.mode {
	case "scan-crash":
		os.Exit(6)
	case "scan-hang":
		<-ctx.Done()
	case "scan-memory":
		hog := make([]byte, 256<<20)
		for i := 0; i < len(hog); i += 1024 {
			hog[i] = 1
		}
		<-ctx.Done()
		hog[0] = hog[len(hog)-1]
	case "scan-oversized":
		e := event()
		e.Structured = make([]byte, 65<<20)
		return []*historyv1.ScanMessage{messages[0], batch(1, e)}
	case "scan-foreign-source":
		return []*historyv1.ScanMessage{begin(77)}
	case "scan-after-end":
		return append(messages, batch(1, event()))
	case "scan-no-end":
		return messages[:2]
	case "scan-empty":
		return []*historyv1.ScanMessage{{}}
	case "scan-bad-span":
		e := event()
		e.Body.Spans[0].Length = 1 << 30
		return []*historyv1.ScanMessage{messages[0], batch(1, e), messages[1], messages[2]}
	case "scan-parts":
		e := event()
		for range mostParts {
			e.Body.Spans = append(e.Body.Spans, &historyv1.Span{})
		}
		return []*historyv1.ScanMessage{messages[0], batch(1, e)}
	}
	return messages
}
