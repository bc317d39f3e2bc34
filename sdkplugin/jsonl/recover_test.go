package jsonl

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/agenthistory/ctx/sdkplugin/canonical"
)

func known(v canonical.Value) bool {
	return v.Get("type").StrEquals("user") || v.Get("type").StrEquals("mode")
}

// offsetOf is where a record stands in its line: its bytes reach to the end of the line's memory.
func offsetOf(line []byte, doc *canonical.Doc) int {
	start, _ := doc.Root().Span()
	return cap(line) - cap(doc.Source()) + start
}

func TestRecover(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, in, want string
		torn           int
	}{
		{"two records", `{"type":"user","n":1}{"type":"user","n":2}`, "0:1 21:2", -1},
		{"two with space, unknown type from the start", `{"type":"future","n":1} {"n":2} `, "0:1 24:2", -1},
		{"stub and record", `{"type":"user","message":{"role":"us{"type":"user","n":2}`, "36:2", 0},
		{"record, stub, record", `{"n":1}{"type":"us{"type":"mode","n":2}`, "0:1 18:2", 7},
		{"after a resumed record any object counts", `{"x":{"type":"user","n":1}{"n":2}`, "5:1 26:2", 0},
		{"unknown object behind a stub is not taken", `{"x":[{"n":1},{"type":"other","n":2}`, "", 0},
		{"not an object", `[{"type":"user","n":1}]`, "", 0},
		{"values between", `{"n":1} 12 "s" {"n":2}`, "0:1 15:2", 8},
		{"comma between", `{"n":1},{"type":"user","n":2}`, "0:1 8:2", 7},
		{"padding between", "{\"n\":1}\x00\x00{\"type\":\"user\",\"n\":2}", "0:1 9:2", 7},
		{"torn end", `{"n":1}{"type":"user","n":`, "0:1", 7},
		{"invalid UTF-8 in the stub only", "{\"a\":\"\xff{\"type\":\"user\",\"n\":2}", "7:2", 0},
		{"nothing at all", `torn`, "", 0},
		{"space", "  ", "", -1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var doc canonical.Doc
			var got []string
			line := []byte(tt.in)
			torn, err := Recover(&doc, line, known, func(record canonical.Value) error {
				got = append(got, fmt.Sprintf("%d:%s", offsetOf(line, &doc), record.Get("n").Raw()))
				return nil
			})
			if err != nil || strings.Join(got, " ") != tt.want || torn != tt.torn {
				t.Errorf("got %v, torn %d, %v; want %s, torn %d", got, torn, err, tt.want, tt.torn)
			}
		})
	}
}

func TestRecoverTriesAreBounded(t *testing.T) {
	t.Parallel()
	var doc canonical.Doc
	tries := 0
	count := func(v canonical.Value) bool {
		tries++
		return known(v)
	}
	records := 0
	each := func(canonical.Value) error { records++; return nil }
	filler := `{"type":"other"} `
	line := `{"torn":` + strings.Repeat("("+filler, MaxStarts-1) + `{"type":"user"}`
	_, err := Recover(&doc, []byte(line), count, each)
	if err != nil || records != 1 || tries != MaxStarts {
		t.Errorf("%d records after %d tries, want the last allowed try to find one", records, tries)
	}
	tries, records = 0, 0
	torn, err := Recover(&doc, []byte("("+filler+line), count, each)
	if err != nil || records != 0 || tries != MaxStarts-1 || torn != 0 { // one try, {"torn", reads no object
		t.Errorf("%d records, torn at %d after %d objects, want nothing after %d", records, torn, tries, MaxStarts-1)
	}
}

func TestRecoverStopsOnError(t *testing.T) {
	t.Parallel()
	var doc canonical.Doc
	stop := errors.New("stop")
	records := 0
	_, err := Recover(&doc, []byte(`{}{}{}`), known, func(canonical.Value) error {
		if records++; records == 2 {
			return stop
		}
		return nil
	})
	if !errors.Is(err, stop) || records != 2 {
		t.Errorf("%d records, %v", records, err)
	}
}

func FuzzRecover(f *testing.F) {
	f.Add([]byte(`{"type":"us{"type":"user","n":1}{"a":2}x`))
	f.Fuzz(func(t *testing.T, line []byte) {
		var doc canonical.Doc
		end := 0
		torn, err := Recover(&doc, line, known, func(record canonical.Value) error {
			offset := offsetOf(line, &doc)
			if offset < end || !record.IsObject() {
				t.Fatalf("record at %d after %d", offset, end)
			}
			end = offset + len(record.Raw())
			return nil
		})
		if err != nil || torn >= len(line) && len(line) > 0 {
			t.Fatal(torn, err)
		}
	})
}
