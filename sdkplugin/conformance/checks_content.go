package conformance

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"google.golang.org/protobuf/proto"

	"github.com/agenthistory/ctx/sdkplugin"
	"github.com/agenthistory/ctx/sdkplugin/historyv1"
)

const (
	someSessions = 3
	someRecords  = 20
)

func (k *kit) inventoryComplete(ctx context.Context) (string, error) {
	_, _, inv, err := k.listed(ctx, someSessions, someRecords)
	if err != nil {
		return "", err
	}
	if !inv.end.Complete || inv.state() != historyv1.RouteEnd_STATE_COMPLETE {
		return "", fmt.Errorf("not complete: state %v, diagnostics %v", inv.state(), inv.end.Diagnostics)
	}
	if n := inv.end.Routes[0].Sources; n != uint64(len(inv.sources)) {
		return "", fmt.Errorf("the end counts %d sources, %d came", n, len(inv.sources))
	}
	if k.lines != nil {
		for i := range someSessions {
			if inv.byLocator(k.lines.File(i)) == nil {
				return "", fmt.Errorf("%q is missing", k.lines.File(i))
			}
		}
	}
	if len(inv.sources) == 0 {
		return "", errors.New("no sources")
	}
	return fmt.Sprintf("%d sources", len(inv.sources)), k.sourcesValid(inv)
}

func (k *kit) sourcesValid(inv *inventory) error {
	leaves := map[string]bool{}
	for _, f := range k.described.Formats {
		leaves[f.Leaf] = true
	}
	anchors := map[string]string{}
	for _, s := range inv.sources {
		if err := sdkplugin.Anchor(s.Anchor).Validate(); err != nil {
			return fmt.Errorf("%q: anchor: %w", s.Locator, err)
		}
		if other, taken := anchors[string(s.Anchor)]; taken {
			return fmt.Errorf("%q and %q have the same anchor", other, s.Locator)
		}
		anchors[string(s.Anchor)] = s.Locator
		if !leaves[s.Format] {
			return fmt.Errorf("%q: the format %q is not declared", s.Locator, s.Format)
		}
		if n := len(s.Observation); n == 0 || n > sdkplugin.MaxObservation {
			return fmt.Errorf("%q: an observation of %d bytes", s.Locator, n)
		}
		if err := cleanLocator(s.Locator); err != nil {
			return err
		}
	}
	return nil
}

func cleanLocator(locator string) error {
	if locator == "" {
		return nil
	}
	if len(locator) > sdkplugin.MaxLocator || bytes.IndexByte([]byte(locator), 0) >= 0 {
		return fmt.Errorf("bad locator %.80q", locator)
	}
	for _, part := range bytes.Split([]byte(locator), []byte("/")) {
		if s := string(part); s == "" || s == "." || s == ".." {
			return fmt.Errorf("the locator %q is not relative and clean", locator)
		}
	}
	return nil
}

func (k *kit) inventoryStable(ctx context.Context) (string, error) {
	p, route, first, err := k.listed(ctx, 12, 1)
	if err != nil {
		return "", err
	}
	second, err := p.inventory(ctx, route)
	if err != nil {
		return "", err
	}
	if err := sameInventory(first, second); err != nil {
		return "", err
	}
	return fmt.Sprintf("%d sources", len(first.sources)), nil
}

// sameInventory also checks the order.
func sameInventory(a, b *inventory) error {
	if len(a.sources) != len(b.sources) {
		return fmt.Errorf("%d and %d sources", len(a.sources), len(b.sources))
	}
	for i := range a.sources {
		if !proto.Equal(a.sources[i], b.sources[i]) {
			return fmt.Errorf("source %d is not the same: %q, %q", i, a.sources[i].Locator, b.sources[i].Locator)
		}
		if i > 0 && a.sources[i-1].Locator > a.sources[i].Locator {
			return fmt.Errorf("%q comes before %q", a.sources[i-1].Locator, a.sources[i].Locator)
		}
	}
	return nil
}

func (k *kit) scanComplete(ctx context.Context) (string, error) {
	p, route, inv, err := k.listed(ctx, someSessions, someRecords)
	if err != nil {
		return "", err
	}
	scans, err := p.scanAll(ctx, route, inv)
	if err != nil {
		return "", err
	}
	sessions, events, retained := map[string]bool{}, 0, uint64(0)
	for _, t := range scans {
		if err := t.accounted(); err != nil {
			return "", err
		}
		if n := t.end.Counts.GetRejected(); n > 0 {
			return "", fmt.Errorf("%q: %d good records were rejected: %v", t.source.Locator, n, t.rejections)
		}
		retained += t.end.Counts.GetRetained()
		events += len(t.events)
		for _, e := range t.events {
			sessions[t.ref(e.Session)] = true
		}
	}
	if len(sessions) != someSessions {
		return "", fmt.Errorf("events of %d sessions, %d were written", len(sessions), someSessions)
	}
	if want := uint64(someSessions * someRecords); retained < want || uint64(events) < want {
		return "", fmt.Errorf("%d records retained and %d events, %d records were written", retained, events, want)
	}
	return fmt.Sprintf("%d sessions, %d events", len(sessions), events), nil
}

// accounted checks that the numbers of an end add up.
func (t *transcript) accounted() error {
	c := t.end.Counts
	bad := func(format string, args ...any) error {
		return fmt.Errorf("%q: %s", t.source.Locator, fmt.Sprintf(format, args...))
	}
	switch {
	case c.GetComplete() != c.GetRetained()+c.GetRejected()+c.GetIgnored():
		return bad("%d complete is not %d retained + %d rejected + %d ignored", c.GetComplete(), c.GetRetained(), c.GetRejected(), c.GetIgnored())
	case c.GetRetained() > uint64(len(t.events)) && t.begin.GetMode() == historyv1.Mode_MODE_FULL:
		return bad("%d records retained, %d events", c.GetRetained(), len(t.events))
	case len(t.end.Observation) == 0 || len(t.end.Observation) > sdkplugin.MaxObservation:
		return bad("an observation of %d bytes at the end", len(t.end.Observation))
	case len(t.end.ContentDigest) != 32:
		return bad("a content digest of %d bytes", len(t.end.ContentDigest))
	case len(t.end.Frontier) > sdkplugin.MaxFrontier:
		return bad("a frontier of %d bytes", len(t.end.Frontier))
	case t.end.RejectionsTotal < uint64(len(t.rejections)) || len(t.rejections) > sdkplugin.MaxRejections:
		return bad("%d rejections travelled, %d in total", len(t.rejections), t.end.RejectionsTotal)
	}
	return nil
}

func (k *kit) eventsValid(ctx context.Context) (string, error) {
	p, route, inv, err := k.listed(ctx, someSessions, someRecords)
	if err != nil {
		return "", err
	}
	scans, err := p.scanAll(ctx, route, inv)
	if err != nil {
		return "", err
	}
	events := 0
	for _, t := range scans {
		if err := t.valid(); err != nil {
			return "", fmt.Errorf("%q: %w", t.source.Locator, err)
		}
		events += len(t.events)
	}
	return fmt.Sprintf("%d events", events), nil
}

func (k *kit) scanTwice(ctx context.Context) (string, error) {
	p, route, inv, err := k.listed(ctx, someSessions, someRecords)
	if err != nil {
		return "", err
	}
	first, err := p.scanAll(ctx, route, inv)
	if err != nil {
		return "", err
	}
	other, err := k.start()
	if err != nil {
		return "", err
	}
	defer other.stop()
	for _, q := range []*process{p, other} {
		again, err := q.scanAll(ctx, route, inv)
		if err != nil {
			return "", err
		}
		for i := range first {
			if diff := first[i].differs(again[i]); diff != "" {
				return "", fmt.Errorf("%q: %s", first[i].source.Locator, diff)
			}
			if !bytes.Equal(first[i].end.Frontier, again[i].end.Frontier) {
				return "", fmt.Errorf("%q: the frontiers differ", first[i].source.Locator)
			}
		}
	}
	return "", nil
}

// appendEqualsFull lets one session grow twice and compares each time what an
// append adds with what a full scan says.
func (k *kit) appendEqualsFull(ctx context.Context) (string, error) {
	p, route, inv, err := k.listed(ctx, 1, someRecords)
	if err != nil {
		return "", err
	}
	base, err := p.scanAll(ctx, route, inv)
	if err != nil {
		return "", err
	}
	if len(base) != 1 {
		return "", notRun{"one session is more than one source"}
	}
	current, have := base[0], someRecords
	events := current.events
	for range 2 {
		if len(current.end.Frontier) == 0 {
			return "", notRun{"the provider gives no frontier: it always reads the whole source"}
		}
		if err := k.cfg.Fixture.Append(route.Path, 0, have, 5); err != nil {
			return "", fmt.Errorf("the fixture cannot append: %w", err)
		}
		have += 5
		if inv, err = p.inventory(ctx, route); err != nil {
			return "", err
		}
		if len(inv.sources) != 1 {
			return "", fmt.Errorf("%d sources after an append", len(inv.sources))
		}
		grown, err := p.scan(ctx, route, scanJob{source: inv.sources[0], base: current})
		if err != nil {
			return "", err
		}
		if err := grown[0].succeeded(historyv1.Mode_MODE_APPEND); err != nil {
			return "", err
		}
		full, err := p.scanAll(ctx, route, inv)
		if err != nil {
			return "", err
		}
		current = grown[0]
		events = append(events[:len(events):len(events)], current.events...)
		whole := *current
		whole.events = events
		if diff := whole.differs(full[0]); diff != "" {
			return "", fmt.Errorf("appended and full: %s", diff)
		}
	}
	return fmt.Sprintf("%d events", len(events)), nil
}

func (k *kit) observationChanges(ctx context.Context) (string, error) {
	p, route, before, err := k.listed(ctx, 2, someRecords)
	if err != nil {
		return "", err
	}
	if err := k.cfg.Fixture.Append(route.Path, 0, someRecords, 1); err != nil {
		return "", fmt.Errorf("the fixture cannot append: %w", err)
	}
	after, err := p.inventory(ctx, route)
	if err != nil {
		return "", err
	}
	old := map[string][]byte{}
	for _, s := range before.sources {
		old[string(s.Anchor)] = s.Observation
	}
	changed, same := 0, 0
	for _, s := range after.sources {
		if bytes.Equal(old[string(s.Anchor)], s.Observation) {
			same++
		} else {
			changed++
		}
	}
	switch {
	case changed == 0:
		return "", errors.New("a session grew and no observation changed: it would never be read again")
	case same == 0 && len(after.sources) > 1:
		return "", errors.New("the observation of an untouched source changed: it would be read every time")
	}
	scans, err := p.scanAll(ctx, route, after)
	if err != nil {
		return "", err
	}
	for _, t := range scans {
		if !bytes.Equal(t.end.Observation, t.source.Observation) {
			return "", fmt.Errorf("%q: the end gives another observation than the inventory, though nothing changed", t.source.Locator)
		}
	}
	return fmt.Sprintf("%d changed, %d unchanged", changed, same), nil
}
