package plain

import "testing"

func TestJSON(t *testing.T) {
	t.Parallel()
	got, err := JSON(map[string]any{"b": "<a & b>", "a": []int{1}})
	if err != nil || string(got) != `{"a":[1],"b":"<a & b>"}` {
		t.Errorf("%s %v", got, err)
	}
	if _, err := JSON(func() {}); err == nil {
		t.Error("a function has no JSON form")
	}
}
