package main

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"text/tabwriter"
	"time"
)

// figure is one row of the report.
type figure struct {
	Name   string  `json:"name"`
	Unit   string  `json:"unit"`
	Bar    string  `json:"bar,omitempty"`
	Value  float64 `json:"value"`
	Min    float64 `json:"min"`
	Max    float64 `json:"max"`
	Sample int     `json:"samples"`
}

func (b *bench) add(name, unit, bar string, values []float64) { b.addAt(name, unit, bar, values, 0.5) }

// addAt records the given quantile (nearest rank) of the values.
func (b *bench) addAt(name, unit, bar string, values []float64, q float64) {
	sorted := slices.Sorted(slices.Values(values))
	at := min(len(sorted)-1, int(q*float64(len(sorted))))
	b.figures = append(b.figures, figure{Name: name, Unit: unit, Bar: bar, Value: sorted[at],
		Min: sorted[0], Max: sorted[len(sorted)-1], Sample: len(sorted)})
}

func printTable(b *bench) {
	fmt.Printf("%d files, %.1f MB of histories\n\n", b.sourceFiles, float64(b.sourceBytes)/1e6)
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "figure\tvalue\tunit\tbar\tmin\tmax\tsamples")
	for _, f := range b.figures {
		fmt.Fprintf(w, "%s\t%.1f\t%s\t%s\t%.1f\t%.1f\t%d\n", f.Name, f.Value, f.Unit, f.Bar, f.Min, f.Max, f.Sample)
	}
	w.Flush()
}

func pick(samples []sample, value func(sample) float64) []float64 {
	var out []float64
	for _, s := range samples {
		out = append(out, value(s))
	}
	return out
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
func mib(n int64) float64        { return float64(n) / (1 << 20) }

// identity tells files apart, not places: a hard link has all of it in common with its original, and no rewritten file has.
type identity struct {
	name        string
	size, mtime int64
}

// files returns the files below dir, each once however many names it has.
func files(dir string) map[identity]bool {
	found := map[identity]bool{}
	_ = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return nil
		}
		if info, err := d.Info(); err == nil {
			found[identity{d.Name(), info.Size(), info.ModTime().UnixNano()}] = true
		}
		return nil
	})
	return found
}
