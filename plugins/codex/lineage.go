package codex

import (
	"bytes"
	"context"

	"github.com/agenthistory/ctx/sdkplugin"
	"github.com/agenthistory/ctx/sdkplugin/canonical"
	"github.com/agenthistory/ctx/sdkplugin/jsonl"
	"github.com/agenthistory/ctx/sdkplugin/transcript"
)

// ancestry walks through the parent's rollout beside that of a child: one event of the parent for every event of the child, as
// long as they are equal.
type ancestry struct {
	ctx     context.Context
	content *content
	scanner transcript.Scanner
	mapper  mapper
	queue   []inherited // events of the parent's line
	next    int
	err     error
}

// inherited is an event of the parent: the type of its line, its canonical payload and its key.
type inherited struct {
	envelope     string
	payload, key []byte
}

// openAncestry opens the parent's rollout beside that of a child.
func openAncestry(ctx context.Context, parent *candidate, child *content, work *jsonl.Work) (*ancestry, error) {
	c, err := openContent(ctx, parent.base, parent.locator, work, reading{beside: child})
	if err != nil {
		return nil, err
	}
	a := &ancestry{ctx: ctx, content: c}
	a.scanner.Nested = true
	state, err := begun(ctx, c, &a.scanner, parent.thread, nameOf(parent.base, parent.locator), maxContent)
	if err != nil {
		c.Close()
		return nil, err
	}
	a.mapper.begin(state, nil)
	a.mapper.given = func(envelope string, payload canonical.Value, key sdkplugin.NativeKey) {
		a.queue = append(a.queue, inherited{envelope, canonical.AppendValue(nil, payload), bytes.Clone(key)})
	}
	return a, nil
}

// take returns the next event of the parent, nil behind the last one. A rollout that turns out to be malformed proves nothing more.
func (a *ancestry) take() *inherited {
	for a.next == len(a.queue) {
		a.queue, a.next = a.queue[:0], 0
		err := a.ctx.Err()
		more := a.scanner.Reader.Next()
		if more && err == nil {
			err = a.scanner.Line(a.scanner.Reader.Line(), &a.mapper, nil)
		} else if err == nil {
			err = a.scanner.Reader.Err()
		}
		if classOf(err) != string(sdkplugin.MalformedSource) {
			a.err = err
		}
		if s := a.mapper.state; err != nil || !more || len(a.queue) > 0 && !s.Others.belongTo(s.Owner.ID) {
			return nil
		}
	}
	a.next++
	return &a.queue[a.next-1]
}

func (a *ancestry) close() {
	if a != nil {
		a.content.Close()
	}
}

// claimCopy names the event that the draft is a copy of. While the inherited prefix lasts and the parent's rollout is there, it is
// the parent's event at the same place; without that rollout a result is known by its call id.
func (m *mapper) claimCopy(nativeType string) {
	o := &m.state.Owner
	if o.Parent == "" || m.Event.Sequence < o.Line {
		return
	}
	if m.state.Compared {
		if !m.state.Inherited {
			return
		}
		from := m.inherits.take()
		m.ancestor = canonical.AppendValue(m.ancestor[:0], m.payload)
		if from == nil || from.envelope != string(m.kind) || !bytes.Equal(from.payload, m.ancestor) {
			m.state.Inherited = false
			return
		}
		m.copyOf(sdkplugin.NativeKey(from.key), sdkplugin.ProofCertifiedOrderedPrefix)
		return
	}
	m.state.Inherited = false
	result := nativeType == sdkplugin.ToolOutput || nativeType == sdkplugin.CommandOutput
	related := o.Relationship == sdkplugin.RelationshipForked || o.Relationship == sdkplugin.RelationshipResumedFrom
	if result && related && !m.state.LocalTurn && len(m.Event.CallID) > 0 {
		m.copyOf(m.Event.Key, sdkplugin.ProofNativeCallResult)
	}
}

func (m *mapper) copyOf(key sdkplugin.NativeKey, proof sdkplugin.Proof) {
	m.Claim = sdkplugin.CopyClaim{Session: *refTo(m.state.Owner.Parent), EventKind: eventKind, EventKey: key, Proof: proof}
	m.Event.Copy = &m.Claim
}
