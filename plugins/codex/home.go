package codex

import (
	"bytes"
	"context"
	"crypto/sha256"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/agenthistory/ctx/sdkplugin"
	"github.com/agenthistory/ctx/sdkplugin/canonical"
	"github.com/agenthistory/ctx/sdkplugin/jsonl"
	"github.com/agenthistory/ctx/sdkplugin/texts"
)

// homeKey tells homes apart: a configured root of its own name has threads of its own.
type homeKey struct{ label, path string }

// home is what the routes of one home hold.
type home struct {
	listing  sync.Mutex
	rollouts map[string]*candidate // by thread, the copy that is read; nil: not listed yet
	titles   map[string]string     // by thread, as given in the session index
}

// maxTitleFile is how much of a session index is read, in bytes before its end.
const maxTitleFile = 16 << 20

// homeOfSource returns the home of a source. In a process that has made no inventory it knows no rollouts before rolloutsOf.
func (p *provider) homeOfSource(own sdkplugin.Route) *home {
	key := keyOf(own)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.homes[key] == nil {
		if p.homes == nil {
			p.homes = map[homeKey]*home{}
		}
		p.homes[key] = &home{titles: readTitles(key.path, p.work)}
	}
	return p.homes[key]
}

// rolloutsOf returns the rollouts of the home of a source. It lists them where no inventory did: reading on rarely asks for them.
func (p *provider) rolloutsOf(ctx context.Context, h *home, req *sdkplugin.ScanRequest) (map[string]*candidate, error) {
	h.listing.Lock()
	defer h.listing.Unlock()
	if h.rollouts != nil {
		return h.rollouts, nil
	}
	routes := req.Routes
	if len(routes) == 0 {
		routes = []sdkplugin.Route{req.Route}
	}
	if _, err := p.list(ctx, routes); err != nil {
		return nil, err
	}
	h.rollouts = map[string]*candidate{}
	if listed := p.homeOfSource(req.Route); listed != h && listed.rollouts != nil {
		h.rollouts = listed.rollouts
	}
	return h.rollouts, nil
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
	reader.Reset(f)
	if size := int64(f.Observation().Size); size > maxTitleFile {
		reader.ResetStream(io.NewSectionReader(f, size-maxTitleFile, maxTitleFile))
		reader.Next() // half a line
	}
	reader.Undigested()
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

// begin returns at most limit bytes of the beginning of a rollout; what cannot be read is missing.
func (c *candidate) begin(ctx context.Context, limit int, work *jsonl.Work) []byte {
	content, err := openContent(ctx, c.base, c.locator, work, reading{beginning: true})
	if err != nil {
		return nil
	}
	defer content.Close()
	source, err := content.stream()
	if err != nil {
		return nil
	}
	buf := make([]byte, limit)
	n, _ := io.ReadFull(source, buf)
	return buf[:n]
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
		for _, after, found := bytes.Cut(text, key); found; _, after, found = bytes.Cut(after, key) {
			value := bytes.TrimLeft(after, " \t:")
			if len(value) <= uuidLength || value[0] != '"' {
				continue
			}
			if id := string(value[1 : uuidLength+1]); isUUID(id) && !slices.Contains(p.parents, id) {
				p.parents = append(p.parents, id)
			}
		}
	}
	return p
}

// suffixLength is the length of the part of a rollout's observation that does not come from its own file: eight bytes that change
// with its title in the session index, and eight that change with the beginnings of its parents.
const suffixLength = 16

// suffix returns that part.
func (h *home) suffix(c *candidate, beginning func(*candidate) [sha256.Size]byte) []byte {
	var parents []byte
	for _, thread := range c.probe.parents {
		if parent := h.rollouts[thread]; parent != nil && parent != c {
			digest := beginning(parent)
			parents = append(append(parents, thread...), digest[:]...)
		}
	}
	suffix := make([]byte, suffixLength)
	for i, text := range [...][]byte{[]byte(h.titles[c.thread]), parents} {
		if len(text) > 0 {
			sum := sha256.Sum256(text)
			copy(suffix[i*suffixLength/2:(i+1)*suffixLength/2], sum[:])
		}
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

// parentsOf returns the part of it that tells of the parents.
func parentsOf(suffix []byte) []byte { return suffix[min(len(suffix), suffixLength/2):] }

// path is the file of a candidate.
func (c *candidate) path() string { return filepath.Join(c.base, filepath.FromSlash(c.locator)) }

// Names of the layout of a home.
const (
	sessionsDir  = "sessions"
	archivedDir  = "archived_sessions"
	promptFile   = "history.jsonl"
	titleFile    = "session_index.jsonl"
	rawSuffix    = ".jsonl"
	packedSuffix = ".jsonl.zst"

	uuidLength = 36
)

// packed tells whether a file is compressed.
func packed(locator string) bool { return strings.HasSuffix(locator, packedSuffix) }

// rollout tells whether a file of a tree may be one. The logs of a home are not, when a home itself is the tree.
func rollout(locator string) bool {
	return (strings.HasSuffix(locator, rawSuffix) || packed(locator)) && locator != promptFile && locator != titleFile
}

// stemOf returns the name of a file without its suffix.
func stemOf(name string) string {
	name = path.Base(filepath.ToSlash(name))
	if stem, ok := strings.CutSuffix(name, packedSuffix); ok {
		return stem
	}
	return strings.TrimSuffix(name, rawSuffix)
}

// tailUUID returns the UUID that a stem ends with, "" if there is none.
func tailUUID(stem string) string {
	if len(stem) < uuidLength || !isUUID(stem[len(stem)-uuidLength:]) {
		return ""
	}
	return stem[len(stem)-uuidLength:]
}

// expectedOwner returns the thread that a stem names. A stem that ends with two UUIDs names a thread whose history was cut back:
// its owner stands in the file alone.
func expectedOwner(stem string) string {
	tail := tailUUID(stem)
	if tail == "" {
		return ""
	}
	if before, joined := strings.CutSuffix(stem[:len(stem)-uuidLength], "_"); joined && tailUUID(before) != "" {
		return ""
	}
	return tail
}

// isUUID tells whether all characters of an id are hexadecimal digits or '-', as those of file names are.
func isUUID(id string) bool { return id != "" && strings.Trim(id, "0123456789abcdefABCDEF-") == "" }

// homeOf returns the home that a route lies in: above the trees, beside the prompt log; a file named alone lies in the home of its
// tree, or in its directory.
func homeOf(route string, directory bool) string {
	if directory {
		if base := filepath.Base(route); base == sessionsDir || base == archivedDir {
			return filepath.Dir(route)
		}
		return route
	}
	for dir := filepath.Dir(route); ; dir = filepath.Dir(dir) {
		if base := filepath.Base(dir); base == sessionsDir || base == archivedDir {
			return filepath.Dir(dir)
		}
		if dir == filepath.Dir(dir) {
			return filepath.Dir(route)
		}
	}
}
