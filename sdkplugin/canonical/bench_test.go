package canonical

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// transcripts returns the lines of real transcripts below the directory named by CTX_BENCH_TRANSCRIPTS, at most 64 MB.
func transcripts(b *testing.B) (lines [][]byte, size int64) {
	b.Helper()
	root := os.Getenv("CTX_BENCH_TRANSCRIPTS")
	if root == "" {
		b.Skip("CTX_BENCH_TRANSCRIPTS names no directory of transcripts")
	}
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || filepath.Ext(path) != ".jsonl" || size > 64<<20 {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for line := range bytes.SplitSeq(data, []byte{'\n'}) {
			if len(line) > 0 {
				lines = append(lines, line)
				size += int64(len(line))
			}
		}
		return nil
	})
	if err != nil || len(lines) == 0 {
		b.Skipf("no transcripts: %v", err)
	}
	return lines, size
}

func BenchmarkTranscripts(b *testing.B) {
	lines, size := transcripts(b)
	b.Run("parse", func(b *testing.B) {
		var d Doc
		b.SetBytes(size)
		for b.Loop() {
			for _, line := range lines {
				_ = d.Parse(line)
			}
		}
	})
	b.Run("parse+canonical", func(b *testing.B) {
		var d Doc
		var dst []byte
		b.SetBytes(size)
		for b.Loop() {
			for _, line := range lines {
				if d.Parse(line) == nil {
					dst = AppendValue(dst[:0], d.Root())
				}
			}
		}
	})
	b.Run("check", func(b *testing.B) {
		forms := make([][]byte, 0, len(lines))
		for _, line := range lines {
			if form, err := Canonical(line); err == nil {
				forms = append(forms, form)
			}
		}
		b.SetBytes(size)
		for b.Loop() {
			for _, form := range forms {
				if !IsCanonical(form) {
					b.Fatal("not canonical")
				}
			}
		}
	})
	b.Run("utf8", func(b *testing.B) {
		b.SetBytes(size)
		for b.Loop() {
			for _, line := range lines {
				_ = invalidUTF8(line)
			}
		}
	})
}
