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
			found, err := Recover(&doc, []byte(tt.in), known, func(offset int, record canonical.Value) error {
				got = append(got, fmt.Sprintf("%d:%s", offset, record.Get("n").Raw()))
				return nil
			})
			if err != nil || strings.Join(got, " ") != tt.want || found.Torn != tt.torn || found.Records != len(got) {
				t.Errorf("got %v, %+v, %v; want %s, torn %d", got, found, err, tt.want, tt.torn)
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
	none := func(int, canonical.Value) error { return nil }
	filler := `{"type":"other"} `
	line := `{"torn":` + strings.Repeat("("+filler, MaxStarts-1) + `{"type":"user"}`
	found, err := Recover(&doc, []byte(line), count, none)
	if err != nil || found.Records != 1 || tries != MaxStarts {
		t.Errorf("%d records after %d tries, want the last allowed try to find one", found.Records, tries)
	}
	tries = 0
	found, err = Recover(&doc, []byte("("+filler+line), count, none)
	if err != nil || found.Records != 0 || tries != MaxStarts-1 || found.Torn != 0 { // one try, {"torn", reads no object
		t.Errorf("%+v after %d objects, want nothing after %d", found, tries, MaxStarts-1)
	}
}

func TestRecoverStopsOnError(t *testing.T) {
	t.Parallel()
	var doc canonical.Doc
	stop := errors.New("stop")
	found, err := Recover(&doc, []byte(`{}{}{}`), known, func(offset int, _ canonical.Value) error {
		if offset == 2 {
			return stop
		}
		return nil
	})
	if !errors.Is(err, stop) || found.Records != 1 {
		t.Errorf("%+v, %v", found, err)
	}
}

func FuzzRecover(f *testing.F) {
	f.Add([]byte(`{"type":"us{"type":"user","n":1}{"a":2}x`))
	f.Fuzz(func(t *testing.T, line []byte) {
		var doc canonical.Doc
		end := 0
		found, err := Recover(&doc, line, known, func(offset int, record canonical.Value) error {
			if offset < end || !record.IsObject() {
				t.Fatalf("record at %d after %d", offset, end)
			}
			end = offset + len(record.Raw())
			return nil
		})
		if err != nil || found.Torn >= len(line) && len(line) > 0 {
			t.Fatal(found, err)
		}
	})
}
