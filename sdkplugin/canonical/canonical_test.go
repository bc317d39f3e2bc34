package canonical

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
)

func TestCanonicalForm(t *testing.T) {
	t.Parallel()
	nested := strings.Repeat(`{"b":[`, 60) + " 1.50 " + strings.Repeat(`],"a":1}`, 60)
	tests := []struct{ name, in, want string }{
		{"white space", " { \"b\" : [ 1 , 2 ] ,\t\"a\" :\r\nnull } ", `{"a":null,"b":[1,2]}`},
		{"empty containers", `[ ]`, `[]`},
		{"empty object with space", `{ }`, `{}`},
		{"last duplicate wins", `{"a":1,"b":2,"a":3}`, `{"a":3,"b":2}`},
		{"duplicate spelled with an escape", `{"a":1,"\u0061":2}`, `{"a":2}`},
		{"sorted duplicates", `{"a":1,"a":2}`, `{"a":2}`},
		{"keys by bytes, not by UTF-16", `{"\ud83d\ude00":1,"\uffee":2,"z":3}`, "{\"z\":3,\"\uffee\":2,\"\U0001f600\":1}"},
		{"prefix key first", `{"ab":1,"a":2,"":3}`, `{"":3,"a":2,"ab":1}`},
		{"key with NUL against its prefix", `{"a\u0000":1,"a":2}`, `{"a":2,"a\u0000":1}`},
		{"long keys with one prefix", `{"tool_use_id":1,"tool_use_b":2}`, `{"tool_use_b":2,"tool_use_id":1}`},
		{"escapes", `"\/\b\f\n\r\t\"\\\u0001\u001F\u0008\u007f\u00e9"`, `"/\b\f\n\r\t\"\\\u0001\u001f\b` + "\x7f\u00e9\""},
		{"no HTML escapes", `"<>&\u2028\u2029"`, "\"<>&\u2028\u2029\""},
		{"surrogate pair", `"\uD83D\uDE00"`, "\"\U0001f600\""},
		{"lone surrogates", `"\ud83d-\ude00\ud83d\ud83d\ude00\ud83d\u0041"`, "\"\ufffd-\ufffd\ufffd\U0001f600\ufffdA\""},
		{"big integer", `123456789012345678901234567890`, `123456789012345678901234567890`},
		{"negative", `-7`, `-7`}, {"minus zero", `-0`, `-0.0`}, {"minus zero float", `-0.00e7`, `-0.0`}, {"zero float", `0e500`, `0.0`},
		{"whole float", `1.0`, `1.0`}, {"trailing zeros", `1.500`, `1.5`}, {"whole exponent", `1E2`, `100.0`},
		{"plus exponent", `12.5e+1`, `125.0`}, {"small", `1e-5`, `0.00001`}, {"smaller", `0.000001`, `1e-6`},
		{"sixteen digits", `1e15`, `1000000000000000.0`}, {"seventeen digits", `1e16`, `1e16`}, {"large", `123456789e30`, `1.23456789e38`},
		{"negative fraction", `-0.25`, `-0.25`}, {"point inside", `1234.5678`, `1234.5678`}, {"tiny", `4.9e-324`, `5e-324`},
		{"shortest", `0.1000000000000000055511151231257827`, `0.1`},
		{"beyond float64", `1e400`, `1e400`}, {"beyond float64, digits", `-0012e0`[:1] + `12.50e+400`, `-1.25e401`},
		{"below float64", `0.00120e-400`, `1.2e-403`}, {"long whole number as float", "1" + strings.Repeat("0", 400) + ".0", `1e400`},
		{"absurd exponent", `1.50E+0099999999999999999999`, `1.50e99999999999999999999`},
		{"absurd negative exponent", `1e-99999999999999999999`, `1e-99999999999999999999`},
		{"absurd exponent of zero", `0e99999999999999999999`, `0.0`},
		{"deep", nested, strings.Repeat(`{"a":1,"b":[`, 60) + "1.5" + strings.Repeat(`]}`, 60)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := Canonical([]byte(tt.in))
			if err != nil || string(got) != tt.want {
				t.Fatalf("Canonical(%s) = %s, %v; want %s", tt.in, got, err, tt.want)
			}
			if !IsCanonical(got) {
				t.Errorf("IsCanonical refuses %s", got)
			}
			if tt.in != tt.want && IsCanonical([]byte(tt.in)) {
				t.Errorf("IsCanonical accepts %s", tt.in)
			}
		})
	}
}

func TestManyMembersAreSortedStably(t *testing.T) {
	t.Parallel()
	var in, want strings.Builder
	for i := range 400 {
		fmt.Fprintf(&in, `"key-%04d":%d,`, (i*37)%200, i)
	}
	last := map[int]int{}
	for i := range 400 {
		last[(i*37)%200] = i
	}
	for k := range 200 {
		fmt.Fprintf(&want, `"key-%04d":%d,`, k, last[k])
	}
	got, err := Canonical([]byte("{" + strings.TrimSuffix(in.String(), ",") + "}"))
	if err != nil || string(got) != "{"+strings.TrimSuffix(want.String(), ",")+"}" {
		t.Fatalf("got %s, %v", got, err)
	}
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	tests := []struct {
		in     string
		code   Code
		offset int
	}{
		{``, Malformed, 0}, {`  `, Malformed, 2}, {`nul`, Malformed, 0}, {`{"a"}`, Malformed, 4}, {`{"a":}`, Malformed, 5},
		{`{a:1}`, Malformed, 1}, {`{"a":1,}`, Malformed, 7}, {`[1,]`, Malformed, 3}, {`[1 2]`, Malformed, 3}, {`[`, Malformed, 1},
		{`"abc`, Malformed, 4}, {`"a\`, Malformed, 2}, {`"\x"`, Malformed, 1}, {`"\u12g4"`, Malformed, 1}, {`"\u12`, Malformed, 1},
		{`01`, Trailing, 1}, {`-`, Malformed, 1}, {`1.`, Malformed, 2}, {`1e`, Malformed, 2}, {`.5`, Malformed, 0}, {`+1`, Malformed, 0},
		{`1 1`, Trailing, 2}, {`{}{}`, Trailing, 2}, {"\"a\x01\"", Control, 2}, {"\"a\n\"", Control, 2}, {"{\"k\x00\":1}", Control, 3},
		{"\"\xff\"", NotUTF8, 1}, {"\"\xed\xa0\x80\"", NotUTF8, 1}, {"[\"ok\"]\xc0", NotUTF8, 6}, {"\xef\xbb\xbf{}", Malformed, 0},
		{strings.Repeat("[", 129) + strings.Repeat("]", 129), TooDeep, 128}, {"\v1", Malformed, 0},
		{strings.Repeat(`{"a":`, 128) + "{}" + strings.Repeat("}", 128), TooDeep, 640},
	}
	for _, tt := range tests {
		var d Doc
		err := d.Parse([]byte(tt.in))
		var e *SyntaxError
		if !errors.As(err, &e) || e.Code != tt.code || e.Offset != tt.offset {
			t.Errorf("Parse(%.40q) = %v, want code %d at %d", tt.in, err, tt.code, tt.offset)
		}
		if d.Root().Exists() {
			t.Errorf("Parse(%.40q) left a document behind", tt.in)
		}
		if IsCanonical([]byte(tt.in)) {
			t.Errorf("IsCanonical(%.40q)", tt.in)
		}
	}
	deepest := strings.Repeat("[", 128) + strings.Repeat("]", 128)
	if err := new(Doc).Parse([]byte(deepest)); err != nil || !IsCanonical([]byte(deepest)) {
		t.Errorf("depth 128 is refused: %v", err)
	}
}

func TestParsePrefix(t *testing.T) {
	t.Parallel()
	tests := []struct {
		in   string
		n    int
		fail bool
	}{
		{`{"a":1}{"b":2}`, 7, false}, {`  12 34`, 4, false}, {"{}\xff", 2, false}, {`{"a":{"b"`, 9, true}, {"\"\xff\" ", 1, true},
		{`null,`, 4, false}, {``, 0, true},
	}
	for _, tt := range tests {
		var d Doc
		n, err := d.ParsePrefix([]byte(tt.in))
		if n != tt.n || (err != nil) != tt.fail {
			t.Errorf("ParsePrefix(%q) = %d, %v; want %d, failure %v", tt.in, n, err, tt.n, tt.fail)
		}
	}
}

func TestValueAccess(t *testing.T) {
	t.Parallel()
	var d Doc
	src := `{"s":"a\u00e9\n","plain":"xyz","i":-42,"u":18446744073709551615,"f":2.5,"t":true,"n":null,"a":[1,"two",[3]],"dup":1,"d\u0075p":2,"o":{"x":{"y":7}}}`
	if err := d.Parse([]byte(src)); err != nil {
		t.Fatal(err)
	}
	r := d.Root()
	if got := string(r.Get("s").Str()); got != "aé\n" {
		t.Errorf("s = %q", got)
	}
	if got := string(r.Get("s").AppendStr([]byte("+"))); got != "+aé\n" {
		t.Errorf("AppendStr = %q", got)
	}
	plain := r.Get("plain").Str()
	if string(plain) != "xyz" || &plain[0] != &d.Source()[strings.Index(src, "xyz")] {
		t.Errorf("a string without escapes is copied")
	}
	if i, ok := r.Get("i").Int64(); i != -42 || !ok {
		t.Errorf("i = %d %v", i, ok)
	}
	if u, ok := r.Get("u").Uint64(); u != 1<<64-1 || !ok {
		t.Errorf("u = %d %v", u, ok)
	}
	if _, ok := r.Get("u").Int64(); ok {
		t.Errorf("Int64 of 2^64-1 succeeds")
	}
	if _, ok := r.Get("f").Int64(); ok {
		t.Errorf("Int64 of a float succeeds")
	}
	if f, ok := r.Get("f").Float64(); f != 2.5 || !ok {
		t.Errorf("f = %v %v", f, ok)
	}
	if b, ok := r.Get("t").Bool(); !b || !ok {
		t.Errorf("t = %v %v", b, ok)
	}
	if !r.Get("n").IsNull() || !r.Has("n") || r.Has("missing") || !r.Get("missing").Get("deeper").IsNull() {
		t.Errorf("null and absence")
	}
	if got, _ := r.Get("dup").Int64(); got != 2 || r.CountKey("dup") != 2 {
		t.Errorf("dup = %d, count %d", got, r.CountKey("dup"))
	}
	if got := string(r.Get("o").Get("x").Get("y").Raw()); got != "7" {
		t.Errorf("o.x.y = %s", got)
	}
	if got := r.Get("a").Elem(1).Str(); string(got) != "two" || r.Get("a").Elem(3).Exists() {
		t.Errorf("a[1] = %q", got)
	}
	var keys []string
	for key, member := range r.Each {
		if !bytes.Equal(key, member.Key()) {
			t.Errorf("Key() = %q under %q", member.Key(), key)
		}
		keys = append(keys, string(key))
	}
	if got := strings.Join(keys, " "); got != "s plain i u f t n a dup dup o" || r.Len() != 11 {
		t.Errorf("keys = %s, Len %d", got, r.Len())
	}
	var elems []string
	for e := range r.Get("a").Elems {
		elems = append(elems, string(e.Raw()))
	}
	if got := strings.Join(elems, " "); got != `1 "two" [3]` {
		t.Errorf("elements = %s", got)
	}
	if start, end := r.Get("a").Span(); src[start:end] != `[1,"two",[3]]` {
		t.Errorf("span = %s", src[start:end])
	}
}

func TestMarks(t *testing.T) {
	t.Parallel()
	var d Doc
	if err := d.Parse([]byte(`{"name":"x", "input":{"z":1,"b":[true,{"k":"\u0041"}]},"id":0,"big":"AAAA","id":5}`)); err != nil {
		t.Fatal(err)
	}
	r := d.Root()
	marks := []Mark{
		{Value: r.Get("input")},
		{Value: r.Get("input").Get("b").Elem(1).Get("k")},
		{Value: r.Get("big")},
		{Value: first(r, "id")},
		{Value: r},
	}
	got := string(AppendMarked([]byte("##"), r, marks))
	want := `##{"big":"AAAA","id":5,"input":{"b":[true,{"k":"A"}],"z":1},"name":"x"}`
	if got != want {
		t.Fatalf("got  %s\nwant %s", got, want)
	}
	for i, span := range []string{`{"b":[true,{"k":"A"}],"z":1}`, `"A"`, `"AAAA"`, "", want[2:]} {
		m := marks[i]
		if m.Found != (span != "") || got[m.Start:m.End] != span {
			t.Errorf("mark %d: found %v, %q, want %q", i, m.Found, got[m.Start:m.End], span)
		}
	}
}

func first(v Value, key string) Value {
	for k, member := range v.Each {
		if string(k) == key {
			return member
		}
	}
	return Value{}
}

func TestStrings(t *testing.T) {
	t.Parallel()
	var all []byte
	for c := range 128 {
		all = append(all, byte(c))
	}
	for n := range len(all) {
		for _, s := range [][]byte{all[:n], all[n:], []byte(strings.Repeat("é", n%9) + string(all[n:]))} {
			quoted := AppendString(nil, s)
			if QuotedLen(s) != len(quoted) {
				t.Fatalf("QuotedLen(%q) = %d, want %d", s, QuotedLen(s), len(quoted))
			}
			if !IsCanonical(quoted) {
				t.Fatalf("%s is not canonical", quoted)
			}
			back, err := Unquote([]byte("pre"), quoted)
			if err != nil || string(back) != "pre"+string(s) {
				t.Fatalf("Unquote(%s) = %q, %v", quoted, back, err)
			}
		}
	}
	for _, bad := range []string{``, `"`, `"a`, `a`, `"a"b`, `"a""`, "\"\n\"", `"\u00"`, "\"\xff\"", ` "a"`, `1`} {
		if out, err := Unquote([]byte("x"), []byte(bad)); err == nil || string(out) != "x" {
			t.Errorf("Unquote(%q) = %q, %v", bad, out, err)
		}
	}
}

func TestNoAllocations(t *testing.T) {
	src := []byte(`{"type":"assistant","message":{"content":[{"type":"text","text":"line\nwith \"quotes\" \u0041"},1.5e10,-3],"id":"x"},"b":2,"a":1}`)
	var d Doc
	var dst []byte
	run := func() {
		if d.Parse(src) != nil {
			t.Fatal("parse")
		}
		dst = AppendValue(dst[:0], d.Root())
		if !IsCanonical(dst) || IsCanonical(src) {
			t.Fatal("IsCanonical")
		}
	}
	run()
	if n := testing.AllocsPerRun(100, run); n != 0 {
		t.Errorf("%v allocations a line, want none", n)
	}
}

// valid is encoding/json's verdict with the documented differences applied.
func valid(src []byte) bool {
	if !json.Valid(src) || invalidUTF8(src) >= 0 {
		return false
	}
	depth, deepest, inString := 0, 0, false
	for i := 0; i < len(src); i++ {
		switch c := src[i]; {
		case inString && c == '\\':
			i++
		case c == '"':
			inString = !inString
		case inString:
		case c == '[' || c == '{':
			depth++
			deepest = max(deepest, depth)
		case c == ']' || c == '}':
			depth--
		}
	}
	return deepest <= MaxDepth
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{
		`{"b":[1,2.50,{"a":"\ud83d\u0041\n"}],"a":-0,"a":1e400}`, `"\u001F<é"`, "[\"\x01\"]", `{"a":1}{"b":2}`, "[[[[1e-7]]]]", "\"\xff\"",
		`{"type":"user","x":{"type":"user"`, strings.Repeat("[", 130), `{"\u0061":1,"a":2,"a\n":3}`, `1E+00099999999999999999999`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		var d Doc
		err := d.Parse(src)
		if (err == nil) != valid(src) {
			t.Fatalf("Parse: %v, reference says %v", err, valid(src))
		}
		n, prefixErr := d.ParsePrefix(src)
		if n < 0 || n > len(src) || err == nil && prefixErr != nil {
			t.Fatalf("ParsePrefix = %d, %v after Parse = %v", n, prefixErr, err)
		}
		if prefixErr == nil {
			if err := new(Doc).Parse(src[:n]); err != nil {
				t.Fatalf("the prefix does not parse by itself: %v", err)
			}
		}
		if err != nil {
			return
		}
		first, err := Canonical(src)
		if err != nil {
			t.Fatal(err)
		}
		second, err := Canonical(first)
		if err != nil || !bytes.Equal(first, second) {
			t.Fatalf("not idempotent: %s, then %s, %v", first, second, err)
		}
		if !IsCanonical(first) || IsCanonical(src) != bytes.Equal(src, first) {
			t.Fatalf("IsCanonical disagrees for %s and %s", src, first)
		}
		sameMeaning(t, src, first)
	})
}

// sameMeaning compares what encoding/json understands of both texts, as far as float64 can hold their numbers.
func sameMeaning(t *testing.T, a, b []byte) {
	var x, y any
	if json.Unmarshal(a, &x) != nil || json.Unmarshal(b, &y) != nil {
		return
	}
	p, _ := json.Marshal(x)
	q, _ := json.Marshal(y)
	if !bytes.Equal(p, q) {
		t.Fatalf("meaning changed: %s, then %s", p, q)
	}
}

func FuzzString(f *testing.F) {
	f.Add([]byte("a\"b\\c\n\x00\x1f\x7fé"))
	f.Add([]byte(`"\ud83d\u0041"`))
	f.Fuzz(func(t *testing.T, s []byte) {
		quoted := AppendString(nil, s)
		if QuotedLen(s) != len(quoted) {
			t.Fatalf("QuotedLen %d, length %d", QuotedLen(s), len(quoted))
		}
		if invalidUTF8(s) < 0 {
			if back, err := Unquote(nil, quoted); err != nil || !bytes.Equal(back, s) {
				t.Fatalf("%q came back as %q, %v", s, back, err)
			}
		}
		var want string
		decoded, err := Unquote(nil, s)
		if ref := json.Unmarshal(s, &want); err == nil && (ref != nil || string(decoded) != want) {
			t.Fatalf("Unquote(%q) = %q, reference %q, %v", s, decoded, want, ref)
		}
	})
}

func TestTooManyValues(t *testing.T) {
	t.Parallel()
	fits := []byte("[1" + strings.Repeat(",1", MaxValues-2) + "]")
	var d Doc
	if err := d.Parse(fits); err != nil || len(d.Nodes()) != MaxValues {
		t.Errorf("%d values: %v", len(d.Nodes()), err)
	}
	var syntax *SyntaxError
	more := append(fits[:len(fits)-1], ",1]"...)
	if err := d.Parse(more); !errors.As(err, &syntax) || syntax.Code != TooMany || cap(d.Nodes()) != MaxValues {
		t.Errorf("room for %d values: %v", cap(d.Nodes()), err)
	}
}
