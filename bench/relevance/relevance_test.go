package main

import (
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

func wantedGrades(grades ...int) []answer {
	var list []answer
	for _, g := range grades {
		list = append(list, answer{grade: g})
	}
	return list
}

// The expected numbers were worked out by hand: gains 3 and 1 for grades 2 and 1, discounts 1/log2(2, 3, 4, 5) = 1, 0.6309, 0.5,
// 0.4307.
func TestScore(t *testing.T) {
	for name, c := range map[string]struct {
		grades []int
		wanted []answer
		want   figures
	}{
		"right row first":       {[]int{2}, wantedGrades(2), figures{1, 1, 1, 1, 1}},
		"right row second":      {[]int{0, 2, 0, 1}, wantedGrades(2, 1), figures{0, 1, 1, 0.5, (3*0.63093 + 0.43068) / (3 + 0.63093)}},
		"only an acceptable":    {[]int{1}, wantedGrades(1, 2), figures{0, 0, 0, 0, 1 / (3 + 0.63093)}},
		"right row sixth":       {[]int{1, 0, 0, 0, 0, 2}, wantedGrades(2, 1), figures{0, 0, 1, 1.0 / 6, (1 + 3*0.35621) / 3.63093}},
		"two right, one found":  {[]int{0, 0, 2}, wantedGrades(2, 2), figures{0, 1, 1, 1.0 / 3, 1.5 / (3 + 3*0.63093)}},
		"nothing":               {nil, wantedGrades(2), figures{}},
		"in the order of grade": {[]int{2, 1}, wantedGrades(1, 2), figures{1, 1, 1, 1, 1}},
	} {
		t.Run(name, func(t *testing.T) {
			got := score(c.grades, c.wanted)
			for i, pair := range [][2]float64{{got.recall1, c.want.recall1}, {got.recall5, c.want.recall5}, {got.recall20, c.want.recall20},
				{got.mrr, c.want.mrr}, {got.ndcg, c.want.ndcg}} {
				if math.Abs(pair[0]-pair[1]) > 0.0001 {
					t.Errorf("figure %d is %.5f, want %.5f", i, pair[0], pair[1])
				}
			}
		})
	}
}

func TestMeanKeepsWhatWasAskedFor(t *testing.T) {
	results := []result{
		{query{number: 1}, "events", "ctx", figures{1, 1, 1, 1, 1}},
		{query{number: 2}, "events", "ctx", figures{}},
		{query{number: 3}, "events", "ctx", figures{0, 0, 1, 0.1, 0.5}},
	}
	got, n := mean(results, func(r result) bool { return r.query.half() == "odd" })
	if n != 2 || got != (figures{0.5, 0.5, 1, 0.55, 0.75}) {
		t.Errorf("mean of the odd half is %+v of %d", got, n)
	}
}

const sample = `# a comment
1 error some words: here
	2 claude s1 aaaaaaaa
	1 claude s1 *
2 two other thing
	2 codex s2 bbbbbbbb
`

func sampleEvents() []*event {
	return []*event{
		{id: "cccccccc-1", provider: "claude", session: "s1", text: "words"},
		{id: "dddddddd-1", provider: "claude", session: "s3", text: "Some words of the answer"},
		{id: "aaaaaaaa-1", provider: "claude", session: "s1", text: "Some words of the answer"},
		{id: "bbbbbbbb-1", provider: "codex", session: "s2", text: "another thing, other words, words"},
	}
}

func TestAnswersCountOnce(t *testing.T) {
	queries, err := parseQueries(sample)
	if err != nil {
		t.Fatal(err)
	}
	events := sampleEvents()
	c, err := newCorpus(events, queries)
	if err != nil {
		t.Fatal(err)
	}
	for rows, want := range map[string][]int{
		"events":   {1, 2, 0, 0}, // any other event of s1, the same text in s3, the judged one again, a stranger
		"sessions": {2, 0, 0, 0}, // s1 was found already when its copy in s3 comes
	} {
		got := gains(c.answers(queries[0], rows), events)
		for i := range want {
			if got[i] != want[i] {
				t.Errorf("%s: gains %v, want %v", rows, got, want)
				break
			}
		}
	}
}

func TestParseQueriesRefuses(t *testing.T) {
	for name, text := range map[string]string{
		"a number out of order": "2 error words\n\t2 claude s a1234567\n",
		"no right answer":       "1 error words\n\t1 claude s a1234567\n",
		"only a whole session":  "1 error words\n\t2 claude s *\n",
		"a grade of 3":          "1 error words\n\t3 claude s a1234567\n",
		"a short id":            "1 error words\n\t2 claude s a1\n",
		"a stray judgement":     "\t2 claude s a1234567\n",
	} {
		if _, err := parseQueries(text); err == nil {
			t.Errorf("%s is accepted", name)
		}
	}
}

func TestJudgedQueries(t *testing.T) {
	queries, err := parseQueries(judgedQueries)
	if err != nil {
		t.Fatal(err)
	}
	odd := map[string]int{}
	for _, q := range queries {
		odd[q.class] += 2*(q.number%2) - 1
	}
	if len(queries) != 120 {
		t.Errorf("%d queries, want 120", len(queries))
	}
	for class, surplus := range odd {
		if surplus != 0 {
			t.Errorf("class %s has not as many odd as even queries", class)
		}
	}
}

func TestStaleJudgementIsAnError(t *testing.T) {
	queries, _ := parseQueries(sample)
	if _, err := newCorpus(sampleEvents()[:3], queries); err == nil || !strings.Contains(err.Error(), "query 2") {
		t.Errorf("error is %v, want one about query 2", err)
	}
}

func TestBaselines(t *testing.T) {
	queries, _ := parseQueries(sample)
	c, err := newCorpus(sampleEvents(), queries)
	if err != nil {
		t.Fatal(err)
	}
	ids := func(list []*event) string {
		var b strings.Builder
		for _, e := range list {
			b.WriteString(e.id[:1])
		}
		return b.String()
	}
	// The short text first, then the one that says it twice, then the two with it once, newest first.
	if got := ids(c.bm25("WORDS")); got != "cbda" {
		t.Errorf("bm25 ranks %s", got)
	}
	if got := ids(c.bm25("other nothing")); got != "b" {
		t.Errorf("bm25 of an unknown word too ranks %s", got)
	}
	if got := ids(c.grep("WORDS some")); got != "da" {
		t.Errorf("grep finds %s", got)
	}
	if got := ids(firstOfSession(c.grep("words"))); got != "cdb" {
		t.Errorf("first of each session: %s", got)
	}
}

func TestWords(t *testing.T) {
	if got := strings.Join(words("snake_case, 日本 v2é\u00a0x"), "|"); got != "snake|case|日|本|v2é|x" {
		t.Errorf("words are %s", got)
	}
}

func TestUpdatePage(t *testing.T) {
	path := filepath.Join(t.TempDir(), "page.md")
	page := "before\n<!-- table -->\n```\nold\n```\n<!-- end of table -->\nafter\n"
	if err := os.WriteFile(path, []byte(page), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := updatePage(path, "new\n"); err != nil {
		t.Fatal(err)
	}
	if got, _ := os.ReadFile(path); string(got) != strings.Replace(page, "old", "new", 1) {
		t.Errorf("page is %q", got)
	}
	if err := os.WriteFile(path, []byte("no marks"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := updatePage(path, "new\n"); err == nil {
		t.Error("a page without marks is accepted")
	}
}

// TestGolden measures again and compares with the committed figures.
func TestGolden(t *testing.T) {
	home := os.Getenv("CTX_RELEVANCE_HOME")
	if home == "" {
		t.Skip("set CTX_RELEVANCE_HOME to the home directory with the judged histories to measure ranking")
	}
	bin := filepath.Join(t.TempDir(), "ctx")
	if runtime.GOOS == "windows" {
		bin += ".exe"
	}
	if out, err := exec.Command("go", "build", "-o", bin, "../../cmd/ctx").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	results, err := measure(settings{ctx: bin, home: home})
	if err != nil {
		t.Fatal(err)
	}
	golden, err := os.ReadFile("golden.txt")
	if err != nil {
		t.Fatal(err)
	}
	want, got := strings.Split(string(golden), "\n"), strings.Split(render(results), "\n")
	for i := range max(len(want), len(got)) {
		if i >= len(want) || i >= len(got) || want[i] != got[i] {
			t.Fatalf("line %d differs; when the change is meant, go run ./bench/relevance -ctx bin/ctx -home DIR -update\n got %s\nwant %s",
				i+1, strings.Join(got[min(i, len(got)):min(i+1, len(got))], ""), strings.Join(want[min(i, len(want)):min(i+1, len(want))], ""))
		}
	}
}
