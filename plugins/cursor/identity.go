package cursor

import (
	"bytes"
	"crypto/sha256"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"

	"github.com/agenthistory/ctx/sdkplugin"
	"github.com/agenthistory/ctx/sdkplugin/canonical"
)

// Names that are part of ids. They never change.
const (
	providerID       = "cursor"
	sessionKind      = "cursor-session"
	eventKind        = "cursor-event"
	sessionNamespace = "cursor.session"
	lineNamespace    = "cursor.logical-event-v3"
	contentMark      = "cursor-logical-event-v2"
	blobNamespace    = "cursor.store-blob.v1"
	bubbleNamespace  = "cursor.ide-bubble.v1"
	subagentInfix    = "/" + subagentsDir + "/"
)

// sessionID is the name of a session: what its file or directory is called, for a subagent behind its parent's.
type sessionID string

// parent returns the session that started a subagent, "" for any other session.
func (id sessionID) parent() sessionID {
	parent, _, found := strings.Cut(string(id), subagentInfix)
	if !found {
		return ""
	}
	return sessionID(parent)
}

// valid tells whether the id can be part of a key and of a path.
func (id sessionID) valid() bool {
	const overhead = 64
	return strings.TrimSpace(string(id)) != "" && len(id)+overhead <= sdkplugin.MaxTypedKey && sdkplugin.Utf8(string(id)).Validate() == nil
}

func (id sessionID) anchor() sdkplugin.Anchor {
	return sdkplugin.NativeAnchor(sessionNamespace, sdkplugin.Utf8(string(id)))
}

// ref names the session from anywhere; own leaves the anchor to the source being read.
func (id sessionID) ref(own bool) sdkplugin.SessionRef {
	ref := sdkplugin.SessionRef{Kind: sessionKind, Key: sdkplugin.NativeID(sessionNamespace, sdkplugin.Utf8(string(id)))}
	if !own {
		ref.Anchor = id.anchor()
	}
	return ref
}

// declaration describes the session to the host. parent is the one that started it, "" for a session of its own, root the one
// that all began with.
func (id sessionID) declaration(parent, root sessionID) sdkplugin.Session {
	s := sdkplugin.Session{
		Ref: id.ref(true), ProviderSessionID: string(id), Scope: sdkplugin.ScopePrimary, Relationship: sdkplugin.RelationshipRoot,
	}
	if parent != "" {
		up, top := parent.ref(false), root.ref(false)
		s.Parent, s.Root, s.Scope, s.Relationship = &up, &top, sdkplugin.ScopeSubagent, sdkplugin.RelationshipDelegated
	}
	return s
}

// content is what an event of a transcript says, as far as its id depends on it.
type content struct {
	typ, role string
	at        sdkplugin.Instant
	tag       string          // text, tool_call or tool_output
	value     canonical.Value // a text or a block
	text      []byte          // in place of a value
	doc       *canonical.Doc  // of value
	stored    []byte          // canonical form of a block
}

// contentDigest hashes RFC 8785 JSON.
type contentDigest struct{ json []byte }

func (d *contentDigest) of(c *content) [sha256.Size]byte {
	j := append(d.json[:0], `["`+contentMark+`","`...)
	j = append(append(append(j, c.typ...), `","`...), c.role...)
	j = append(j, `",`...)
	if c.at.Known {
		j = strconv.AppendInt(j, c.at.Millis, 10)
	} else {
		j = append(j, "null"...)
	}
	j = append(append(append(j, `,"`...), c.tag...), `",`...)
	switch {
	case !c.value.Exists():
		j = canonical.AppendString(j, c.text)
	case c.value.IsString():
		j = canonical.AppendValue(j, c.value)
	case plainForm(c.doc, c.value):
		j = append(j, c.stored...)
	default:
		j = appendJCS(j, c.value)
	}
	d.json = append(j, ']')
	return sha256.Sum256(d.json)
}

// plainForm tells whether the canonical form of a value is RFC 8785 as well: it has no number that a 64-bit float writes in
// another way, and no keys that UTF-16 sorts in another way.
func plainForm(doc *canonical.Doc, v canonical.Value) bool {
	const exactDigits = 15
	first, nodes, src := v.Index(), doc.Nodes(), doc.Source()
	for _, n := range nodes[first:nodes[first].Next] {
		if n.Kind == canonical.Number && (n.End-n.Start > exactDigits || !integer(src[n.Start:n.End])) {
			return false
		}
		for _, b := range src[n.KeyStart:n.KeyEnd] {
			if b >= 0xee || b == '\\' {
				return false
			}
		}
	}
	return true
}

func integer(literal []byte) bool {
	return string(literal) != "-0" && !slices.ContainsFunc(literal, func(b byte) bool { return b == '.' || b == 'e' || b == 'E' })
}

// appendJCS appends a value as RFC 8785 has it; the last of members of one name counts.
func appendJCS(dst []byte, v canonical.Value) []byte {
	switch v.Kind() {
	case canonical.Number:
		return appendFloat(dst, v)
	case canonical.Array:
		dst = append(dst, '[')
		for element := range v.Elems {
			dst = append(appendJCS(dst, element), ',')
		}
		return closed(dst, ']')
	case canonical.Object:
		type member struct {
			key   []byte
			order []uint16
			value canonical.Value
		}
		var members []member
		at := map[string]int{}
		for key, m := range v.Each {
			if i, repeated := at[string(key)]; repeated {
				members[i].value = m
				continue
			}
			at[string(key)] = len(members)
			members = append(members, member{slices.Clone(key), utf16.Encode([]rune(string(key))), m})
		}
		slices.SortFunc(members, func(a, b member) int { return slices.Compare(a.order, b.order) })
		dst = append(dst, '{')
		for _, m := range members {
			dst = append(appendJCS(append(canonical.AppendString(dst, m.key), ':'), m.value), ',')
		}
		return closed(dst, '}')
	}
	return canonical.AppendValue(dst, v)
}

// closed ends a list whose items have a comma behind them.
func closed(dst []byte, bracket byte) []byte {
	return append(bytes.TrimSuffix(dst, []byte(",")), bracket)
}

// appendFloat writes a number as JavaScript does. What no 64-bit float can hold keeps its digits.
func appendFloat(dst []byte, v canonical.Value) []byte {
	f, err := strconv.ParseFloat(string(v.Raw()), 64)
	abs := math.Abs(f)
	switch {
	case err != nil:
		return append(dst, v.Raw()...)
	case f == 0:
		return append(dst, '0')
	case abs >= 1e-6 && abs < 1e21:
		return strconv.AppendFloat(dst, f, 'f', -1, 64)
	}
	mantissa, exponent, _ := strings.Cut(strconv.FormatFloat(f, 'e', -1, 64), "e")
	return append(append(append(append(dst, mantissa...), 'e'), exponent[0]), strings.TrimLeft(exponent[1:], "0")...)
}
