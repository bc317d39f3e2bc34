package digest

import (
	"encoding/json"
	"maps"
	"testing"
)

func TestCounter(t *testing.T) {
	c := Counter{}
	a, b := Of([]byte("a")), Of([]byte("b"))
	if c.Next(a) != 0 || c.Next(a) != 1 || c.Next(b) != 0 {
		t.Errorf("%v", c)
	}
	text, err := json.Marshal(c)
	var back Counter
	if err != nil || json.Unmarshal(text, &back) != nil || !maps.Equal(c, back) {
		t.Errorf("%s reads back as %v, %v", text, back, err)
	}
	for _, bad := range []string{"", "zz", "00", "000102030405060708090a0b0c0d0e0f00"} {
		if new(Print).UnmarshalText([]byte(bad)) == nil {
			t.Errorf("%q is a print", bad)
		}
	}
}
