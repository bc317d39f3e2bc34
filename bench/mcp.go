package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"
)

// mcpServer is one `ctx mcp serve` with a client that sends one request after the other.
type mcpServer struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
	id  int
}

func (b *bench) serve() (*mcpServer, error) {
	cmd := exec.Command(b.ctx, "mcp", "serve")
	cmd.Env, cmd.Stderr = b.environment(b.home, b.indexed), os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	s := &mcpServer{cmd: cmd, in: in, out: bufio.NewReaderSize(out, 1<<20)}
	_, _, err = s.send("initialize", map[string]any{"protocolVersion": "2025-11-25", "capabilities": map[string]any{}, "clientInfo": map[string]any{"name": "bench", "version": "1"}})
	return s, err
}

// send makes one request and returns the line of the answer and the time it took.
func (s *mcpServer) send(method string, params any) ([]byte, time.Duration, error) {
	s.id++
	line, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": s.id, "method": method, "params": params})
	if err != nil {
		return nil, 0, err
	}
	start := time.Now()
	if _, err := s.in.Write(append(line, '\n')); err != nil {
		return nil, 0, err
	}
	answer, err := s.out.ReadBytes('\n')
	took := time.Since(start)
	if err == nil && bytes.Contains(answer[:min(60, len(answer))], []byte(`"error":`)) {
		err = fmt.Errorf("%s: %s", method, answer)
	}
	return answer, took, err
}

func (s *mcpServer) close() error {
	s.in.Close()
	return s.cmd.Wait()
}

// toolCalls collects what calls of one kind took.
type toolCalls struct{ took, size []float64 }

func (s *mcpServer) call(to *toolCalls, tool string, arguments map[string]any) (json.RawMessage, error) {
	line, took, err := s.send("tools/call", map[string]any{"name": tool, "arguments": arguments})
	if err != nil {
		return nil, err
	}
	var answer struct {
		Result struct {
			Failed     bool            `json:"isError"`
			Structured json.RawMessage `json:"structuredContent"`
		} `json:"result"`
	}
	if err := json.Unmarshal(line, &answer); err != nil {
		return nil, err
	}
	if answer.Result.Failed {
		return nil, fmt.Errorf("%s %v: %s", tool, arguments, answer.Result.Structured)
	}
	to.took, to.size = append(to.took, ms(took)), append(to.size, float64(len(line))/1000)
	return answer.Result.Structured, nil
}

// searchArguments turns a command line of the search scenario into the arguments of the tool.
func searchArguments(args []string) map[string]any {
	a := map[string]any{"query": args[len(args)-1]}
	for i := 0; i+1 < len(args); i++ {
		name := strings.ReplaceAll(strings.TrimPrefix(args[i], "--"), "-", "_")
		if name == "events" || name == "primary_only" {
			a[name] = true
			continue
		}
		a[name] = args[i+1]
		i++
	}
	return a
}

// mcp measures a warm server: how long calls take, how large their answers are, and what memory it holds after many of them.
func (b *bench) mcp() error {
	s, err := b.serve()
	if err != nil {
		return err
	}
	var warm, search, compact, page, event, list, status, sources toolCalls
	var events, sessions []string
	for _, q := range queries {
		raw, err := s.call(&warm, "search", searchArguments(q))
		if err != nil {
			return err
		}
		var found struct {
			Results []struct {
				Event   string `json:"ctx_event_id"`
				Session string `json:"ctx_session_id"`
			}
		}
		if err := json.Unmarshal(raw, &found); err != nil {
			return err
		}
		for _, r := range found.Results {
			events, sessions = append(events, r.Event), append(sessions, r.Session)
		}
	}
	if len(events) == 0 {
		return errors.New("no query finds anything")
	}
	slices.Sort(sessions)
	sessions = slices.Compact(sessions)
	pid := s.cmd.Process.Pid
	for i := range b.calls {
		switch n := i / 5; i % 5 {
		case 0, 1:
			_, err = s.call(&search, "search", searchArguments(queries[i%len(queries)]))
		case 2:
			args := searchArguments(queries[n%len(queries)])
			args["compact"] = true
			_, err = s.call(&compact, "search", args)
		case 3:
			_, err = s.call(&page, "show_session", map[string]any{"ctx_session_id": sessions[n%len(sessions)]})
		case 4:
			_, err = s.call(&event, "show_event", map[string]any{"ctx_event_id": events[n%len(events)], "window": 2})
		}
		if err != nil && !strings.Contains(err.Error(), "output_limit_exceeded") {
			return err
		}
	}
	_, private := memory(pid)
	for range b.runs {
		cursor := any(nil)
		for range 10 {
			raw, err := s.call(&list, "query_events", map[string]any{"content": "text", "cursor": cursor})
			if err != nil && !strings.Contains(err.Error(), "output_limit_exceeded") {
				return err
			}
			var p struct {
				Next *string `json:"next_cursor"`
			}
			if json.Unmarshal(raw, &p) != nil || p.Next == nil {
				break
			}
			cursor = *p.Next
		}
		if _, err := s.call(&status, "status", map[string]any{}); err != nil {
			return err
		}
		if _, err := s.call(&sources, "sources", map[string]any{}); err != nil {
			return err
		}
	}
	for _, t := range []struct {
		name, bar, most string
		calls           *toolCalls
	}{
		{"search", "<= 15", "<= 40", &search}, {"search compact", "<= 15", "<= 12", &compact}, {"show_session page", "<= 5", "", &page},
		{"show_event window 2", "", "", &event}, {"query_events text", "", "", &list}, {"status", "", "", &status}, {"sources", "", "", &sources},
	} {
		if len(t.calls.took) == 0 {
			continue
		}
		b.addAt("mcp "+t.name+", warm, p50", "ms", t.bar, t.calls.took, 0.50)
		b.addAt("mcp "+t.name+", warm, p99", "ms", "", t.calls.took, 0.99)
		b.addAt("mcp "+t.name+", line, p50", "kB", t.most, t.calls.size, 0.50)
	}
	b.add(fmt.Sprintf("mcp private RSS after %d calls", b.calls), "MiB", "<= 80", []float64{mib(private)})
	start := time.Now()
	err = s.close()
	b.add("mcp exit after the end of input", "ms", "<= 1000", []float64{ms(time.Since(start))})
	return err
}
