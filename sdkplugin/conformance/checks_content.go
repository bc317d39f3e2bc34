package conformance

import (
	"bytes"
	"fmt"

	"google.golang.org/protobuf/proto"

	"github.com/agenthistory/ctx/sdkplugin"
	"github.com/agenthistory/ctx/sdkplugin/historyv1"
)

const (
	someSessions = 3
	someRecords  = 20
	noFrontier   = "the provider gives no frontier: it always reads the whole source"
)

func (k *kit) inventoryComplete() string {
	route, inv := k.listed(someSessions, someRecords)
	if !inv.end.Complete || inv.state() != historyv1.RouteEnd_STATE_COMPLETE {
		failf("not complete: state %v, diagnostics %v", inv.state(), inv.end.Diagnostics)
	}
	if n := inv.end.Routes[0].Sources; n != uint64(len(inv.sources)) {
		failf("the end counts %d sources, %d came", n, len(inv.sources))
	}
	for i := range someSessions {
		if k.lines != nil && inv.byLocator(k.lines.File(i)) == nil {
			failf("%q is missing", k.lines.File(i))
		}
	}
	if len(inv.sources) == 0 {
		failf("no sources")
	}
	k.sourcesValid(inv)
	k.listsTheSame(route, inv)
	return fmt.Sprintf("%d sources", len(inv.sources))
}

func (k *kit) sourcesValid(inv *inventory) {
	leaves := map[string]bool{}
	for _, f := range k.described.Formats {
		leaves[f.Leaf] = true
	}
	anchors := map[string]string{}
	for _, s := range inv.sources {
		if err := sdkplugin.Anchor(s.Anchor).Validate(); err != nil {
			failf("%q: anchor: %v", s.Locator, err)
		}
		if other, taken := anchors[string(s.Anchor)]; taken {
			failf("%q and %q have the same anchor", other, s.Locator)
		}
		anchors[string(s.Anchor)] = s.Locator
		switch n := len(s.Observation); {
		case !leaves[s.Format]:
			failf("%q: the format %q is not declared", s.Locator, s.Format)
		case n == 0 || n > sdkplugin.MaxObservation:
			failf("%q: an observation of %d bytes", s.Locator, n)
		case !sdkplugin.ValidLocator(s.Locator):
			failf("the locator %.80q is not relative and clean", s.Locator)
		}
	}
}

// listsTheSame lists the route again, and checks the order.
func (k *kit) listsTheSame(route *historyv1.Route, first *inventory) {
	again := k.live().inventory(k.ctx, route)
	if len(first.sources) != len(again.sources) {
		failf("%d and %d sources", len(first.sources), len(again.sources))
	}
	for i, s := range first.sources {
		if !proto.Equal(s, again.sources[i]) {
			failf("source %d is not the same: %q, %q", i, s.Locator, again.sources[i].Locator)
		}
		if i > 0 && first.sources[i-1].Locator > s.Locator {
			failf("%q comes before %q", first.sources[i-1].Locator, s.Locator)
		}
	}
}

func (k *kit) scanComplete() string {
	route, inv := k.listed(someSessions, someRecords)
	sessions, events, retained := map[string]bool{}, 0, uint64(0)
	for _, t := range k.live().scanAll(k.ctx, route, inv) {
		try(t.accounted())
		if n := t.end.Counts.GetRejected(); n > 0 {
			failf("%q: %d good records were rejected: %v", t.source.Locator, n, t.rejections)
		}
		retained += t.end.Counts.GetRetained()
		events += len(t.events)
		for _, e := range t.events {
			sessions[t.ref(e.Session)] = true
		}
	}
	if len(sessions) != someSessions {
		failf("events of %d sessions, %d were written", len(sessions), someSessions)
	}
	if want := uint64(someSessions * someRecords); retained < want || uint64(events) < want {
		failf("%d records retained and %d events, %d records were written", retained, events, want)
	}
	return fmt.Sprintf("%d sessions, %d events", len(sessions), events)
}

func (k *kit) eventsValid() string {
	route, inv := k.listed(someSessions, someRecords)
	events := 0
	for _, t := range k.live().scanAll(k.ctx, route, inv) {
		try(t.valid())
		events += len(t.events)
	}
	return fmt.Sprintf("%d events", events)
}

func (k *kit) scanTwice() string {
	route, inv := k.listed(someSessions, someRecords)
	first := k.live().scanAll(k.ctx, route, inv)
	other := k.start()
	defer other.stop()
	for _, q := range []*process{k.live(), other} {
		for i, again := range q.scanAll(k.ctx, route, inv) {
			if diff := first[i].differs(again); diff != "" {
				failf("%q: %s", first[i].source.Locator, diff)
			}
			if !bytes.Equal(first[i].end.Frontier, again.end.Frontier) {
				failf("%q: the frontiers differ", first[i].source.Locator)
			}
		}
	}
	return ""
}

// appendEqualsFull lets one session grow twice and compares each time what an append adds with what a full scan says.
func (k *kit) appendEqualsFull() string {
	route, inv := k.listed(1, someRecords)
	base := k.live().scanAll(k.ctx, route, inv)
	if len(base) != 1 {
		skipf("one session is more than one source")
	}
	whole := base[0]
	for have := someRecords; have < someRecords+10; have += 5 {
		if len(whole.end.Frontier) == 0 {
			skipf(noFrontier)
		}
		k.grow(route, have, 5)
		grown := k.appendScan(route, whole)
		try(grown.succeeded(historyv1.Mode_MODE_APPEND))
		whole = grown.after(whole)
		if diff := whole.differs(k.oneScan(route)); diff != "" {
			failf("appended and full: %s", diff)
		}
	}
	return fmt.Sprintf("%d events", len(whole.events))
}

func (k *kit) observationChanges() string {
	route, before := k.listed(2, someRecords)
	k.grow(route, someRecords, 1)
	after := k.live().inventory(k.ctx, route)
	old := map[string][]byte{}
	for _, s := range before.sources {
		old[string(s.Anchor)] = s.Observation
	}
	same := 0
	for _, s := range after.sources {
		if bytes.Equal(old[string(s.Anchor)], s.Observation) {
			same++
		}
	}
	switch {
	case same == len(after.sources):
		failf("a session grew and no observation changed: it would never be read again")
	case same == 0 && len(after.sources) > 1:
		failf("the observation of an untouched source changed: it would be read every time")
	}
	for _, t := range k.live().scanAll(k.ctx, route, after) {
		if !bytes.Equal(t.end.Observation, t.source.Observation) {
			failf("%q: the end gives another observation than the inventory, though nothing changed", t.source.Locator)
		}
	}
	return fmt.Sprintf("%d changed, %d unchanged", len(after.sources)-same, same)
}

// changedFile asks a process that has listed nothing about a session that grew and about one that did not.
func (k *kit) changedFile() string {
	route, before := k.listed(someSessions, someRecords)
	k.grow(route, someRecords, 1)
	after := k.live().inventory(k.ctx, route)
	fresh := k.start()
	defer fresh.stop()
	for i, was := range before.sources {
		now := after.byLocator(was.Locator)
		got := fresh.ask(k.ctx, &historyv1.InventoryRequest{
			Routes: []*historyv1.Route{route}, MaxSources: sdkplugin.MaxSources, Changed: []*historyv1.Source{was},
		})
		switch {
		case !got.end.Limited && len(got.sources) != len(after.sources):
			failf("it does not say that the list is limited, and gives %d of %d sources", len(got.sources), len(after.sources))
		case !got.end.Limited:
			return "it lists everything after each change"
		case len(got.sources) != 1 || !proto.Equal(got.sources[0], now):
			failf("file %d: %v instead of %v", i, got.sources, now)
		case got.end.Complete || got.state() == historyv1.RouteEnd_STATE_COMPLETE:
			failf("a look at one file counts as a complete list")
		}
	}
	return "it looks at that file alone"
}
