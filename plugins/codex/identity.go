package codex

import (
	"crypto/sha256"
	"encoding/binary"
	"hash"
	"strconv"
	"time"

	"github.com/agenthistory/ctx/sdkplugin"
)

// Names that are part of ids. They never change.
const (
	sessionNamespace = "codex.session"
	sessionKind      = "codex-session"
	eventNamespace   = "codex.event.v1"
	eventKind        = "codex-event"
	nativeMark       = "provider-native-v1"
	fallbackMark     = "fallback-v1"
	fallbackDomain   = "ctx/codex-nativepath/fallback-event/v1\x00"

	promptNamespace = "codex.prompt-history.session"
	promptKind      = "codex-prompt-history-session"
	promptEventKind = "codex-prompt-history-event"
	promptPosition  = "codex.prompt-history.raw-ordinal"
)

// maxThread is the longest thread id in bytes.
const maxThread = 1024

func anchorOf(thread string) sdkplugin.Anchor {
	return sdkplugin.NativeAnchor(sessionNamespace, sdkplugin.Utf8(thread))
}

// ownRef names the session of a thread inside its own source.
func ownRef(thread string) sdkplugin.SessionRef {
	return sdkplugin.SessionRef{Kind: sessionKind, Key: sdkplugin.NativeID(sessionNamespace, sdkplugin.Utf8(thread))}
}

// refTo names the session of a thread from anywhere.
func refTo(thread string) *sdkplugin.SessionRef {
	ref := ownRef(thread)
	ref.Anchor = anchorOf(thread)
	return &ref
}

// eventKeys makes the native keys of events in memory that it keeps.
type eventKeys struct {
	key    []byte
	stem   int // length of the key without its occurrence
	digest [sha256.Size]byte
	sum    hash.Hash
	room   []byte
}

// native starts the key of an event with an id of Codex's own: member says which, role may be empty.
func (k *eventKeys) native(member, id, eventType, role string) {
	k.key = sdkplugin.AppendComposite(k.key[:0], eventNamespace, 6)
	for _, part := range [...]string{nativeMark, member, id, eventType, role} {
		k.key = sdkplugin.AppendOptional(k.key, part)
	}
	k.stem = len(k.key)
}

// fallback starts the key of an event without an id: a digest of its time, type, role and body.
func (k *eventKeys) fallback(at time.Time, eventType, role string, body []byte) {
	if k.sum == nil {
		k.sum = sha256.New()
	}
	k.sum.Reset()
	seconds, nanos := int64(0), uint32(0)
	if !at.IsZero() {
		seconds, nanos = at.Unix(), uint32(at.Nanosecond())
	}
	text := func(b []byte, s string) []byte {
		return append(binary.LittleEndian.AppendUint64(b, uint64(len(s))), s...)
	}
	b := append(k.room[:0], fallbackDomain...)
	b = binary.LittleEndian.AppendUint64(b, uint64(seconds))
	b = text(binary.LittleEndian.AppendUint32(b, nanos), eventType)
	if role == "" {
		b = append(b, 0)
	} else {
		b = text(append(b, 1), role)
	}
	b = binary.LittleEndian.AppendUint64(b, uint64(len(body)))
	k.room = b
	k.sum.Write(b)
	k.sum.Write(body)
	k.sum.Sum(k.digest[:0])
	k.key = sdkplugin.AppendComposite(k.key[:0], eventNamespace, 3)
	k.key = sdkplugin.AppendUtf8(k.key, fallbackMark)
	k.key = sdkplugin.AppendBytes(k.key, k.digest[:])
	k.stem = len(k.key)
}

// print returns a short hash of the key without its occurrence.
func (k *eventKeys) print() print8 { return printOf(k.key[:k.stem]) }

// number ends the key with its occurrence.
func (k *eventKeys) number(occurrence uint64) sdkplugin.NativeKey {
	k.key = sdkplugin.AppendU64(k.key[:k.stem], occurrence)
	return k.key
}

// uuidTime returns the milliseconds since 1970 in a UUID of version 7; ok is false for everything else.
func uuidTime(id string) (ms uint64, ok bool) {
	if len(id) != uuidLength || !isUUID(id) || id[14] != '7' {
		return 0, false
	}
	ms, err := strconv.ParseUint(id[:8]+id[9:13], 16, 64)
	return ms, err == nil
}
