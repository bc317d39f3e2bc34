package main

import (
	_ "embed"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

//go:embed queries.txt
var judgedQueries string

// query is one judged query.
type query struct {
	number    int
	class     string
	text      string
	judgement []judgement
}

func (q query) half() string {
	if q.number%2 == 1 {
		return "odd"
	}
	return "even"
}

// judgement grades one event, or with event "*" any other event of a session. An event is named by the start of its ctx id.
type judgement struct {
	grade             int
	provider, session string
	event             string
	found             *event // nil for "*"
}

// parseQueries reads the form that the head of queries.txt describes.
func parseQueries(text string) ([]query, error) {
	var queries []query
	for i, line := range strings.Split(text, "\n") {
		switch {
		case strings.TrimSpace(line) == "" || strings.HasPrefix(line, "#"):
		case strings.HasPrefix(line, "\t"):
			j, err := parseJudgement(strings.Fields(line))
			if err == nil && len(queries) == 0 {
				err = errors.New("a judgement before the first query")
			}
			if err != nil {
				return nil, fmt.Errorf("line %d: %w", i+1, err)
			}
			last := &queries[len(queries)-1]
			last.judgement = append(last.judgement, j)
		default:
			parts := strings.SplitN(line, " ", 3)
			number, err := strconv.Atoi(parts[0])
			if err != nil || len(parts) != 3 || number != len(queries)+1 {
				return nil, fmt.Errorf("line %d: want query %d, its class and its text", i+1, len(queries)+1)
			}
			queries = append(queries, query{number: number, class: parts[1], text: parts[2]})
		}
	}
	for _, q := range queries {
		if !slices.ContainsFunc(q.judgement, func(j judgement) bool { return j.grade == 2 && j.event != "*" }) {
			return nil, fmt.Errorf("query %d has no right answer", q.number)
		}
	}
	return queries, nil
}

func parseJudgement(fields []string) (judgement, error) {
	if len(fields) != 4 || fields[0] != "1" && fields[0] != "2" {
		return judgement{}, fmt.Errorf("want grade, provider, session and event, got %q", fields)
	}
	if len(fields[3]) < 8 && fields[3] != "*" {
		return judgement{}, fmt.Errorf("event %q: want * or at least 8 characters of an id", fields[3])
	}
	return judgement{grade: int(fields[0][0] - '0'), provider: fields[1], session: fields[2], event: fields[3]}, nil
}

// answer is a thing that a good list of rows holds, once: a judged event, the other events of a session, or a session.
type answer struct {
	grade   int
	matches func(*event) bool
}

// answers of a query. The same text elsewhere (a fork, a resumed copy) is the same answer.
func (c *corpus) answers(q query, rows string) []answer {
	var list []answer
	for _, session := range q.sessions() {
		var texts []string
		grade := 0
		for _, j := range q.judgement {
			if j.key() != session {
				continue
			}
			grade = max(grade, j.grade)
			if j.found != nil {
				texts = append(texts, j.found.text)
			}
		}
		if rows == "sessions" {
			list = append(list, answer{grade, func(e *event) bool { return e.key() == session || c.holds(e.key(), texts) }})
		}
	}
	if rows == "sessions" {
		return list
	}
	for _, j := range q.judgement {
		list = append(list, answer{j.grade, func(e *event) bool {
			if j.found != nil {
				return e.text == j.found.text
			}
			return e.key() == j.key() && !q.names(e)
		}})
	}
	return list
}

func (j judgement) key() string { return j.provider + "/" + j.session }

// sessions of the judgements, each once, in their order.
func (q query) sessions() []string {
	var keys []string
	for _, j := range q.judgement {
		if !slices.Contains(keys, j.key()) {
			keys = append(keys, j.key())
		}
	}
	return keys
}

// names tells whether a judgement is about this very event.
func (q query) names(e *event) bool {
	return slices.ContainsFunc(q.judgement, func(j judgement) bool { return j.found != nil && j.found.text == e.text })
}

// gains returns the grade of every row; an answer counts only where it first stands.
func gains(wanted []answer, list []*event) []int {
	used := make([]bool, len(wanted))
	grades := make([]int, len(list))
	for row, e := range list {
		best := -1
		for i, a := range wanted {
			if !used[i] && (best < 0 || a.grade > wanted[best].grade) && a.matches(e) {
				best = i
			}
		}
		if best >= 0 {
			used[best], grades[row] = true, wanted[best].grade
		}
	}
	return grades
}
