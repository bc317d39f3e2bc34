package mcp

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"sync"
	"testing"
	"time"

	"github.com/agenthistory/ctx/host/core"
	"github.com/agenthistory/ctx/host/internal/fixture"
	"github.com/agenthistory/ctx/host/refresh"
	"github.com/agenthistory/ctx/host/search"
)

// patience is how long a test waits for what must happen; no test waits for what must not.
const patience = 30 * time.Second

// client talks to a server in this process.
type client struct {
	t     testing.TB
	in    *io.PipeWriter
	lines chan []byte
	ended chan error
	id    int

	mu         sync.Mutex
	deliveries []Delivery
}

func server(store *core.Store) *Server {
	return &Server{
		Version: "test", Store: store,
		Status: func(context.Context) (any, error) {
			return map[string]any{"schema_version": 3, "initialized": true}, nil
		},
		Sources: func(context.Context) (any, error) {
			return map[string]any{"schema_version": 1, "sources": []any{}}, nil
		},
		Search: func() *search.Service {
			return &search.Service{Store: store, Receipt: func() (*refresh.Receipt, error) { return nil, nil }}
		},
	}
}

// dial starts a server and initializes it.
func dial(t testing.TB, s *Server) *client {
	t.Helper()
	c := start(t, s)
	c.write(`{"jsonrpc":"2.0","id":"hello","method":"initialize","params":{"protocolVersion":"2025-11-25"}}`)
	c.next()
	return c
}

func start(t testing.TB, s *Server) *client {
	t.Helper()
	in, input := io.Pipe()
	output, out := io.Pipe()
	c := &client{t: t, in: input, lines: make(chan []byte, 1000), ended: make(chan error, 1)}
	s.Record = func(d Delivery) {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.deliveries = append(c.deliveries, d)
	}
	go func() {
		err := s.Serve(t.Context(), in, out)
		out.Close()
		c.ended <- err
	}()
	go func() {
		defer close(c.lines)
		for r := bufio.NewReaderSize(output, 1<<16); ; {
			line, err := r.ReadBytes('\n')
			if err != nil {
				return
			}
			c.lines <- line
		}
	}()
	t.Cleanup(func() { input.Close() })
	return c
}

func (c *client) write(line string) {
	c.t.Helper()
	if _, err := io.WriteString(c.in, line+"\n"); err != nil {
		c.t.Fatal(err)
	}
}

// next is the next line of the output, nil at its end.
func (c *client) next() []byte {
	c.t.Helper()
	select {
	case line := <-c.lines:
		return line
	case <-time.After(patience):
		c.t.Fatal("no answer")
		return nil
	}
}

// result is a tool result.
type result struct {
	Text       string
	Structured json.RawMessage
	Failed     bool
	Size       int // of the line
}

// call calls a tool and waits for its answer, which must be the next line.
func (c *client) call(name string, arguments any) result {
	c.t.Helper()
	raw, err := json.Marshal(arguments)
	if err != nil {
		c.t.Fatal(err)
	}
	c.id++
	c.write(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,"arguments":%s}}`, c.id, name, raw))
	return readResult(c.t, c.next())
}

func readResult(t testing.TB, line []byte) result {
	t.Helper()
	var m struct {
		Result *struct {
			Content    []struct{ Text string }
			Structured json.RawMessage `json:"structuredContent"`
			Failed     bool            `json:"isError"`
		}
	}
	if err := json.Unmarshal(line, &m); err != nil || m.Result == nil || len(m.Result.Content) != 1 {
		t.Fatalf("no tool result: %s %v", line, err)
	}
	return result{m.Result.Content[0].Text, m.Result.Structured, m.Result.Failed, len(line)}
}

// members decodes the structured content.
func (r result) members(t testing.TB) map[string]any {
	t.Helper()
	var m map[string]any
	dec := json.NewDecoder(bytes.NewReader(r.Structured))
	dec.UseNumber()
	if err := dec.Decode(&m); err != nil {
		t.Fatalf("%s: %v", r.Structured, err)
	}
	return m
}

func (r result) code(t testing.TB) string {
	t.Helper()
	if !r.Failed {
		t.Fatalf("a success: %.200s", r.Structured)
	}
	code, _ := r.members(t)["error_code"].(string)
	return code
}

// finish closes the input and returns what Serve returned and the lines that were left.
func (c *client) finish() (rest [][]byte, err error) {
	c.t.Helper()
	c.in.Close()
	for line := range c.lines {
		rest = append(rest, line)
	}
	select {
	case err := <-c.ended:
		return rest, err
	case <-time.After(patience):
		c.t.Fatal("the server goes on after the end of its input")
		return nil, nil
	}
}

// small is an archive with one session of six events.
func small(t testing.TB) *fixture.Archive {
	t.Helper()
	events := []fixture.Event{}
	for i := range 6 {
		role := "user"
		if i%2 == 1 {
			role = "assistant"
		}
		events = append(events, fixture.Event{Key: fmt.Sprintf("e%d", i), Role: role, Text: fmt.Sprintf("falcon number %d", i)})
	}
	return fixture.Build(t, fixture.Session{Name: "s", Events: events})
}
