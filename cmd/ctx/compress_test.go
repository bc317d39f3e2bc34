package main

import (
	"bytes"
	"os"

	"github.com/klauspost/compress/zstd"
	"github.com/rogpeppe/go-internal/testscript"
)

// compressFile: compress FILE puts FILE.zst in the place of FILE.
func compressFile(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 1 {
		ts.Fatalf("usage: compress file")
	}
	var packed bytes.Buffer
	w, err := zstd.NewWriter(&packed)
	ts.Check(err)
	_, err = w.Write([]byte(ts.ReadFile(args[0])))
	ts.Check(err)
	ts.Check(w.Close())
	path := ts.MkAbs(args[0])
	ts.Check(os.WriteFile(path+".zst", packed.Bytes(), 0o600))
	ts.Check(os.Remove(path))
}
