package mcp

import (
	"context"
	"encoding/json"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/agenthistory/ctx/host/internal/plain"
)

const (
	// atOnce is how many tool calls run at the same time.
	atOnce = 8
	// graceful is how long calls may go on after the end of the input.
	graceful = 940 * time.Millisecond
	// leaving is how long the server waits for cancelled calls then. Both together and the end of the process make a second.
	leaving = 30 * time.Millisecond
	// maxQueued is the most bytes of calls that wait for a place. Behind them no further line is read.
	maxQueued = 16 << 20
	// callCost is what a waiting call holds besides its arguments, about: a goroutine and a few objects.
	callCost = 8 << 10
)

// call is one request in work.
type call struct {
	id    json.RawMessage
	key   string
	tool  *tool // nil: no tool call
	args  json.RawMessage
	began time.Time

	ctx       context.Context
	cancel    context.CancelFunc
	start     chan struct{} // closed when the call has a place
	placed    bool
	cancelled bool
	answer    *answer
	line      []byte // of a tool call that has ended
}

func (c *call) cost() int { return callCost + len(c.args) }

// admit registers a call and returns it in the form that the SDK dispatches: a ticket under a number of our own, so that ids of any
// form and size stay exactly as they came. Tool calls get their places in this order.
func (w *wire) admit(c *call, method string, params json.RawMessage) *jsonrpc.Request {
	c.ctx, c.cancel = context.WithCancel(w.ctx)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.last++
	id, err := jsonrpc.MakeID(float64(w.last))
	if err != nil {
		panic(err) // a number always makes an id
	}
	w.calls[w.last] = c
	if c.tool != nil {
		for w.queued > maxQueued {
			w.changed.Wait()
		}
		c.start = make(chan struct{})
		w.waiting = append(w.waiting, c)
		w.queued += c.cost()
		w.place()
		params, _ = plain.JSON(map[string]any{"name": c.tool.name, "arguments": map[string]int64{"ticket": w.last}})
	}
	return &jsonrpc.Request{ID: id, Method: method, Params: params}
}

// place lets waiting calls start. The caller holds mu.
func (w *wire) place() {
	for len(w.waiting) > 0 && w.running < atOnce {
		c := w.waiting[0]
		w.waiting = w.waiting[1:]
		w.queued -= c.cost()
		if c.cancelled {
			continue
		}
		w.running++
		c.placed = true
		close(c.start)
	}
}

// ticket returns the call behind a ticket, nil when there is none.
func (w *wire) ticket(n int64) *call {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.calls[n]
}

// cancelCall cancels the calls of an id. They get no answer.
func (w *wire) cancelCall(key string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, c := range w.calls {
		if c.key == key {
			c.cancelled = true
			c.cancel()
		}
	}
	w.place()
}

// end frees the place of a call.
func (w *wire) end(c *call) {
	c.cancel()
	w.mu.Lock()
	defer w.mu.Unlock()
	if c.placed {
		w.running--
	}
	w.place()
	w.changed.Broadcast()
}

// drain waits for the answers to what was read, for a bounded time; what still runs then is cancelled.
func (w *wire) drain() {
	late := time.AfterFunc(w.grace, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		for _, c := range w.calls {
			c.cancelled = true
			c.cancel()
		}
		close(w.over)
		w.changed.Broadcast()
	})
	defer late.Stop()
	w.mu.Lock()
	defer w.mu.Unlock()
	for len(w.calls) > 0 && !isClosed(w.over) {
		w.changed.Wait()
	}
}

func isClosed(c chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
