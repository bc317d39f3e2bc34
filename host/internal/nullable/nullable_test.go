package nullable

import (
	"bytes"
	"encoding/json"
	"testing"
)

func TestText(t *testing.T) {
	t.Parallel()
	for in, want := range map[Text]string{"": "null", "x": `"x"`, `a "b" <c>`: `"a \"b\" <c>"`} {
		var b bytes.Buffer
		e := json.NewEncoder(&b)
		e.SetEscapeHTML(false)
		if err := e.Encode([]Text{in}); err != nil || b.String() != "["+want+"]\n" {
			t.Errorf("%q: %s, %v", in, b.String(), err)
		}
		var back []Text
		if err := json.Unmarshal(b.Bytes(), &back); err != nil || back[0] != in {
			t.Errorf("%q came back as %q, %v", in, back, err)
		}
	}
}
