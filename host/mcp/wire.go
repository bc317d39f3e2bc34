package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/agenthistory/ctx/host/internal/plain"
)

// wire is the connection between the SDK and the two streams.
type wire struct {
	ctx    context.Context // of all calls
	lines  *lineReader
	tools  map[string]*tool
	record func(Delivery) // nil: nobody counts
	grace  time.Duration  // how long calls may go on after the end of the input

	writing sync.Mutex // held for a whole line
	out     io.Writer

	mu      sync.Mutex
	changed sync.Cond // a call ended
	ready   bool      // initialized
	last    int64
	calls   map[int64]*call
	waiting []*call
	queued  int // bytes that waiting holds
	running int

	failed chan error    // the first failure of a stream
	over   chan struct{} // closed when nothing is waited for any more
}

func newWire(ctx context.Context, in io.Reader, out io.Writer, tools map[string]*tool) *wire {
	w := &wire{ctx: ctx, lines: newLineReader(in), out: out, tools: tools, calls: map[int64]*call{},
		failed: make(chan error, 1), over: make(chan struct{})}
	w.changed.L = &w.mu
	return w
}

// Connect implements the SDK's Transport.
func (w *wire) Connect(context.Context) (sdk.Connection, error) { return w, nil }

// SessionID implements the SDK's Connection.
func (w *wire) SessionID() string { return "" }

// Close implements the SDK's Connection. The streams belong to the process.
func (w *wire) Close() error { return nil }

// Read gives the SDK the next request. What can be answered without it is answered here: malformed messages, and what comes too early.
// At the end of the input the answers to what was read are waited for.
func (w *wire) Read(context.Context) (jsonrpc.Message, error) {
	for {
		line, err := w.lines.next()
		var refused *protocolError
		switch {
		case errors.Is(err, errLineTooLong):
			refused = refuse(jsonrpc.CodeParseError, nil, "a line has at most %d bytes, its newline included", maxLine)
		case err != nil:
			w.drain()
			if !errors.Is(err, io.EOF) {
				w.fail(err)
			}
			return nil, io.EOF
		default:
			var msg *jsonrpc.Request
			if msg, refused = w.accept(line); msg != nil {
				return msg, nil
			}
		}
		if refused != nil {
			line := refused.line()
			if err := w.send(line); err != nil {
				return nil, err
			}
			if refused.tool != "" {
				w.count(Delivery{Tool: refused.tool, Code: "invalid_params", Bytes: len(line)})
			}
		}
	}
}

// accept checks a message. It returns the request for the SDK, or the answer, or neither.
func (w *wire) accept(line []byte) (*jsonrpc.Request, *protocolError) {
	r, refused := parse(line)
	if refused != nil {
		return nil, refused
	}
	if r.id == nil {
		w.notice(r)
		return nil, nil
	}
	w.mu.Lock()
	if r.method == "initialize" {
		w.ready = true
	}
	ready := w.ready
	w.mu.Unlock()
	if !ready {
		return nil, refuse(codeNotInitialized, r.id, "send initialize first")
	}
	c := &call{id: r.id, key: idKey(r.id), began: time.Now()}
	params := json.RawMessage("{}")
	switch r.method {
	case "ping", "tools/list":
	case "initialize":
		var wanted map[string]any
		_ = json.Unmarshal(r.params, &wanted)                              // an object, as parse has seen
		version, _ := wanted["protocolVersion"].(string)                   // anything else is no version
		params, _ = plain.JSON(map[string]any{"protocolVersion": version}) // a string always marshals
	case "tools/call":
		if refused := w.callTool(c, r); refused != nil {
			return nil, refused
		}
	default:
		return nil, refuse(jsonrpc.CodeMethodNotFound, r.id, "")
	}
	return w.admit(c, r.method, params), nil
}

// notice acts on a notification. Only two of them mean anything.
func (w *wire) notice(r request) {
	switch r.method {
	case "notifications/initialized":
		w.mu.Lock()
		w.ready = true
		w.mu.Unlock()
	case "notifications/cancelled":
		var about struct {
			ID json.RawMessage `json:"requestId"`
		}
		if json.Unmarshal(r.params, &about) == nil && len(about.ID) > 0 && validID(about.ID) {
			w.cancelCall(idKey(about.ID))
		}
	}
}

// callTool finds the tool and the arguments of a call.
func (w *wire) callTool(c *call, r request) *protocolError {
	var params map[string]json.RawMessage
	var name string
	if json.Unmarshal(r.params, &params) != nil || !isString(params["name"]) || json.Unmarshal(params["name"], &name) != nil {
		return refuse(jsonrpc.CodeInvalidParams, r.id, "name is required")
	}
	if c.tool = w.tools[name]; c.tool == nil {
		return refuse(jsonrpc.CodeInvalidParams, r.id, "no such tool: %s", name)
	}
	args, given := params["arguments"]
	switch {
	case !given:
		c.args = json.RawMessage("{}")
	case args[0] != '{':
		refused := refuse(jsonrpc.CodeInvalidParams, r.id, "arguments must be an object")
		refused.tool = name
		return refused
	default:
		c.args = args
	}
	return nil
}

// Write implements the SDK's Connection: it gives out the answer of a call. A cancelled call gets none.
func (w *wire) Write(_ context.Context, msg jsonrpc.Message) error {
	r, ok := msg.(*jsonrpc.Response)
	if !ok {
		return nil // the server announces nothing on its own
	}
	n, _ := r.ID.Raw().(int64)
	w.mu.Lock()
	c := w.calls[n]
	delete(w.calls, n)
	w.mu.Unlock()
	if c == nil {
		return nil
	}
	defer w.end(c)
	if c.cancelled || c.ctx.Err() != nil {
		return nil
	}
	line := c.line
	if line == nil {
		line = envelope(c, r)
	}
	if len(line) > maxLine { // the id alone is too long for anything else
		line = refuse(jsonrpc.CodeInternalError, c.id, "").line()
	}
	if err := w.send(line); err != nil {
		return err
	}
	if c.tool != nil {
		d := Delivery{Tool: c.tool.name, Bytes: len(line), Duration: time.Since(c.began)}
		if a := c.answer; a != nil {
			d.Code, d.Rows, d.Snippets = a.code, a.rows, a.snippets
		} else {
			d.Code = "internal"
		}
		w.count(d)
	}
	return nil
}

// envelope is the line of an answer that the SDK made.
func envelope(c *call, r *jsonrpc.Response) []byte {
	if r.Error != nil {
		code := jsonrpc.CodeInternalError
		var wire *jsonrpc.Error
		if errors.As(r.Error, &wire) && messages[int(wire.Code)] != "" {
			code = int(wire.Code)
		}
		return refuse(code, c.id, "%v", r.Error).line()
	}
	dst := append(append([]byte(lineHead), c.id...), `,"result":`...)
	return append(append(dst, r.Result...), "}\n"...)
}

// send writes one whole line and flushes it.
func (w *wire) send(line []byte) error {
	w.writing.Lock()
	defer w.writing.Unlock()
	_, err := w.out.Write(line)
	if f, ok := w.out.(interface{ Flush() error }); ok && err == nil {
		err = f.Flush()
	}
	if err != nil {
		w.fail(err)
	}
	return err
}

func (w *wire) fail(err error) {
	select {
	case w.failed <- err:
	default:
	}
}

func (w *wire) count(d Delivery) {
	if w.record != nil {
		w.record(d)
	}
}
