package main

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

// jsonQuery reads one value out of the last output or a file.
//
//	json stdout results.0.provider claude      the value must be claude
//	json stdout results.0.ctx_event_id -> ID   keeps the value in the variable ID
//	! json stdout results.0.missing            the member must be absent
//	json stdout results len 3                  the array or object has 3 members
func jsonQuery(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) < 2 {
		ts.Fatalf("usage: json stdout|file path [value | -> VAR | len N]")
	}
	text := ts.ReadFile(args[0])
	var document any
	if err := json.Unmarshal([]byte(text), &document); err != nil {
		ts.Fatalf("%s is not one JSON document: %v\n%s", args[0], err, text)
	}
	value, found := descend(document, strings.Split(args[1], "."))
	switch {
	case neg && found:
		ts.Fatalf("%s is %s, must be absent", args[1], spell(value))
	case neg:
		return
	case !found:
		ts.Fatalf("%s is absent in %s", args[1], text)
	case len(args) == 4 && args[2] == "->":
		ts.Setenv(args[3], spell(value))
	case len(args) == 4 && args[2] == "len":
		if got := strconv.Itoa(length(value)); got != args[3] {
			ts.Fatalf("%s has %s members, want %s", args[1], got, args[3])
		}
	case len(args) == 3 && spell(value) != args[2]:
		ts.Fatalf("%s is %s, want %s", args[1], spell(value), args[2])
	}
}

func descend(value any, path []string) (any, bool) {
	for _, step := range path {
		switch v := value.(type) {
		case map[string]any:
			next, ok := v[step]
			if !ok {
				return nil, false
			}
			value = next
		case []any:
			i, err := strconv.Atoi(step)
			if i < 0 {
				i += len(v) // from the end
			}
			if err != nil || i < 0 || i >= len(v) {
				return nil, false
			}
			value = v[i]
		default:
			return nil, false
		}
	}
	return value, true
}

func spell(value any) string {
	switch v := value.(type) {
	case string:
		return v
	case nil:
		return "null"
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	}
	b, err := json.Marshal(value)
	if err != nil {
		return fmt.Sprint(value)
	}
	return string(b)
}

func length(value any) int {
	switch v := value.(type) {
	case []any:
		return len(v)
	case map[string]any:
		return len(v)
	}
	return -1
}
