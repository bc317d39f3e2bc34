package codex

import (
	"bytes"
	"context"
	"crypto/sha256"
	"os"
	"path/filepath"

	"github.com/agenthistory/ctx/sdkplugin"
	"github.com/agenthistory/ctx/sdkplugin/canonical"
	"github.com/agenthistory/ctx/sdkplugin/jsonl"
	"github.com/agenthistory/ctx/sdkplugin/texts"
)

// homeKey tells homes apart: a configured root of its own name has threads of its own.
type homeKey struct{ label, path string }

// home is what the routes of one home hold.
type home struct {
	rollouts map[string]*candidate // by thread, the copy that is read
	titles   map[string]string     // by thread, as given in the session index
}

// maxTitleFile is how much of a session index is read, in bytes from its end.
const maxTitleFile = 16 << 20

// homeOfSource returns the home of a source, from the last inventory or, in a process that made none, from a look of its own.
func (p *provider) homeOfSource(ctx context.Context, routes []sdkplugin.Route, own sdkplugin.Route) (*home, error) {
	key := keyOf(own)
	p.mu.Lock()
	known := p.homes[key]
	p.mu.Unlock()
	if known != nil {
		return known, nil
	}
	if _, err := p.list(ctx, routes); err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if known = p.homes[key]; known == nil {
		known = &home{}
	}
	return known, nil
}

func keyOf(route sdkplugin.Route) homeKey {
	info, err := os.Stat(route.Path)
	return homeKey{route.Label, homeOf(route.Path, err == nil && info.IsDir())}
}

// readTitles reads the session index of a home: the newest name of each thread. A missing or unreadable index gives no titles.
func readTitles(dir string, work *jsonl.Work) map[string]string {
	titles := map[string]string{}
	f, err := jsonl.Open(dir, titleFile, work)
	if err != nil {
		return titles
	}
	defer f.Close()
	var reader jsonl.Reader
	var doc canonical.Doc
	if f.Observation().Size > maxTitleFile {
		return titles
	}
	reader.Reset(f)
	for reader.Next() {
		line := reader.Line()
		if line.Kind != jsonl.Record || doc.Parse(line.Bytes) != nil {
			continue
		}
		id, name := doc.Root().Get("id").Str(), texts.OneLine(doc.Root().Get("thread_name").Str())
		if len(id) > 0 && len(id) <= maxThread && name != "" {
			titles[string(id)] = name
		}
	}
	return titles
}

// Parts of the beginning of a rollout that an inventory looks at, in bytes.
const (
	probeBytes  = 4 << 10
	bareBytes   = 1 << 20
	parentBytes = 64 << 10
)

// probe is what an inventory learns from the first bytes of a rollout: whether it has a bare header, and the threads it names as
// parents. Only the host decides by observations whether a child is read again, so they must tell when a parent came or changed.
type probe struct {
	bare    bool
	parents []string
}

var parentKeys = [][]byte{[]byte(`"forked_from_id"`), []byte(`"parent_thread_id"`), []byte(`"thread_id"`)}

// begin returns at most limit bytes of the beginning of a rollout.
func begin(route, locator string, limit int, work *jsonl.Work) ([]byte, error) {
	c, err := openContent(route, locator, work)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	source, err := c.stream()
	if err != nil {
		return nil, err
	}
	buf := make([]byte, limit)
	n := 0
	for n < limit {
		more, err := source.Read(buf[n:])
		n += more
		if err != nil {
			break
		}
	}
	return buf[:n], nil
}

// look probes the beginning of a rollout. When its first line is longer and may be a bare header, more reads further.
func look(text []byte, more func() []byte) (p probe) {
	line, _, complete := bytes.Cut(text, []byte("\n"))
	if !bytes.Contains(line, []byte(`"type"`)) && len(line) > 0 {
		if !complete {
			line, _, _ = bytes.Cut(more(), []byte("\n"))
		}
		var doc canonical.Doc
		if doc.Parse(bytes.TrimPrefix(line, []byte("\xef\xbb\xbf"))) == nil {
			_, p.bare = bareHeader(doc.Root())
		}
	}
	for _, key := range parentKeys {
		for _, after, found := bytes.Cut(line, key); found; _, after, found = bytes.Cut(after, key) {
			value := bytes.TrimLeft(after, " \t:")
			if len(value) > uuidLength+1 && value[0] == '"' && isUUID(string(value[1:uuidLength+1])) {
				p.parents = append(p.parents, string(value[1:uuidLength+1]))
			}
		}
	}
	return p
}

// suffixLength is the length of the part of a rollout's observation that does not come from its own file: eight bytes that change
// with its title in the session index, and eight that change with the beginnings of its parents.
const suffixLength = 16

// suffix returns that part; nil when there is neither title nor parent.
func (h *home) suffix(c *candidate, beginning func(*candidate) [sha256.Size]byte) []byte {
	title := sha256.Sum256([]byte(h.titles[c.thread]))
	parents := sha256.New()
	named := false
	for _, thread := range c.probe.parents {
		if parent := h.rollouts[thread]; parent != nil && parent != c {
			digest := beginning(parent)
			parents.Write([]byte("\x00" + thread))
			parents.Write(digest[:])
			named = true
		}
	}
	if !named && h.titles[c.thread] == "" {
		return nil
	}
	suffix := make([]byte, suffixLength)
	copy(suffix, title[:suffixLength/2])
	if named {
		copy(suffix[suffixLength/2:], parents.Sum(nil))
	}
	return suffix
}

// suffixOf returns that part of an observation.
func suffixOf(observation []byte) []byte {
	own := len(jsonl.Observation{}.Token())
	if len(observation) != own+suffixLength {
		return nil
	}
	return observation[own:]
}

// parentsOf returns the part of an observation that tells of the parents, nil when there are none.
func parentsOf(suffix []byte) []byte {
	if len(suffix) != suffixLength || len(bytes.Trim(suffix[suffixLength/2:], "\x00")) == 0 {
		return nil
	}
	return suffix[suffixLength/2:]
}

// path is the file of a candidate.
func (c *candidate) path(routes []sdkplugin.Route) string {
	return filepath.Join(routes[c.route].Path, filepath.FromSlash(c.locator))
}
