package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"time"

	"github.com/agenthistory/ctx/bench/endurance"
)

// Scenarios of package endurance: they take long, and need /proc.

func (b *bench) world(name string) (*endurance.World, error) {
	dir := filepath.Join(b.work, name)
	w := &endurance.World{Ctx: b.ctx, Dir: dir, Log: os.Stderr, Rand: rand.New(rand.NewPCG(b.seed, 1))}
	return w, os.MkdirAll(dir, 0o700)
}

// crash prints the table of docs/reliability.md.
func (b *bench) crash() error {
	w, err := b.world("crash")
	if err != nil {
		return err
	}
	began := time.Now()
	faults, err := endurance.Crash(w, b.rounds)
	fmt.Printf("seed %d, %d rounds, %v\n\n| killed | rounds | kills | searches meanwhile | slowest recovery |\n| --- | ---: | ---: | ---: | ---: |\n",
		b.seed, b.rounds, time.Since(began).Round(time.Second))
	for _, f := range faults {
		fmt.Printf("| %s | %d | %d | %d | %v |\n", f.Victim, f.Rounds, f.Kills, f.Searches, f.Slowest.Round(10*time.Millisecond))
	}
	return err
}

func (b *bench) live() error {
	w, err := b.world("live")
	if err != nil {
		return err
	}
	r, err := endurance.Live(w, 9, 200*time.Millisecond, b.length)
	fmt.Printf("nine agents, a line each every 200 ms, %v: %d lines of %d bytes in all; %d publications, %d bytes written, %v CPU, last line searchable after %v\n",
		b.length, r.Lines, r.Appended, r.Publications, r.Written, r.CPU, r.Lag.Round(10*time.Millisecond))
	return err
}

func (b *bench) idle() error {
	w, err := b.world("idle")
	if err != nil {
		return err
	}
	r, err := endurance.Idle(w, 1000, b.length)
	fmt.Printf("idle for %v over 1,000 sessions: %v CPU, %.1f MiB resident, %d wake-ups\n", r.Length, r.CPU, mib(r.RSS), r.Wakeups)
	return err
}
