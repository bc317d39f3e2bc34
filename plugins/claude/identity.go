package claude

import (
	"encoding/binary"
	"errors"
	"strings"

	"github.com/agenthistory/ctx/sdkplugin"
)

// Names that are part of ids. They never change.
const (
	providerID       = "claude"
	sessionKind      = "claude-session"
	eventKind        = "claude-event"
	anchorNamespace  = "claude.session-leaf"
	sessionNamespace = "claude.session"
	eventNamespace   = "claude.event"
	fallbackMark     = "claude.fallback-event.v1"
)

// sessionKey names a session: the root id, and for agents the run of a workflow and the agent. The agent keeps the prefix of
// its file name. Paths are no part of it, so that a moved file keeps its ids.
type sessionKey struct {
	root, run, agent string
}

// main tells the main session of a root from its agents.
func (k sessionKey) main() bool { return k.agent == "" }

func (k sessionKey) typed() sdkplugin.Key {
	dst := make([]byte, 0, 64+len(k.root)+len(k.run)+len(k.agent))
	dst = sdkplugin.AppendList(dst, 3)
	dst = sdkplugin.AppendUtf8(dst, k.root)
	for _, optional := range [...]string{k.run, k.agent} {
		if optional == "" {
			dst = sdkplugin.AppendNull(dst)
			continue
		}
		dst = sdkplugin.AppendUtf8(dst, optional)
	}
	return dst
}

func (k sessionKey) anchor() sdkplugin.Anchor {
	return sdkplugin.NativeAnchor(anchorNamespace, k.typed())
}

// ref names the session from anywhere; own leaves the anchor to the source being read.
func (k sessionKey) ref(own bool) sdkplugin.SessionRef {
	ref := sdkplugin.SessionRef{Kind: sessionKind, Key: sdkplugin.NativeID(sessionNamespace, k.typed())}
	if !own {
		ref.Anchor = k.anchor()
	}
	return ref
}

// display is the id that people see.
func (k sessionKey) display() string {
	switch {
	case k.main():
		return k.root
	case k.run == "":
		return k.root + "/subagents/" + k.agent
	}
	return k.root + "/subagents/workflows/" + k.run + "/" + k.agent
}

// valid tells whether the key fits into the contract's limits with room for its encoding.
func (k sessionKey) valid() bool {
	const overhead = 64
	return k.root != "" && len(k.root)+len(k.run)+len(k.agent)+overhead <= sdkplugin.MaxTypedKey
}

var errForeignAnchor = errors.New("the anchor is none of this provider")

// keyOfAnchor reads the session key back from the anchor that the inventory gave its source.
func keyOfAnchor(anchor sdkplugin.Anchor) (sessionKey, error) {
	prefix := sdkplugin.NativeAnchor(anchorNamespace, sdkplugin.AppendList(nil, 3))
	rest, found := strings.CutPrefix(string(anchor), string(prefix))
	if !found {
		return sessionKey{}, errForeignAnchor
	}
	var parts [3]string
	for i := range parts {
		if strings.HasPrefix(rest, "\x00") {
			rest = rest[1:]
			continue
		}
		const head = 1 + 8
		if len(rest) < head || rest[0] != 2 || binary.BigEndian.Uint64([]byte(rest[1:head])) > uint64(len(rest)-head) {
			return sessionKey{}, errForeignAnchor
		}
		end := head + binary.BigEndian.Uint64([]byte(rest[1:head]))
		parts[i], rest = rest[head:end], rest[end:]
	}
	key := sessionKey{root: parts[0], run: parts[1], agent: parts[2]}
	if rest != "" || !key.valid() {
		return sessionKey{}, errForeignAnchor
	}
	return key, nil
}
