package pluginhost

import (
	"github.com/agenthistory/ctx/sdkplugin"
	"github.com/agenthistory/ctx/sdkplugin/historyv1"
)

const (
	sourcesInMessage = 512
	longestAnchor    = sdkplugin.MaxTypedKey + 1024
)

// inventoryCheck follows an inventory: sources, then exactly one end that agrees with them.
type inventoryCheck struct {
	narrow bool // only changed files were asked for
	most   uint64
	total  uint64
	counts []uint64 // by route
	end    *historyv1.InventoryEnd
}

func newInventoryCheck(req *historyv1.InventoryRequest) *inventoryCheck {
	most := uint64(req.GetMaxSources())
	if most == 0 || most > sdkplugin.MaxSources {
		most = sdkplugin.MaxSources
	}
	return &inventoryCheck{narrow: len(req.GetChanged()) > 0, most: most, counts: make([]uint64, len(req.GetRoutes()))}
}

func (c *inventoryCheck) message(m *historyv1.InventoryMessage) error {
	if c.end != nil {
		return brokenf("a message behind the end of an inventory")
	}
	switch m := m.GetMessage().(type) {
	case *historyv1.InventoryMessage_Sources:
		sources := m.Sources.GetSources()
		if len(sources) == 0 || len(sources) > sourcesInMessage {
			return brokenf("%d sources in one message", len(sources))
		}
		if c.total += uint64(len(sources)); c.total > c.most {
			return brokenf("more than %d sources", c.most)
		}
		for _, s := range sources {
			if err := c.source(s); err != nil {
				return err
			}
		}
		return nil
	case *historyv1.InventoryMessage_End:
		c.end = m.End
		return c.checkEnd(m.End)
	}
	return brokenf("a message without content in an inventory")
}

func (c *inventoryCheck) source(s *historyv1.Source) error {
	switch {
	case int(s.GetRoute()) >= len(c.counts):
		return brokenf("a source of route %d of %d", s.GetRoute(), len(c.counts))
	case len(s.GetAnchor()) == 0 || len(s.GetAnchor()) > longestAnchor:
		return brokenf("an anchor of %d bytes", len(s.GetAnchor()))
	case s.GetFormat() == "" || len(s.GetFormat()) > sdkplugin.MaxLabel:
		return brokenf("a source format of %d bytes", len(s.GetFormat()))
	case !sdkplugin.ValidLocator(s.GetLocator()):
		return brokenf("a locator that leaves its route")
	case len(s.GetObservation()) == 0 || len(s.GetObservation()) > sdkplugin.MaxObservation:
		return brokenf("an observation of %d bytes", len(s.GetObservation()))
	case len(s.GetProviderSessionId()) > sdkplugin.MaxString:
		return brokenf("a session id of %d bytes", len(s.GetProviderSessionId()))
	}
	c.counts[s.GetRoute()]++
	return nil
}

func (c *inventoryCheck) checkEnd(end *historyv1.InventoryEnd) error {
	if len(end.GetRoutes()) != len(c.counts) {
		return brokenf("an inventory of %d routes that reports %d", len(c.counts), len(end.GetRoutes()))
	}
	if end.GetLimited() && (!c.narrow || end.GetComplete()) {
		return brokenf("an inventory that was limited without being asked to, or is limited and complete")
	}
	complete := true
	for i, r := range end.GetRoutes() {
		state := r.GetState()
		if state < historyv1.RouteEnd_STATE_COMPLETE || state > historyv1.RouteEnd_STATE_UNREADABLE {
			return brokenf("a route in state %d", state)
		}
		complete = complete && state == historyv1.RouteEnd_STATE_COMPLETE
		missing := state == historyv1.RouteEnd_STATE_MISSING || state == historyv1.RouteEnd_STATE_UNREADABLE
		if r.GetSources() != c.counts[i] || missing && c.counts[i] > 0 {
			return brokenf("a route that reports %d sources and gave %d", r.GetSources(), c.counts[i])
		}
	}
	if end.GetComplete() && !complete {
		return brokenf("a complete inventory with incomplete routes")
	}
	return checkDiagnostics(end.GetDiagnostics())
}

func checkDiagnostics(diagnostics []*historyv1.Diagnostic) error {
	if len(diagnostics) > sdkplugin.MaxDiagnostics {
		return brokenf("%d diagnostics", len(diagnostics))
	}
	for _, d := range diagnostics {
		if len(d.GetMessage()) > sdkplugin.MaxMessage || len(d.GetCode()) > sdkplugin.MaxLabel {
			return brokenf("a diagnostic beyond its bounds")
		}
		if !sdkplugin.ValidLocator(d.GetLocator()) {
			return brokenf("a diagnostic with a locator that leaves its route")
		}
		if err := checkTexts(d.ProtoReflect()); err != nil {
			return err
		}
	}
	return nil
}
