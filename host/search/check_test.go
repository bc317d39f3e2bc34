package search

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/agenthistory/ctx/host/fault"
	"github.com/agenthistory/ctx/host/internal/fixture"
)

func ptr[T any](v T) *T { return &v }

func repeat(text string, n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = text
	}
	return out
}

func words(n int) string {
	out := make([]string, n)
	for i := range out {
		out[i] = fmt.Sprintf("word%dx", i)
	}
	return strings.Join(out, " ")
}

func TestCheck(t *testing.T) {
	t.Parallel()
	s := &Service{Provider: func(name string) (string, error) {
		if name == "claude-code" {
			return "claude", nil
		}
		if name == "nobody" || name == "custom" { // no plugin gives it any more
			return "", fault.New(fault.InvalidRequest, "unknown provider")
		}
		return name, nil
	}}
	long := strings.Repeat("x", 65537)
	const bad = fault.InvalidRequest
	for name, tt := range map[string]struct {
		req  Request
		code string
	}{
		"query":                      {Request{Query: "x"}, ""},
		"term":                       {Request{Terms: []string{"x"}}, ""},
		"file":                       {Request{File: "x"}, ""},
		"nothing":                    {Request{}, bad},
		"blank":                      {Request{Query: "  ", Terms: []string{"\n"}}, bad},
		"custom":                     {Request{Query: "x", Provider: "custom", HistorySource: "acme/one"}, ""},
		"only a filter":              {Request{Provider: "claude"}, bad},
		"no token":                   {Request{Query: "?!"}, ""},
		"32 alternatives":            {Request{Query: "x", Terms: repeat("x", 31)}, ""},
		"33 alternatives":            {Request{Query: "x", Terms: repeat("x", 32)}, bad},
		"blank ones count":           {Request{Query: "x", Terms: repeat(" ", 32)}, bad},
		"32 tokens":                  {Request{Query: words(32)}, ""},
		"33 tokens":                  {Request{Query: words(33)}, bad},
		"33 tokens over terms":       {Request{Query: words(20), Terms: []string{words(33)}}, bad},
		"64 KiB":                     {Request{Query: long[:65536]}, ""}, // all chunks of the run are one token
		"more bytes":                 {Request{Query: strings.Repeat(" ", 65536) + "x"}, bad},
		"bytes of spaces":            {Request{Query: strings.Repeat(" ", 65535) + "x"}, ""},
		"scope and type":             {Request{Query: "x", ContentScope: "all", EventType: "message"}, bad},
		"scope":                      {Request{Query: "x", ContentScope: "outputs"}, ""},
		"unknown scope":              {Request{Query: "x", ContentScope: "Outputs"}, bad},
		"type":                       {Request{Query: "x", EventType: "notice"}, ""},
		"type that is not offered":   {Request{Query: "x", EventType: "file_touched"}, bad},
		"limit 200":                  {Request{Query: "x", Limit: 200}, ""},
		"limit 201":                  {Request{Query: "x", Limit: 201}, bad},
		"negative limit":             {Request{Query: "x", Limit: -1}, bad},
		"weight 1":                   {Request{Query: "x", Weight: ptr(1.0)}, ""},
		"weight above":               {Request{Query: "x", Weight: ptr(1.01)}, bad},
		"weight is no number":        {Request{Query: "x", Weight: ptr(nan())}, bad},
		"backend":                    {Request{Query: "x", Backend: "vector"}, bad},
		"64 roots":                   {Request{Query: "x", SourceRoots: repeat("a", 64)}, ""},
		"65 roots":                   {Request{Query: "x", SourceRoots: repeat("a", 65)}, bad},
		"65 groups":                  {Request{Query: "x", SourceGroups: repeat("a", 65)}, bad},
		"root grammar":               {Request{Query: "x", SourceRoots: []string{"a b"}}, bad},
		"root of 65":                 {Request{Query: "x", SourceRoots: []string{long[:65]}}, bad},
		"empty group":                {Request{Query: "x", SourceGroups: []string{""}}, bad},
		"history source":             {Request{Query: "x", HistorySource: "a/b"}, ""},
		"history source no slash":    {Request{Query: "x", HistorySource: "ab"}, bad},
		"identity control character": {Request{Query: "x", ProviderKey: "a\tb"}, bad},
		"blank identity":             {Request{Query: "x", SourceFormat: "  "}, bad},
		"identity and provider":      {Request{Query: "x", ProviderKey: "k", Provider: "codex"}, bad},
		"identity and custom":        {Request{Query: "x", ProviderKey: "k", Provider: "custom"}, ""},
		"format and provider":        {Request{Query: "x", SourceFormat: "k", Provider: "codex"}, ""},
		"unknown provider":           {Request{Query: "x", Provider: "nobody"}, bad},
		"blank provider":             {Request{Query: "x", Provider: " "}, bad},
		"blank workspace":            {Request{Query: "x", Workspace: " "}, bad},
		"long workspace":             {Request{Query: "x", Workspace: long}, bad},
		"blank file":                 {Request{Query: "x", File: " "}, bad},
		"long file":                  {Request{Query: "x", File: long}, bad},
		"since":                      {Request{Query: "x", Since: "2026-01-01T00:00:00Z"}, ""},
		"since days":                 {Request{Query: "x", Since: "14d"}, ""},
		"since word":                 {Request{Query: "x", Since: "yesterday"}, bad},
		"since date":                 {Request{Query: "x", Since: "2026-01-01"}, bad},
		"since sign":                 {Request{Query: "x", Since: "-3d"}, bad},
		"session and exclusion":      {Request{Query: "x", Session: "12345678", Exclude: []string{"12345678"}}, bad},
		"file and lexical":           {Request{File: "x", Backend: Lexical}, ""},
		"file and semantic":          {Request{File: "x", Backend: Semantic}, bad},
		"file and hybrid":            {Request{File: "x", Backend: Hybrid}, bad},
		"semantic":                   {Request{Query: "x", Backend: Semantic}, semanticDisabled},
		"semantic scope":             {Request{Query: "x", Backend: Semantic, ContentScope: "calls"}, semanticScope},
		"semantic type":              {Request{Query: "x", Backend: Semantic, EventType: "notice"}, semanticEventType},
		"scope before availability":  {Request{Query: "x", Backend: Semantic, ContentScope: "outputs"}, semanticScope},
		"meaning before retrieval":   {Request{Query: "x", Backend: Semantic, Since: "soon"}, bad},
		"hybrid scope":               {Request{Query: "x", Backend: Hybrid, ContentScope: "calls"}, ""},
	} {
		err := s.Check(tt.req)
		if fault.Code(err) != tt.code {
			t.Errorf("%s: %v, want code %q", name, err, tt.code)
		}
	}
	_, err := s.check(Request{Query: "x", SourceRoots: []string{"secret name"}})
	if strings.Contains(err.Error(), "secret") {
		t.Errorf("the rejected name is repeated: %v", err)
	}
}

func nan() float64 { zero := 0.0; return zero / zero }

func TestRetrievalChoice(t *testing.T) {
	t.Parallel()
	off, on := &Service{}, &Service{SemanticEnabled: true}
	for name, tt := range map[string]struct {
		service *Service
		req     Request
		want    string // requested effective weight status code
	}{
		"default off":        {off, Request{Query: "x"}, "lexical lexical 0 skipped "},
		"default on":         {on, Request{Query: "x"}, "hybrid lexical 0.35 unavailable semantic_unsupported"},
		"file only":          {on, Request{File: "x"}, "lexical lexical 0 skipped "},
		"hybrid":             {off, Request{Query: "x", Backend: Hybrid}, "hybrid lexical 0.35 disabled semantic_disabled"},
		"hybrid weight":      {off, Request{Query: "x", Backend: Hybrid, Weight: ptr(0.5)}, "hybrid lexical 0.5 disabled semantic_disabled"},
		"weight 0":           {off, Request{Query: "x", Backend: Hybrid, Weight: ptr(0.0)}, "hybrid lexical 0 skipped "},
		"weight 0 and scope": {off, Request{Query: "x", Backend: Hybrid, Weight: ptr(0.0), ContentScope: "calls"}, "hybrid lexical 0 skipped "},
		"scope":              {on, Request{Query: "x", Backend: Hybrid, ContentScope: "outputs"}, "hybrid lexical 0 unsupported semantic_content_scope_unsupported"},
		"type":               {on, Request{Query: "x", Backend: Hybrid, EventType: "tool_call"}, "hybrid lexical 0 unsupported semantic_event_type_unsupported"},
		"messages":           {on, Request{Query: "x", Backend: Hybrid, EventType: "message"}, "hybrid lexical 0.35 unavailable semantic_unsupported"},
		"lexical":            {on, Request{Query: "x", Backend: Lexical}, "lexical lexical 0 skipped "},
	} {
		q, err := tt.service.check(tt.req)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		r := q.retrieval
		if got := fmt.Sprint(r.RequestedMode, " ", r.EffectiveMode, " ", float64(r.SemanticWeight), " ", r.SemanticStatus, " ", r.FallbackCode); got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
		if (r.FallbackCode != "") != (r.Fallback != "") {
			t.Errorf("%s: code %q without detail %q", name, r.FallbackCode, r.Fallback)
		}
	}
	err := on.Check(Request{Query: "x", Backend: Semantic})
	f := fault.From(err)
	if f.Code != semanticUnsupported || f.Retryable == nil || *f.Retryable || f.Fields["detail"] == nil || !strings.Contains(f.Message, f.Code) {
		t.Errorf("fault %+v", f)
	}
}

func TestNumbers(t *testing.T) {
	t.Parallel()
	for want, v := range map[string]any{
		"0.0": Decimal(0), "1.0": Decimal(1), "0.35": Decimal(0.35), "0.1": Decimal32(0.1), "7.25": Decimal32(7.25), "0.0000012": Decimal(0.0000012),
	} {
		if got, err := json.Marshal(v); err != nil || string(got) != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

func TestSearchWithoutGeneration(t *testing.T) {
	t.Parallel()
	a := fixture.New(t)
	_, err := (&Service{Store: a.Store}).Search(t.Context(), Request{Query: "x"})
	if f := fault.From(err); f.Code != fault.SourceUnavailable || f.Fields["error"] != fault.SourceUnavailable || f.Retryable != nil {
		t.Errorf("fault %+v", f)
	}
}

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
