package main

import (
	"math/rand/v2"
	"os"
	"runtime"
	"testing"
	"time"

	"github.com/agenthistory/ctx/bench/endurance"
)

// TestKilledAtRandom kills the background process, a provider and a worker in the midst of their work. The bench of the same name does
// that hundreds of times.
func TestKilledAtRandom(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("looks for processes in /proc")
	}
	t.Parallel()
	dir, err := os.MkdirTemp("", "ctxe")
	if err != nil {
		t.Fatal(err)
	}
	seed := uint64(time.Now().UnixNano())
	w := &endurance.World{Ctx: binary, Dir: dir, Rand: rand.New(rand.NewPCG(seed, 1))}
	t.Cleanup(func() {
		_ = w.Stop()
		os.RemoveAll(dir)
	})
	faults, err := endurance.Crash(w, 2*len(endurance.Victims))
	if err != nil {
		t.Fatalf("seed %d: %v", seed, err)
	}
	for _, f := range faults {
		t.Logf("%+v", f)
	}
}
