package mcp

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/agenthistory/ctx/host/core"
)

func nothing(t testing.TB) *core.Store { return core.Open(t.TempDir(), core.Options{}) }

// Every malformed message is answered, or passed over, and the server goes on.
func TestEnvelope(t *testing.T) {
	t.Parallel()
	const hello = `{"jsonrpc":"2.0","id":0,"method":"initialize"}`
	long := strings.Repeat("i", maxID-2)
	for _, tt := range []struct{ name, line, id, want string }{
		{"not UTF-8", "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff\"}", "null", "-32700"},
		{"not JSON", `{"jsonrpc":`, "null", "-32700"},
		{"two values", `{"jsonrpc":"2.0","id":1,"method":"ping"} {}`, "null", "-32700"},
		{"too long", `{"pad":"` + strings.Repeat("x", maxLine) + `"}`, "null", "-32700"},
		{"batch", `[{"jsonrpc":"2.0","id":1,"method":"ping"}]`, "null", "-32600"},
		{"text", `"ping"`, "null", "-32600"},
		{"null", `null`, "null", "-32600"},
		{"id null", `{"jsonrpc":"2.0","id":null,"method":"ping"}`, "null", "-32600"},
		{"id bool", `{"jsonrpc":"2.0","id":true,"method":"ping"}`, "null", "-32600"},
		{"id object", `{"jsonrpc":"2.0","id":{},"method":"ping"}`, "null", "-32600"},
		{"longest id", `{"jsonrpc":"2.0","id":"` + long + `","method":"ping"}`, `"` + long + `"`, "{}"},
		{"id too long", `{"jsonrpc":"2.0","id":"` + long + `i","method":"ping"}`, "null", "-32600"},
		{"id too long by an escape", `{"jsonrpc":"2.0","id":"` + long[1:] + `\u0001","method":"ping"}`, "null", "-32600"},
		{"no version", `{"id":1,"method":"ping"}`, "1", "-32600"},
		{"version 1.0", `{"jsonrpc":"1.0","id":1,"method":"ping"}`, "1", "-32600"},
		{"version without id", `{"jsonrpc":"1.0","method":"ping"}`, "null", "-32600"},
		{"no method", `{"jsonrpc":"2.0","id":1}`, "1", "-32600"},
		{"method null", `{"jsonrpc":"2.0","id":1,"method":null}`, "1", "-32600"},
		{"a response", `{"jsonrpc":"2.0","id":1,"result":{}}`, "1", "-32600"},
		{"params null", `{"jsonrpc":"2.0","id":1,"method":"ping","params":null}`, "1", "-32602"},
		{"params array", `{"jsonrpc":"2.0","id":1,"method":"nothing","params":[]}`, "1", "-32602"},
		{"unknown method", `{"jsonrpc":"2.0","id":1,"method":"resources/list"}`, "1", "-32601"},
		{"no name", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{}}`, "1", "-32602"},
		{"name of a number", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":7}}`, "1", "-32602"},
		{"unknown tool", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"blame"}}`, "1", "no such tool: blame"},
		{"arguments null", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"status","arguments":null}}`, "1", "-32602"},
		{"arguments array", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"status","arguments":[]}}`, "1", "-32602"},
		{"arguments left out", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"status"}}`, "1", `"initialized":true`},
		{"largest id", `{"jsonrpc":"2.0","id":18446744073709551615,"method":"ping"}`, "18446744073709551615", "{}"},
		{"fraction", `{"jsonrpc":"2.0","id":1.50e1,"method":"ping"}`, "1.50e1", "{}"},
		{"id as it came", `{"jsonrpc":"2.0","id":"\u0041\/","method":"ping"}`, `"\u0041\/"`, "{}"},
		{"last member wins", `{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}`, "2", "{}"},
		{"CR LF and spaces", "\t {\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"} \r", "1", "{}"},
		{"notification", `{"jsonrpc":"2.0","method":"tools/call","params":{"name":"status"}}`, "", ""},
		{"notification with odd params", `{"jsonrpc":"2.0","method":"x","params":3}`, "", ""},
		{"blank", " \t ", "", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := dial(t, server(nothing(t)))
			c.write(tt.line)
			if tt.want != "" {
				line := string(c.next())
				if !strings.Contains(line, `"id":`+tt.id+",") || !strings.Contains(line, tt.want) || !json.Valid([]byte(line)) {
					t.Errorf("%.300s, want id %.60s and %s", line, tt.id, tt.want)
				}
			}
			c.write(hello)
			if line := string(c.next()); !strings.HasPrefix(line, `{"jsonrpc":"2.0","id":0,"result":`) {
				t.Errorf("afterwards %s", line)
			}
		})
	}
}

// A refusal that repeats something long gives that up and keeps the id, so that its line stays within the limit.
func TestRefusalsFit(t *testing.T) {
	t.Parallel()
	c := dial(t, server(nothing(t)))
	id := `"` + strings.Repeat("i", maxID-2) + `"`
	long := strings.Repeat("n", maxLine-len(id)-100)
	for _, params := range []string{`{"name":"` + long + `"}`, `{"name":"status","arguments":{"` + long + `":1}}`} {
		line := `{"jsonrpc":"2.0","id":` + id + `,"method":"tools/call","params":` + params + `}`
		if len(line) >= maxLine {
			t.Fatal("the request is too long itself")
		}
		c.write(line)
		got := c.next()
		if len(got) > maxLine || !json.Valid(got) || !strings.Contains(string(got), `"id":`+id) {
			t.Errorf("%d bytes: %.60s", len(got), got)
		}
	}
}

func TestInitialize(t *testing.T) {
	t.Parallel()
	c := start(t, server(nothing(t)))
	for _, early := range []string{"ping", "tools/list", "tools/call", "no/such"} {
		c.write(`{"jsonrpc":"2.0","id":1,"method":"` + early + `"}`)
		if line := string(c.next()); !strings.Contains(line, "-32002") {
			t.Errorf("%s before initialize: %s", early, line)
		}
	}
	for _, tt := range []struct{ wanted, got string }{
		{`"2025-06-18"`, "2025-06-18"}, {`"2025-11-25"`, "2025-11-25"}, {`"2024-11-05"`, versions[0]}, {`"1999-01-01"`, versions[0]},
		{`"2099-01-01"`, versions[0]}, {`7`, versions[0]}, {`null`, versions[0]},
	} {
		c.write(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":` + tt.wanted + `}}`)
		if line := string(c.next()); !strings.Contains(line, `"protocolVersion":"`+tt.got+`"`) || !strings.Contains(line, "private local history") {
			t.Errorf("version %s: %s", tt.wanted, line)
		}
	}
}

// A notification initializes too.
func TestInitializedNotification(t *testing.T) {
	t.Parallel()
	c := start(t, server(nothing(t)))
	c.write(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	c.write(`{"jsonrpc":"2.0","id":1,"method":"ping"}`)
	if line := string(c.next()); line != `{"jsonrpc":"2.0","id":1,"result":{}}`+"\n" {
		t.Error(line)
	}
}

// The order of the tools is public, and their schemas are closed.
func TestToolList(t *testing.T) {
	t.Parallel()
	c := dial(t, server(nothing(t)))
	c.write(`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"cursor":"x"}}`)
	var m struct {
		Result struct {
			Tools []struct {
				Name, Title, Description string
				InputSchema              struct {
					Type       string
					Properties map[string]struct{ Type, Description string }
					Required   *[]string
					Closed     *bool `json:"additionalProperties"`
				}
			}
		}
	}
	if err := json.Unmarshal(c.next(), &m); err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, tool := range m.Result.Tools {
		names = append(names, tool.Name)
		s := tool.InputSchema
		if s.Type != "object" || s.Required == nil || s.Closed == nil || *s.Closed || !strings.Contains(tool.Description, "private local history") {
			t.Errorf("%s: %+v", tool.Name, s)
		}
		for name, p := range s.Properties {
			if p.Type == "" || p.Description == "" {
				t.Errorf("%s.%s is not described", tool.Name, name)
			}
		}
	}
	if got := strings.Join(names, " "); got != "status sources search show_session show_event query_events" {
		t.Error(got)
	}
}

func TestArguments(t *testing.T) {
	t.Parallel()
	c := dial(t, server(nothing(t)))
	id := "0f666666-2222-4333-8444-5555555555a1"
	for _, tt := range []struct{ tool, args, says string }{
		{"status", `{"zeta":1,"alpha":2}`, "alpha"},
		{"search", `{"query":5}`, "query must be a string"},
		{"search", `{"query":"x","limit":1.0}`, "non-negative integer"},
		{"search", `{"query":"x","limit":-1}`, "non-negative integer"},
		{"search", `{"query":"x","limit":18446744073709551616}`, "non-negative integer"},
		{"search", `{"query":"x","limit":201}`, "1 to 200"},
		{"search", `{"query":"x","events":"yes"}`, "events must be a boolean"},
		{"search", `{"query":"x","semantic_weight":"1"}`, "must be a number"},
		{"search", `{"query":"x","semantic_weight":1.01}`, "0 to 1"},
		{"search", `{"query":"x","source_roots":"a"}`, "array of strings"},
		{"search", `{"query":"x","source_roots":["a",null]}`, "array of strings"},
		{"search", `{"query":"x","content_scope":"ALL"}`, "all, transcript, calls, outputs"},
		{"search", `{"query":7,"content_scope":"ALL","event_type":1,"odd":1}`, "exclude each other"},
		{"search", `{"query":"x","session":"1234567"}`, "at least its first 8 hex digits"},
		{"search", `{"query":"x","workspace":" "}`, "workspace is empty"},
		{"search", `{"query":"x","provider":""}`, "provider is empty"},
		{"search", `{}`, "needed"},
		{"show_session", `{}`, "ctx_session_id is required"},
		{"show_session", `{"ctx_session_id":null}`, "ctx_session_id is required"},
		{"show_session", `{"ctx_session_id":"xyz"}`, "session id"},
		{"show_session", `{"ctx_session_id":"` + id + `","cursor":""}`, "ASCII"},
		{"show_session", `{"ctx_session_id":"` + id + `","cursor":"é"}`, "ASCII"},
		{"show_session", `{"ctx_session_id":"` + id + `","cursor":"` + strings.Repeat("A", 4097) + `"}`, "4096"},
		{"show_session", `{"ctx_session_id":"` + id + `","max_bytes":4095}`, "4096 to 1048576"},
		{"show_session", `{"ctx_session_id":"` + id + `","limit":4097}`, "1 to 4096"},
		{"show_event", `{"ctx_event_id":"short"}`, "event id"},
		{"show_event", `{"ctx_event_id":"` + id + `","window":51}`, "0 to 50"},
		{"query_events", `{"session":"0f666666"}`, "full UUID"},
		{"query_events", `{"max_items":5}`, "max_items"},
		{"query_events", `{"max_bytes":1048577}`, "4096 to 1048576"},
	} {
		c.write(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"` + tt.tool + `","arguments":` + tt.args + `}}`)
		got := readResult(t, c.next())
		message, _ := got.members(t)["error"].(string)
		if got.code(t) != "invalid_request" || !strings.Contains(message, tt.says) {
			t.Errorf("%s %.80s: %.200s, want %q", tt.tool, tt.args, got.Structured, tt.says)
		}
	}
	// What is wrong with names of roots is told without repeating them.
	for _, args := range []string{`{"query":"x","source_roots":["private name"]}`, `{"query":"x","source_groups":["private/name"]}`} {
		c.write(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"search","arguments":` + args + `}}`)
		if got := readResult(t, c.next()); got.code(t) != "invalid_request" || strings.Contains(string(got.Structured)+got.Text, "private") {
			t.Errorf("%s: %s %s", args, got.Structured, got.Text)
		}
	}
	if got := c.call("search", map[string]any{"query": "x"}); got.code(t) != "source_unavailable" || got.members(t)["error"] != "source_unavailable" {
		t.Errorf("without an index: %s", got.Structured)
	}
	if got := c.call("query_events", map[string]any{"since": "yesterday", "until": "today"}); got.code(t) != "invalid_range" || got.members(t)["error"] != nil {
		t.Errorf("range: %s", got.Structured)
	}
}

// At the end of the input everything read is answered, a last line without a newline too.
func TestEndOfInput(t *testing.T) {
	t.Parallel()
	s := server(small(t).Store)
	s.grace = patience
	c := dial(t, s)
	for i := range 20 {
		c.write(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"search","arguments":{"query":"falcon"}}}`, i))
	}
	if _, err := io.WriteString(c.in, `{"jsonrpc":"2.0","id":"last","method":"ping"}`); err != nil {
		t.Fatal(err)
	}
	rest, err := c.finish()
	if err != nil || len(rest) != 21 {
		t.Fatalf("%d answers, %v", len(rest), err)
	}
	for _, line := range rest {
		if !json.Valid(line) || line[len(line)-1] != '\n' {
			t.Errorf("%s", line)
		}
	}
	if c := start(t, server(nothing(t))); c != nil {
		if rest, err := c.finish(); err != nil || len(rest) != 0 {
			t.Error("an unused server:", rest, err)
		}
	}
}

// A client that stops reading is a failure, not a clean end.
func TestBrokenOutput(t *testing.T) {
	t.Parallel()
	in, input := io.Pipe()
	output, out := io.Pipe()
	output.Close()
	defer input.Close()
	go io.WriteString(input, `{"jsonrpc":"2.0","id":1,"method":"ping"}`+"\n")
	if err := server(nothing(t)).Serve(t.Context(), in, out); err == nil {
		t.Error("no error")
	}
}

// FuzzLines: whatever comes in, every line that goes out is one JSON-RPC answer, and the server ends with its input.
func FuzzLines(f *testing.F) {
	for _, seed := range []string{
		"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\"}\n{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/list\"}\n",
		"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n{\"jsonrpc\":\"2.0\",\"id\":\"a\",\"method\":\"tools/call\",\"params\":{\"name\":\"search\",\"arguments\":{\"query\":\"x\",\"limit\":3}}}",
		"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"status\"}}\n{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":1}}\n",
		"[]\n\r\n{}\n\xff\n\"\n{\"id\":-}\n{\"jsonrpc\":\"2.0\",\"id\":1e99,\"method\":\"\"}\nnull",
		"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"query_events\",\"arguments\":{\"cursor\":\"AA\",\"providers\":[\"\\u0000\"]}}}",
	} {
		f.Add([]byte(seed))
	}
	store := core.Open(f.TempDir(), core.Options{})
	f.Fuzz(func(t *testing.T, input []byte) {
		var out strings.Builder
		if err := server(store).Serve(t.Context(), strings.NewReader(string(input)), &out); err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(out.String()) {
			var m struct {
				Version string           `json:"jsonrpc"`
				ID      json.RawMessage  `json:"id"`
				Result  *json.RawMessage `json:"result"`
				Error   *json.RawMessage `json:"error"`
			}
			if err := json.Unmarshal([]byte(line), &m); err != nil || m.Version != "2.0" || m.ID == nil || (m.Result == nil) == (m.Error == nil) {
				t.Fatalf("%q: %v", line, err)
			}
		}
		if n, most := strings.Count(out.String(), "\n"), strings.Count(string(input), "\n")+1; n > most {
			t.Fatalf("%d answers to at most %d lines", n, most)
		}
	})
}
