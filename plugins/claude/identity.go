package claude

import (
	"crypto/sha256"
	"encoding/binary"
	"strconv"
	"strings"

	"github.com/agenthistory/ctx/sdkplugin"
	"github.com/agenthistory/ctx/sdkplugin/canonical"
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
	return sdkplugin.AppendOptional(sdkplugin.AppendOptional(dst, k.run), k.agent)
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

// keyOfAnchor reads the session key back from the anchor that the inventory gave its source.
func keyOfAnchor(anchor sdkplugin.Anchor) (sessionKey, error) {
	parts, err := anchor.Native(anchorNamespace, 3)
	key := sessionKey{root: parts[0], run: parts[1], agent: parts[2]}
	if err == nil && !key.valid() {
		err = sdkplugin.Fail(sdkplugin.Internal, "the anchor names no session")
	}
	return key, err
}

// Records without an id of their own get one from their content: the digest of a JSON array that holds what the record says,
// and the number of earlier events of the file with the same digest. The layout below is part of ids and never changes.

// nativeKind is the kind of an event before any reclassification.
type nativeKind uint8

const (
	nativeMessage nativeKind = iota
	nativeSummary
	nativeNotice
	nativeCall
	nativeOutput
)

var nativeKindNames = [...]string{"message", "summary", "notice", "tool_call", "tool_output"}

const (
	fallbackDomain = "ctx-claude-fallback-event-id-v1\x00"
	bodyDomain     = "ctx-claude-nativepath-body-v1\x00"
)

// digester makes content digests in reused memory.
type digester struct {
	json, frame []byte
}

// event returns the digest of the event in the mapper's draft.
func (d *digester) event(m *mapper) [32]byte {
	j := append(d.json[:0], '[')
	j = append(appendOrNull(j, m.rec.parentUUID), ',')
	j = append(strconv.AppendQuote(j, nativeKindNames[m.kind]), ',')
	j = append(appendTextOrNull(j, m.nativeRole), ',')
	j = append(appendOrNull(j, m.rec.timestamp), ',')
	body := m.bodyText()
	j = append(canonical.AppendString(j, body), ',')
	j = d.bodyDigest(j, m.kind, m.nativeRole, body)
	j = append(j, ",null,"...)
	j = appendCall(j, m)
	j = append(j, ',')
	j = appendResult(j, m)
	j = append(j, ']')
	d.json = j

	d.frame = append(d.frame[:0], fallbackDomain...)
	d.frame = binary.BigEndian.AppendUint64(d.frame, uint64(len(j)))
	d.frame = append(d.frame, j...)
	return sha256.Sum256(d.frame)
}

// bodyDigest appends the digest of a body as an array of 32 numbers.
func (d *digester) bodyDigest(j []byte, kind nativeKind, role, body []byte) []byte {
	f := append(d.frame[:0], bodyDomain...)
	f = append(f, byte(kind))
	f = append(binary.BigEndian.AppendUint64(f, uint64(len(role))), role...)
	f = append(binary.BigEndian.AppendUint64(f, uint64(len(body))), body...)
	d.frame = f
	sum := sha256.Sum256(f)
	for i, b := range sum {
		sep := byte(',')
		if i == 0 {
			sep = '['
		}
		j = strconv.AppendUint(append(j, sep), uint64(b), 10)
	}
	return append(j, ']')
}

// appendCall appends the call that the draft holds.
func appendCall(j []byte, m *mapper) []byte {
	if m.kind != nativeCall {
		return append(j, "null"...)
	}
	b := m.block
	server, tool := b.mcp()
	protocol := "null"
	if server != nil {
		protocol = `"mcp"`
	}
	var input canonical.Value
	if !b.lost(argumentsChannel) {
		input = m.stored.Get("input")
	}
	j = appendTextOrNull(append(j, `{"call_id":`...), b.str(idMember, callIDChannel))
	j = appendTextOrNull(append(j, `,"tool_name":`...), b.str(nameMember, toolNameChannel))
	j = appendOrNull(append(j, `,"input":`...), input)
	j = appendStructured(append(j, `,"native_content":`...), m.nativeContent())
	j = append(append(j, `,"protocol":`...), protocol...)
	j = appendTextOrNull(append(j, `,"server":`...), server)
	j = appendTextOrNull(append(j, `,"explicit_tool":`...), tool)
	j = strconv.AppendBool(append(j, `,"call_id_unavailable":`...), b.lost(callIDChannel))
	j = strconv.AppendBool(append(j, `,"tool_name_unavailable":`...), b.lost(toolNameChannel))
	j = strconv.AppendBool(append(j, `,"input_unavailable":`...), b.lost(argumentsChannel))
	j = strconv.AppendBool(append(j, `,"mcp_identity_unavailable":`...), b.lost(mcpChannel))
	return appendBlockEnd(j, m)
}

// appendResult appends the result that the draft holds.
func appendResult(j []byte, m *mapper) []byte {
	if m.kind != nativeOutput {
		return append(j, "null"...)
	}
	j = appendTextOrNull(append(j, `{"call_id":`...), m.callID)
	j = appendStructured(append(j, `,"native_content":`...), m.nativeContent())
	j = strconv.AppendBool(append(j, `,"call_id_unavailable":`...), m.block.lost(callIDChannel))
	j = strconv.AppendBool(append(j, `,"content_unavailable":`...), m.block.lost(contentChannel))
	return appendBlockEnd(j, m)
}

// appendBlockEnd appends what calls and results end with.
func appendBlockEnd(j []byte, m *mapper) []byte {
	j = strconv.AppendBool(append(j, `,"native_content_unavailable":`...), m.block.repeated != 0)
	j = append(j, `,"literal_facts":[`...)
	for i, fact := range m.walk.List[m.walk.Base:m.literalEnd] {
		if i > 0 {
			j = append(j, ',')
		}
		j = append(append(j, `{"kind":"`...), factNames[fact.Kind]...)
		j = append(canonical.AppendString(append(j, `","value":`...), []byte(fact.Value)), '}')
	}
	return append(j, "]}"...)
}

// factNames are the names of the kinds of facts.
var factNames = func() map[sdkplugin.FactKind]string {
	names := map[sdkplugin.FactKind]string{}
	for kind := sdkplugin.FactSessionCWD; kind <= sdkplugin.FactProviderDisposition; kind++ {
		names[kind] = strings.ToLower(strings.TrimPrefix(kind.String(), "FACT_KIND_"))
	}
	return names
}()

func appendOrNull(j []byte, v canonical.Value) []byte {
	if v.IsNull() {
		return append(j, "null"...)
	}
	return canonical.AppendValue(j, v)
}

func appendTextOrNull(j, text []byte) []byte {
	if len(text) == 0 {
		return append(j, "null"...)
	}
	return canonical.AppendString(j, text)
}

func appendStructured(j, structured []byte) []byte {
	if len(structured) == 0 {
		return append(j, "null"...)
	}
	return append(j, structured...)
}
