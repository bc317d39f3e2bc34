package main

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// depth is how many rows of a list are looked at.
const depth = 20

var (
	rowKinds = []string{"sessions", "events"}
	rankers  = []string{"ctx", "bm25", "grep"}
	halves   = []string{"odd", "even"}
)

// figures of one list, or the means of many. Recall and rank ask for the first right row (grade 2); nDCG counts acceptable ones too.
type figures struct {
	recall1, recall5, recall20 float64 // 1 when a right row is among the first
	mrr                        float64 // 1 / its place, 0 beyond depth
	ndcg                       float64
}

type result struct {
	query        query
	rows, ranker string
	figures
}

// score of the grades of a list of rows against everything that could be found.
func score(grades []int, wanted []answer) figures {
	var f figures
	best := make([]int, len(wanted))
	for i, a := range wanted {
		best[i] = a.grade
	}
	slices.SortFunc(best, func(x, y int) int { return y - x })
	f.ndcg = dcg(grades) / dcg(best)
	if place := slices.Index(grades, 2) + 1; place > 0 {
		f.mrr = 1 / float64(place)
		f.recall1, f.recall5, f.recall20 = within(place, 1), within(place, 5), within(place, 20)
	}
	return f
}

func within(place, rows int) float64 {
	if place <= rows {
		return 1
	}
	return 0
}

// dcg is the discounted cumulative gain of the first rows: (2^grade - 1) / log2(place + 1).
func dcg(grades []int) float64 {
	sum := 0.0
	for i, g := range grades[:min(len(grades), depth)] {
		sum += (math.Exp2(float64(g)) - 1) / math.Log2(float64(i)+2)
	}
	return sum
}

// mean of the figures of the results that keep accepts, and how many there are.
func mean(results []result, keep func(result) bool) (figures, int) {
	var sum figures
	n := 0
	for _, r := range results {
		if keep(r) {
			n++
			sum.recall1 += r.recall1
			sum.recall5 += r.recall5
			sum.recall20 += r.recall20
			sum.mrr += r.mrr
			sum.ndcg += r.ndcg
		}
	}
	d := float64(max(n, 1))
	return figures{sum.recall1 / d, sum.recall5 / d, sum.recall20 / d, sum.mrr / d, sum.ndcg / d}, n
}

// render prints one block of classes a half and kind of rows.
func render(results []result) string {
	var b strings.Builder
	for _, rows := range rowKinds {
		for _, half := range halves {
			fmt.Fprintf(&b, "%-19s", rows+", "+half)
			for _, ranker := range rankers {
				fmt.Fprintf(&b, " |%5s  r@1  r@5 r@20  mrr ndcg", ranker)
			}
			b.WriteByte('\n')
			for _, class := range append(classes(results), "all") {
				line, n := "", 0
				for _, ranker := range rankers {
					var f figures
					f, n = mean(results, func(r result) bool {
						return r.rows == rows && r.ranker == ranker && r.query.half() == half && (class == "all" || r.query.class == class)
					})
					line += fmt.Sprintf(" |      %.2f %.2f %.2f %.2f %.2f", f.recall1, f.recall5, f.recall20, f.mrr, f.ndcg)
				}
				fmt.Fprintf(&b, "%-14s %4d%s\n", class, n, line)
			}
			b.WriteByte('\n')
		}
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// classes in the order of their first query.
func classes(results []result) []string {
	var list []string
	for _, r := range results {
		if !slices.Contains(list, r.query.class) {
			list = append(list, r.query.class)
		}
	}
	return list
}

// renderMisses lists what ctx should do better, of the tuning half only.
func renderMisses(results []result) string {
	var b strings.Builder
	for _, r := range results {
		if r.ranker == "ctx" && r.query.half() == "odd" && r.recall5 == 0 {
			place := "none"
			if r.mrr > 0 {
				place = fmt.Sprintf("%.0f", 1/r.mrr)
			}
			fmt.Fprintf(&b, "%-8s %3d %-10s first right row %4s  ndcg %.2f  %s\n", r.rows, r.query.number, r.query.class, place, r.ndcg, r.query.text)
		}
	}
	return b.String()
}
