package lexical

import (
	"fmt"
	"testing"
)

func TestClosest(t *testing.T) {
	t.Parallel()
	l := newLanguage(t, "gateway gateway2 connection", "gateway connexion", "naïve schlüssel привет", "receive zephyrs")
	for _, tt := range []struct {
		word  string
		edits int
		want  string
	}{
		{"gatway", 1, "gateway"}, {"agteway", 1, "gateway"}, {"gateaway", 1, "gateway"}, {"gatewey", 1, "gateway"}, {"gtaewya", 1, ""},
		{"gtaewya", 2, "gateway"}, {"conection", 1, "connection"}, {"conexion", 1, "connexion"}, {"connektion", 2, "connection"},
		{"gatewa", 1, ""}, {"zephyr", 1, ""}, {"gateway22", 1, ""}, // only goes on or stops before: another form
		{"naive", 1, ""}, {"schlüsel", 1, "schlüssel"}, {"прибет", 1, "привет"}, // accents are not folded, and a character is one edit
		{"unrelated", 2, ""}, {"", 1, ""},
	} {
		got, n, err := l.Closest([]byte(tt.word), tt.edits)
		if err != nil || string(got) != tt.want || (n == 0) != (tt.want == "") {
			t.Errorf("%s within %d: %s in %d documents, %v; want %s", tt.word, tt.edits, got, n, err, tt.want)
		}
	}
}

func TestExpand(t *testing.T) {
	t.Parallel()
	l := newLanguage(t, "time timer timed", "timer times", "timer timed", "tim tin zeit")
	for _, tt := range []struct {
		prefix string
		most   int
		want   string
	}{
		{"time", 10, "[timer timed time times] false"}, {"time", 2, "[timer timed] true"}, {"time", 4, "[timer timed time times] false"},
		{"zeit", 5, "[zeit] false"}, {"none", 5, "[] false"}, {"zz", 5, "[] false"},
	} {
		terms, more, err := l.Expand([]byte(tt.prefix), tt.most)
		if got := fmt.Sprintf("%s %v", terms, more); err != nil || got != tt.want {
			t.Errorf("%s: %s, %v; want %s", tt.prefix, got, err, tt.want)
		}
	}
}

// A group scores like one word that stands where its members stand.
func TestGroupIsOneTerm(t *testing.T) {
	t.Parallel()
	l := newLanguage(t, "alpha beta other", "alpha alpha other", "beta gamma other", "gamma delta other")
	single := newLanguage(t, "alpha alpha other", "alpha alpha other", "alpha gamma other", "gamma delta other")
	group := Query{Terms: QueryTerms("gamma"), Groups: [][][]byte{QueryTerms("alpha beta")}, Limit: 10}
	got, err := l.Search(t.Context(), group)
	if err != nil {
		t.Fatal(err)
	}
	want, err := single.Search(t.Context(), Query{Terms: QueryTerms("gamma alpha"), Limit: 10})
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Hits) != 4 || got.Matches != want.Matches || got.Found[1] != 3 {
		t.Fatalf("%+v, want %+v", got, want)
	}
	scores := map[Doc]Hit{}
	for _, h := range want.Hits {
		scores[h.Doc] = h
	}
	for _, h := range got.Hits {
		w := scores[h.Doc]
		if h.Coverage != w.Coverage || h.Whole != w.Whole || h.Score-w.Score > 1e-6 || w.Score-h.Score > 1e-6 {
			t.Errorf("%+v, want %+v", h, w)
		}
		e, err := l.Explain(t.Context(), group, []Doc{h.Doc})
		if err != nil || e.Docs[0].Score != h.Score || e.Docs[0].Covered != h.Coverage {
			t.Errorf("%+v is explained as %+v, %v", h, e, err)
		}
	}
}

// newLanguage has the texts in two segments, and a deleted document that holds a bit of everything.
func newLanguage(t *testing.T, texts ...string) *Reader {
	t.Helper()
	var samples []sample
	for i, text := range append(texts, "gateway gatewax unrelatex timez zeitgeist alpha beta gamma") {
		samples = append(samples, sample{text: text, row: Row{ID: uint64(i + 1), Sequence: uint64(i), Eligible: true}})
	}
	return newLibrary(t, samples, map[int]bool{len(texts): true}, 2).reader
}
