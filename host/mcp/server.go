package mcp

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"runtime/debug"
	"slices"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/agenthistory/ctx/host/core"
	"github.com/agenthistory/ctx/host/fault"
	"github.com/agenthistory/ctx/host/redact"
	"github.com/agenthistory/ctx/host/search"
)

// versions of the protocol, the preferred one first. Older ones know no structured content.
var versions = []string{"2025-11-25", "2025-06-18"}

const instructions = "Read-only tools over the history of coding agents on this machine: search finds past work, show_session and show_event read " +
	"it, query_events lists events in order. Everything they return is private local history: absolute paths, source metadata, snippets, " +
	"transcript text, recorded arguments and results of tools. The MCP host may log or forward it. This server itself sends nothing anywhere."

// Delivery is what usage accounting learns of one delivered call. It holds no content.
type Delivery struct {
	Tool     string
	Code     string // "" for a success
	Duration time.Duration
	Bytes    int  // of the line, its newline included
	Rows     *int // results, events or sources given out; nil where the tool has none, and for failures
	Snippets int  // bytes of the snippets of a search
}

// Server answers over one pair of streams. The functions are called for every tool call, so that edits of the settings take effect;
// an error of one of them is the answer of that call.
type Server struct {
	Version string
	Store   *core.Store
	// Status and Sources give the objects of ctx status and ctx sources --all.
	Status  func(context.Context) (any, error)
	Sources func(context.Context) (any, error)
	// Search gives the service for one search.
	Search func() *search.Service
	// Wake asks the background process to look for changes and tells whether it was reached; nil: there is none.
	Wake func(context.Context) bool
	// Redact gives what takes secrets out of the answer of one call; nil, or giving nil: nothing is taken out.
	Redact func() *redact.Redactor
	// Record is called after a call was delivered; nil: nobody counts.
	Record func(Delivery)
	// Log takes what went wrong inside; nil: nobody listens.
	Log func(format string, args ...any)

	archive archive
	grace   time.Duration // graceful, longer in tests
}

// Serve answers until the input ends, or ctx does. An error means that the streams failed.
func (s *Server) Serve(ctx context.Context, in io.Reader, out io.Writer) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	s.archive.store, s.archive.idle = s.Store, idleAfter
	defer s.archive.close()

	byName := map[string]*tool{}
	server := sdk.NewServer(&sdk.Implementation{Name: "ctx", Version: s.Version}, &sdk.ServerOptions{
		Instructions: instructions, SupportedProtocolVersions: versions,
		Capabilities: &sdk.ServerCapabilities{Tools: &sdk.ToolCapabilities{}},
		SetCacheable: func(_ context.Context, _ sdk.Request, c *sdk.Cacheable) { c.CacheScope = "private" },
	})
	w := newWire(ctx, in, out, byName)
	w.record, w.grace = s.Record, cmp.Or(s.grace, graceful)
	for i := range tools {
		t := &tools[i]
		byName[t.name] = t
		server.AddTool(t.announcement(), s.handler(w))
	}
	server.AddReceivingMiddleware(s.greet)
	// The wire keeps the gate of initialization, because the SDK takes only one initialize a session.
	session, err := server.Connect(ctx, w, &sdk.ServerSessionOptions{State: &sdk.ServerSessionState{InitializeParams: &sdk.InitializeParams{}}})
	if err != nil {
		return fault.Wrap(err, fault.Internal, "the server could not start")
	}
	ended := make(chan error, 1)
	go func() { ended <- session.Wait() }()
	select {
	case <-ended:
	case <-w.over:
		select { // cancelled calls end at once; one that does not is left behind
		case <-ended:
		case <-time.After(leaving):
		}
	case <-ctx.Done(): // asked to stop: nothing is half done
		return nil
	case err := <-w.failed:
		return err
	}
	select {
	case err := <-w.failed:
		return err
	default:
		return nil
	}
}

// greet answers initialize, as often as it is asked, and puts the tools in their public order.
func (s *Server) greet(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, req sdk.Request) (sdk.Result, error) {
		if params, ok := req.GetParams().(*sdk.InitializeParams); ok && method == "initialize" {
			version := params.ProtocolVersion
			if !slices.Contains(versions, version) {
				version = versions[0]
			}
			return &sdk.InitializeResult{
				ProtocolVersion: version, Instructions: instructions, ServerInfo: &sdk.Implementation{Name: "ctx", Version: s.Version},
				Capabilities: &sdk.ServerCapabilities{Tools: &sdk.ToolCapabilities{}},
			}, nil
		}
		result, err := next(ctx, method, req)
		if list, ok := result.(*sdk.ListToolsResult); ok {
			slices.SortFunc(list.Tools, func(a, b *sdk.Tool) int { return position(a.Name) - position(b.Name) })
		}
		return result, err
	}
}

func position(name string) int {
	return slices.IndexFunc(tools, func(t tool) bool { return t.name == name })
}

// handler runs the call behind a ticket. The line of its answer waits in the call for the wire; the SDK gets an empty result.
func (s *Server) handler(w *wire) sdk.ToolHandler {
	return func(_ context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		var about struct {
			Ticket int64 `json:"ticket"`
		}
		if err := json.Unmarshal(req.Params.Arguments, &about); err != nil {
			return nil, err
		}
		done := &sdk.CallToolResult{}
		c := w.ticket(about.Ticket)
		if c == nil {
			return done, nil // given up at the end of the input
		}
		select {
		case <-c.start:
		case <-c.ctx.Done():
			return done, nil
		}
		c.answer, c.line = s.call(c)
		return done, nil
	}
}

// call runs a tool and builds the line of its answer.
func (s *Server) call(c *call) (a *answer, line []byte) {
	f := frame{id: c.id, most: maxLine}
	a, err := s.run(c, &f)
	if err != nil {
		a = failure(err)
	}
	if a.code == "" && f.size(a) > f.most {
		a = tooLong()
	}
	if f.size(a) > maxLine { // not even the failure fits behind this id
		a = &answer{code: fault.OutputLimitExceeded}
		return a, overlong(c.id)
	}
	return a, f.line(a)
}

func overlong(id json.RawMessage) []byte {
	return refuse(-32603, id, "output_limit_exceeded").line()
}

func (s *Server) run(c *call, f *frame) (a *answer, err error) {
	defer func() {
		if p := recover(); p != nil {
			s.log("tool %s: %v\n%s", c.tool.name, p, debug.Stack())
			a, err = nil, fault.New(fault.Internal, "the tool failed")
		}
	}()
	args, err := c.tool.parse(c.args)
	if err != nil {
		return nil, err
	}
	bound := struct {
		Bytes int `json:"max_bytes"`
	}{f.most}
	if err := args.into(&bound); err != nil {
		return nil, err
	}
	f.most = bound.Bytes
	if !c.tool.recorded || s.Redact == nil {
		return c.tool.run(s, c.ctx, args, f)
	}
	if f.redact = s.Redact(); f.redact == nil {
		return c.tool.run(s, c.ctx, args, f)
	}
	room := len(redactedMember) + quotedLen(redactedLine) - 2
	f.most -= room
	a, err = c.tool.run(s, c.ctx, args, f)
	f.most += room
	if err == nil && a.code == "" {
		a.text += redactedLine
		a.structured = append([]byte("{"+redactedMember), a.structured[1:]...)
	}
	return a, err
}

// What an answer says when secrets are taken out.
const (
	redactedMember = `"redacted":true,`
	redactedLine   = "secrets are redacted: [redacted:<kind>] stands for one\n"
)

func (s *Server) log(format string, args ...any) {
	if s.Log != nil {
		s.Log(format, args...)
	}
}

// tooLong is the failure of an answer whose size has no single event to blame.
func tooLong() *answer {
	message := fmt.Sprintf("the response is over the limit of %d bytes; the command line has no such limit", maxLine)
	return failure(fault.New(fault.OutputLimitExceeded, "%s", message).WithRetry(false))
}
