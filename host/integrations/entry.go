package integrations

import (
	"bytes"
	"encoding/json"
	"reflect"

	"github.com/agenthistory/ctx/host/internal/plain"
)

// serverName is the key of the entry in every client.
const serverName = "ctx"

// Server is what every client starts.
type Server struct {
	Name    string   `json:"name"`
	Command string   `json:"command"`
	Args    []string `json:"args"`
}

// LocalServer is the entry that install writes.
var LocalServer = Server{Name: serverName, Command: "ctx", Args: []string{"mcp", "serve"}}

// member is one member of an entry. An implied one may be missing in an entry that counts as ours: the client assumes it.
type member struct {
	key     string
	value   any // string, bool, []string, int or map[string]string
	implied bool
}

func launch(more ...member) []member {
	return append([]member{{key: "command", value: "ctx"}, {key: "args", value: []string{"mcp", "serve"}}}, more...)
}

// ours tells whether an entry of a file starts this server. Members that the user added (a timeout, an environment) do not matter.
func ours(want []member, found any) bool {
	entry, ok := found.(map[string]any)
	if !ok {
		return false
	}
	for _, m := range want {
		value, there := entry[m.key]
		if !there && m.implied {
			continue
		}
		if !there || !sameValue(m.value, value) {
			return false
		}
	}
	return true
}

// sameValue compares values of different decoders by their JSON form.
func sameValue(a, b any) bool {
	x, errX := anyOf(a)
	y, errY := anyOf(b)
	return errX == nil && errY == nil && reflect.DeepEqual(x, y)
}

func anyOf(v any) (out any, err error) {
	text, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	return out, d.Decode(&out)
}

// jsonText is the JSON of a value.
func jsonText(v any) string {
	text, err := plain.JSON(v)
	if err != nil {
		return "null"
	}
	return string(text)
}
