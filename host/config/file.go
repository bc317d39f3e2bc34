package config

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"unicode/utf8"

	"github.com/pelletier/go-toml/v2"

	"github.com/agenthistory/ctx/host/fault"
)

// maxFileBytes bounds config.toml; 64 roots with the longest paths fit many times over in practice.
const maxFileBytes = 4 << 20

// broken is a rule that the file breaks, and the key that breaks it (nil = the file as a whole). The rule is a fixed sentence of
// ours: it never holds a part of the file.
type broken struct {
	rule string
	at   []string
	line int // known without the key
}

func (b *broken) Error() string { return b.rule }

func malformed(rule string, at ...string) *broken { return &broken{rule: rule, at: at} }

// fault tells the rule with the line of the key, which is looked for only now.
func (b *broken) fault(text []byte) *fault.Error {
	line := b.line
	if line == 0 && b.at != nil {
		line = lineOf(text, b.at)
	}
	place := ""
	if line > 0 {
		place = fmt.Sprintf(" (line %d)", line)
	}
	f := fault.New(fault.ConfigMalformed, "config.toml is not valid%s: %s", place, b.rule).
		WithHint("Correct config.toml in the data root and try again")
	if line > 0 {
		f = f.With("line", line)
	}
	return f
}

func readFile(path string) (text []byte, exists bool, err error) {
	info, err := os.Stat(path) // before it is opened: that would wait for a writer of a pipe
	if errors.Is(err, fs.ErrNotExist) {
		return nil, false, nil
	}
	if err == nil && !info.Mode().IsRegular() {
		return nil, true, malformed("it is not an ordinary file").fault(nil)
	}
	if err == nil && info.Size() > maxFileBytes {
		return nil, true, malformed("the file is too big").fault(nil)
	}
	if err == nil {
		text, err = os.ReadFile(path)
	}
	if err != nil {
		if bad := rootFault(filepath.Dir(path), err); bad != nil {
			return nil, false, bad
		}
		return nil, true, malformed("the file cannot be read").fault(nil)
	}
	return text, true, nil
}

// rootFault tells a data root that cannot be used apart from a file in it that cannot be read.
func rootFault(root string, cause error) error {
	why := ""
	if info, err := os.Stat(root); err == nil && !info.IsDir() || errors.Is(err, syscall.ENOTDIR) {
		why = "is not a directory"
	} else if _, err := os.Lstat(filepath.Join(root, FileName)); errors.Is(err, fs.ErrPermission) {
		why = "may not be read by you"
	}
	if why == "" {
		return nil
	}
	return fault.Wrap(cause, fault.ResourceUnavailable, "the data root %s %s", root, why).WithHint("choose another with --data-root")
}

// fileSettings is the decoded file before any look at the disk or the environment.
type fileSettings struct {
	mode        IndexMode
	daemonScope DaemonScope
	semantic    *bool
	localUsage  *bool
	redact      bool
	automatic   bool
	retention   Retention
	roots       []writtenRoot
	unknown     [][]string // keys
}

// writtenRoot is a root as the file has it; provider and path are checked later, in the documented order.
type writtenRoot struct {
	name, provider, path, group, kind string
	hasProvider, hasPath, hasGroup    bool
	hasKind                           bool
}

// table is one TOML table that is taken apart key by key, so that a key that nobody took can be told.
type table struct {
	at     []string // its own key
	values map[string]any
	err    *broken
}

func (t *table) key(key string) []string { return append(slices.Clone(t.at), key) }

func (t *table) fail(key, rule string) {
	if t.err == nil {
		t.err = malformed(rule, t.key(key)...)
	}
}

// left returns the keys that nobody took.
func (t *table) left() (keys [][]string) {
	for _, key := range slices.Sorted(maps.Keys(t.values)) {
		keys = append(keys, t.key(key))
	}
	return keys
}

func (t *table) take(key string) (any, bool) {
	v, ok := t.values[key]
	delete(t.values, key)
	return v, ok
}

func (t *table) sub(key string) *table {
	m, _ := take[map[string]any](t, key, "a table")
	return &table{at: t.key(key), values: m}
}

func (t *table) text(key string) (string, bool) { return take[string](t, key, "a string") }

func (t *table) boolean(key string) *bool {
	if b, ok := take[bool](t, key, "true or false"); ok {
		return &b
	}
	return nil
}

// take removes a value and checks its type; want names the type.
func take[T any](t *table, key, want string) (value T, ok bool) {
	v, ok := t.take(key)
	if !ok {
		return value, false
	}
	value, isT := v.(T)
	if !isT {
		t.fail(key, want+" is expected where another value stands")
	}
	return value, true
}

func decodeFile(text []byte) (*fileSettings, error) {
	if len(text) > maxFileBytes {
		return nil, malformed("the file is too big")
	}
	if !utf8.Valid(text) {
		return nil, malformed("it is not UTF-8 text")
	}
	root := &table{values: map[string]any{}}
	if err := toml.Unmarshal(text, &root.values); err != nil {
		// The parser's error quotes the file, so it is not even kept as a cause.
		bad := malformed("it is not valid TOML")
		var where *toml.DecodeError
		if errors.As(err, &where) {
			bad.line, _ = where.Position()
		}
		return nil, bad
	}
	s := &fileSettings{automatic: true, retention: RetentionKeep}
	if err := s.decodeSettings(root); err != nil {
		return nil, err
	}
	if err := s.decodeSources(root.sub("sources")); err != nil {
		return nil, err
	}
	if root.err != nil {
		return nil, root.err
	}
	// Tables of the tool that ctx replaces: its telemetry and its self-upgrade do not exist here.
	root.take("analytics")
	root.take("upgrade")
	s.unknown = append(s.unknown, root.left()...)
	return s, nil
}

// decodeSettings takes every table but [sources]. Unknown keys are noted, not refused: an older ctx may meet the file of a
// newer one.
func (s *fileSettings) decodeSettings(root *table) error {
	indexing, search, usage := root.sub("indexing"), root.sub("search"), root.sub("local_usage")
	daemon, retention, output := root.sub("daemon"), root.sub("retention"), root.sub("output")
	if mode, ok := indexing.text("mode"); ok {
		if s.mode = IndexMode(mode); s.mode != ModeAuto && s.mode != ModeManual {
			indexing.fail("mode", "indexing.mode is auto or manual")
		}
	}
	s.semantic = search.boolean("semantic")
	if _, ok := search.take("default_group"); ok {
		search.fail("default_group", "there is no default group; a search names the groups it wants")
	}
	s.localUsage = usage.boolean("enabled")
	if redact := output.boolean("redact"); redact != nil {
		s.redact = *redact
	}
	daemonEnabled := daemon.boolean("enabled")
	if scope, ok := daemon.text("mode"); ok {
		if s.daemonScope = DaemonScope(scope); s.daemonScope != DaemonFull && s.daemonScope != DaemonSourceRefresh {
			daemon.fail("mode", "daemon.mode is full or source-refresh-only")
		}
	}
	if s.mode == "" && daemonEnabled != nil && !*daemonEnabled {
		s.mode = ModeManual
	}
	if gone, ok := retention.text("gone"); ok {
		if s.retention = Retention(gone); s.retention != RetentionKeep && s.retention != RetentionDrop {
			retention.fail("gone", "retention.gone is keep or drop")
		}
	}
	for _, t := range []*table{indexing, search, usage, daemon, retention, output} {
		if t.err != nil {
			return t.err
		}
		s.unknown = append(s.unknown, t.left()...)
	}
	return nil
}

func (s *fileSettings) decodeSources(sources *table) error {
	if automatic := sources.boolean("automatic"); automatic != nil {
		s.automatic = *automatic
	}
	roots := sources.sub("roots")
	if sources.err != nil {
		return sources.err
	}
	if len(sources.values) > 0 {
		return malformed("the sources table has a key that is not known", sources.left()[0]...)
	}
	for _, name := range slices.Sorted(maps.Keys(roots.values)) {
		t := roots.sub(name)
		r := writtenRoot{name: name}
		r.provider, r.hasProvider = t.text("provider")
		r.path, r.hasPath = t.text("path")
		r.group, r.hasGroup = t.text("group")
		r.kind, r.hasKind = t.text("kind")
		if t.err != nil {
			return t.err
		}
		if len(t.values) > 0 {
			return malformed("a root has a key that is not known, or a name with a dot", t.left()[0]...)
		}
		s.roots = append(s.roots, r)
	}
	if roots.err != nil {
		return roots.err
	}
	return nil
}
