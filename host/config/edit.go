package config

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/pelletier/go-toml/v2/unstable"

	"github.com/agenthistory/ctx/host/durable"
	"github.com/agenthistory/ctx/host/fault"
)

// lockFile excludes two editors of one config file; a reader needs no lock, because the file is replaced in one step.
const lockFile = "config.lock"

// lockWait is how long an editor waits for another one.
const lockWait = 5 * time.Second

// Edit changes config.toml: change gets the present text (empty when there is no file) and returns the new one. One lock spans
// reading, validation and the durable replacement. Nothing is written when change or the validation of its result fails, or when the
// text stays the same.
func Edit(root string, env Environment, change func(text []byte) ([]byte, error)) (changed bool, err error) {
	if err := os.MkdirAll(root, 0o700); err != nil {
		if bad := rootFault(root, err); bad != nil {
			return false, bad
		}
		return false, notWritable(err)
	}
	unlock, err := lockConfig(root)
	if err != nil {
		return false, err
	}
	defer unlock()
	path := filepath.Join(root, FileName)
	text, exists, err := readFile(path)
	if err != nil {
		return false, err
	}
	if exists {
		if _, err := Parse(root, text, env); err != nil {
			return false, err
		}
	}
	edited, err := change(bytes.Clone(text))
	if err != nil {
		return false, err
	}
	if bytes.Equal(edited, text) {
		return false, nil
	}
	if _, err := Parse(root, edited, env); err != nil {
		return false, err
	}
	if err := durable.Replace(path, edited, modeOf(path)); err != nil {
		return false, notWritable(err)
	}
	return true, nil
}

func notWritable(err error) error {
	return fault.Wrap(err, fault.ResourceUnavailable, "config.toml cannot be written").
		WithHint("make the data root writable, or choose another with --data-root")
}

// modeOf keeps the mode of an existing file.
func modeOf(path string) os.FileMode {
	if info, err := os.Stat(path); err == nil {
		return info.Mode().Perm()
	}
	return 0o600
}

func lockConfig(root string) (unlock func(), err error) {
	f, err := os.OpenFile(filepath.Join(root, lockFile), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, notWritable(err)
	}
	for deadline := time.Now().Add(lockWait); ; time.Sleep(5 * time.Millisecond) {
		ok, err := durable.TryLock(f, true)
		if err != nil {
			return nil, errors.Join(notWritable(err), f.Close())
		}
		if ok {
			return func() { f.Close() }, nil
		}
		if time.Now().After(deadline) {
			f.Close()
			return nil, fault.New(fault.Busy, "another process is changing config.toml").WithHint("try again")
		}
	}
}

// SetBool returns text with table.key set to value. Everything else of the text, comments included, stays byte for byte. The table
// is added at the end when it is missing.
func SetBool(text []byte, table, key string, value bool) ([]byte, error) {
	literal := strconv.FormatBool(value)
	spot, err := findKey(text, table, key)
	if err != nil {
		return nil, err
	}
	switch {
	case spot.valueLen > 0:
		return splice(text, spot.value, spot.valueLen, literal), nil
	case spot.tableEnd > 0:
		return splice(text, spot.tableEnd, 0, lineBreak(text, spot.tableEnd)+key+" = "+literal+"\n"), nil
	}
	separator := ""
	if len(text) > 0 {
		separator = lineBreak(text, len(text)) + "\n"
	}
	return append(text, (separator + "[" + table + "]\n" + key + " = " + literal + "\n")...), nil
}

// lineBreak is what is missing before at for a new line to start there.
func lineBreak(text []byte, at int) string {
	if at > 0 && text[at-1] != '\n' {
		return "\n"
	}
	return ""
}

func splice(text []byte, at, length int, with string) []byte {
	out := append([]byte{}, text[:at]...)
	out = append(out, with...)
	return append(out, text[at+length:]...)
}

// spot is where a key stands or may be inserted: the bytes of its value, or the start of the line behind the header of its table.
type spot struct{ value, valueLen, tableEnd int }

func findKey(text []byte, table, key string) (spot, error) {
	var found spot
	var p unstable.Parser
	p.Reset(text)
	inTable := ""
	for p.NextExpression() {
		e := p.Expression()
		switch e.Kind {
		case unstable.Table, unstable.ArrayTable:
			name, end := dotted(&p, e)
			if inTable = name; inTable == table {
				found.tableEnd = nextLine(text, end)
			}
		case unstable.KeyValue:
			name, _ := dotted(&p, e)
			if inTable != "" {
				name = inTable + "." + name
			}
			if name == table {
				return spot{}, fault.New(fault.InvalidRequest, "the table [%s] of config.toml is written inline", table).
					WithHint("write it as a table of its own, or edit the file by hand")
			}
			if value := e.Value(); name == table+"."+key && value.Kind == unstable.Bool {
				r := p.Range(value.Data)
				found.value, found.valueLen = int(r.Offset), int(r.Length)
			}
		}
	}
	if p.Error() != nil {
		return spot{}, malformed("it is not valid TOML")
	}
	return found, nil
}

// dotted returns the key of an expression and the offset behind its last part.
func dotted(p *unstable.Parser, e *unstable.Node) (name string, end int) {
	for parts := e.Key(); parts.Next(); {
		node := parts.Node()
		if name != "" {
			name += "."
		}
		name += string(node.Data)
		end = int(node.Raw.Offset + node.Raw.Length)
	}
	return name, end
}

// nextLine returns the offset of the first byte behind the line that holds at.
func nextLine(text []byte, at int) int {
	if i := bytes.IndexByte(text[at:], '\n'); i >= 0 {
		return at + i + 1
	}
	return len(text)
}
