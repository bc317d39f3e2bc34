package cursor

import (
	"bytes"
	"context"
	"crypto/sha256"
	"regexp"
	"slices"

	"github.com/agenthistory/ctx/sdkplugin"
	"github.com/agenthistory/ctx/sdkplugin/canonical"
	"github.com/agenthistory/ctx/sdkplugin/jsonl"
	"github.com/agenthistory/ctx/sdkplugin/texts"
)

// sectionKind is what a part of a plain-text transcript is.
type sectionKind uint8

const (
	saidSection sectionKind = iota
	thinkingSection
	callSection
	resultSection
)

var (
	sectionHeads = []struct {
		head []byte
		kind sectionKind
	}{{[]byte("[Thinking]"), thinkingSection}, {[]byte("[Tool call]"), callSection}, {[]byte("[Tool result]"), resultSection}}
	argument = regexp.MustCompile(`^([A-Za-z_][A-Za-z0-9_.-]*)=(.*)$`)
)

// section is one part: what somebody said, or the head of a tool section with its body.
type section struct {
	kind    sectionKind
	role    string
	ordinal uint64 // of its first line
	name    string // of the tool
	lines   [][]byte
}

// sections splits a plain-text transcript.
func sections(text []byte, each func(*section) error) error {
	cur := section{}
	flush := func(next section) error {
		done := cur
		cur = next
		if done.role == "" {
			return nil
		}
		return each(&done)
	}
	ordinal := uint64(0)
	for line := range bytes.Lines(text) {
		line = bytes.TrimRight(line, "\r\n")
		at := ordinal
		ordinal++
		next := section{role: cur.role, ordinal: at}
		switch string(bytes.TrimSpace(line)) {
		case "user:":
			next.role = sdkplugin.RoleUser
		case "assistant:", "A:":
			next.role = sdkplugin.RoleAssistant
		default:
			head, isHead := headOf(line)
			indented := len(line) == 0 || line[0] == ' ' || line[0] == '\t'
			switch {
			case isHead && cur.role == sdkplugin.RoleAssistant:
				next.kind, next.name = head.kind, head.name
			case cur.kind == saidSection || indented:
				cur.lines = append(cur.lines, line)
				continue
			default: // prose behind a tool section
				next.lines = [][]byte{line}
			}
		}
		if err := flush(next); err != nil {
			return err
		}
	}
	return flush(section{})
}

func headOf(line []byte) (s section, ok bool) {
	for _, h := range sectionHeads {
		if rest, found := bytes.CutPrefix(line, h.head); found {
			return section{kind: h.kind, name: string(bytes.TrimSpace(rest))}, true
		}
	}
	return s, false
}

// body returns the lines of a section without the indentation of two spaces and blank lines at the ends.
func (s *section) body() []byte {
	var b []byte
	for _, line := range s.lines {
		if s.kind != saidSection {
			line = bytes.TrimPrefix(line, []byte("  "))
		}
		b = append(append(b, line...), '\n')
	}
	if len(bytes.TrimSpace(b)) == 0 {
		return nil
	}
	return bytes.Trim(b, "\n")
}

// scanPlain reads a plain-text transcript.
func (s *scanner) scanPlain(ctx context.Context, req *sdkplugin.ScanRequest, out sink) error {
	f, err := jsonl.Open(req.Route.Path, req.Source.Locator, s.lib.Work)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := out.Begin(sdkplugin.ModeFull); err != nil {
		return err
	}
	s.begin(s.found.id, out)
	ending := sdkplugin.Ending{CertifiedBytes: f.Observation().Size}
	if ending.CertifiedBytes > maxPlain {
		ending.CertifiedBytes, ending.ContentDigest = 0, sha256.Sum256(nil)
		if err := out.Reject(sdkplugin.Rejection{Detail: "a transcript over 16 MiB"}); err != nil {
			return err
		}
	} else {
		text, err := whole(f, maxPlain)
		if err != nil {
			return err
		}
		ending.ContentDigest = sha256.Sum256(text)
		if err := s.plain(ctx, text); err != nil {
			return err
		}
	}
	now := *s.found
	if now.seen, err = f.Recheck(); err != nil {
		return err
	}
	ending.Observation = s.lib.observation(&now)
	return s.end(ctx, &s.lines.emitter, out, s.Retained > 0, ending)
}

func (s *scanner) plain(ctx context.Context, text []byte) error {
	text = bytes.ToValidUTF8(bytes.TrimPrefix(text, []byte("\xef\xbb\xbf")), []byte("\uFFFD"))
	return sections(text, func(part *section) error {
		m := &s.lines
		m.rec, m.at = record{}, sdkplugin.Instant{}
		m.ordinal, m.part, m.given = part.ordinal, 0, 0
		err := m.section(part)
		if m.given > 0 {
			s.Retained++
		} else {
			s.Ignored++
		}
		if err == nil && ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return err
	})
}

// section maps one part, tool sections by way of the block that newer versions write for them.
func (m *lines) section(part *section) error {
	body := part.body()
	switch part.kind {
	case saidSection:
		if texts.Blank(body) {
			return nil
		}
		if part.role == sdkplugin.RoleUser {
			m.at = zonedTime(body)
		}
		if err := m.doc.Parse(canonical.AppendString(nil, body)); err != nil {
			return err // a defect of this function
		}
		return m.spoken(part.role, m.doc.Root())
	case thinkingSection:
		return nil
	}
	name := canonical.AppendString(nil, []byte(part.name))
	j := []byte(`{"type":"tool_use","name":`)
	content := `,"input":`
	if part.kind == resultSection {
		j, content = []byte(`{"type":"tool_result","name":`), `,"content":`
	}
	j = append(append(j, name...), content...)
	if part.kind == callSection {
		j = appendArguments(j, body)
	} else {
		j = canonical.AppendString(j, body)
	}
	if err := m.doc.Parse(append(j, '}')); err != nil {
		return err // a defect of this function
	}
	m.block.read(m.doc.Root())
	if part.kind == callSection {
		return m.call()
	}
	return m.output(m.doc.Root())
}

// appendArguments writes the body of a call as JSON: JSON as it is, lines of `key=value` as an object, other text as a string. A
// line that names no key goes on with the value before it.
func appendArguments(j, body []byte) []byte {
	if plain, err := canonical.Canonical(body); err == nil {
		return append(j, plain...)
	}
	type pair struct{ key, value []byte }
	var pairs []pair
	for line := range bytes.Lines(body) {
		line = bytes.TrimRight(line, "\n")
		if m := argument.FindSubmatch(line); m != nil && !slices.ContainsFunc(pairs, func(p pair) bool { return string(p.key) == string(m[1]) }) {
			pairs = append(pairs, pair{m[1], slices.Clone(m[2])})
		} else if len(pairs) > 0 {
			last := &pairs[len(pairs)-1]
			last.value = append(append(last.value, '\n'), line...)
		} else {
			return canonical.AppendString(j, body)
		}
	}
	j = append(j, '{')
	for _, p := range pairs {
		j = append(append(canonical.AppendString(j, p.key), ':'), canonical.AppendString(nil, p.value)...)
		j = append(j, ',')
	}
	return closed(j, '}')
}

var userRole = []byte(`"` + sdkplugin.RoleUser + `"`)

// prompts counts what the user said in a transcript, and stops when there is enough. Lines that cannot be of a user are not
// parsed.
func (s *scanner) prompts(ctx context.Context, l *library, f *found, enough int) (int, error) {
	file, err := jsonl.Open(l.routes[f.route].Path, f.locator, l.Work)
	if err != nil {
		return 0, err
	}
	defer file.Close()
	s.begin(f.id, nil)
	if f.plain {
		text, err := whole(file, maxPlain)
		if err == nil {
			err = s.plain(ctx, text)
		}
		return s.lines.prompts, err
	}
	s.Reader.Reset(file)
	s.Reader.Undigested()
	for s.lines.prompts < enough && s.Reader.Next() {
		if ctx.Err() != nil {
			return 0, context.Cause(ctx)
		}
		if line := s.Reader.Line(); bytes.Contains(line.Bytes, userRole) {
			if err := s.Line(line, &s.lines, nil); err != nil {
				return 0, err
			}
		}
	}
	return s.lines.prompts, s.Reader.Err()
}
