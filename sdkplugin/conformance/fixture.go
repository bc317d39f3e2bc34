package conformance

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

// Fixture writes histories in the format of the provider. Every record gives at least one event.
type Fixture interface {
	// Route names the format and role of the route that the fixture writes.
	Route() (format, role string)
	// Write makes the sessions first..first+count-1 below the directory root, each with records 0..records-1. What they hold
	// depends on nothing but these numbers.
	Write(root string, first, count, records int) error
	// Append adds records have..have+records-1 to a session that holds the records before them.
	Append(root string, session, have, records int) error
}

// LineFixture is a fixture whose sessions are files of one record per line. It allows the checks of torn and damaged files.
type LineFixture interface {
	Fixture
	// File is the path of a session below root, '/' separated.
	File(session int) string
	// Record is a record without its line feed, with text somewhere in it that the provider keeps.
	Record(session, record int, text string) ([]byte, error)
}

// Lines is a LineFixture of three functions.
type Lines struct {
	FormatName string
	Role       string
	Name       func(session int) string // path below the route, '/' separated
	Header     func(session int) []byte // first lines of a file, with their line feeds; nil = none
	Line       func(session, record int, text string) []byte
}

// Route implements Fixture.
func (l Lines) Route() (format, role string) { return l.FormatName, l.Role }

// File implements LineFixture.
func (l Lines) File(session int) string { return l.Name(session) }

// Record implements LineFixture.
func (l Lines) Record(session, record int, text string) ([]byte, error) {
	return l.Line(session, record, text), nil
}

// Write implements Fixture.
func (l Lines) Write(root string, first, count, records int) error {
	for session := first; session < first+count; session++ {
		var content []byte
		if l.Header != nil {
			content = append(content, l.Header(session)...)
		}
		content = l.lines(content, session, 0, records)
		path := filepath.Join(root, filepath.FromSlash(l.Name(session)))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return err
		}
		if err := os.WriteFile(path, content, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// Append implements Fixture.
func (l Lines) Append(root string, session, have, records int) error {
	return appendFile(filepath.Join(root, filepath.FromSlash(l.Name(session))), l.lines(nil, session, have, records))
}

func (l Lines) lines(dst []byte, session, from, records int) []byte {
	for i := from; i < from+records; i++ {
		dst = append(append(dst, l.Line(session, i, sampleText(session, i))...), '\n')
	}
	return dst
}

// sampleText is short, different for every record, and not plain ASCII.
func sampleText(session, record int) string {
	return fmt.Sprintf("session %d, record %d: \u201cgr\u00fc\u00df\u201d \t\\ \"end\"", session, record)
}

func appendFile(path string, content []byte) error {
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	if _, err := f.Write(content); err != nil {
		f.Close()
		return err
	}
	return f.Close()
}

// CommandFixture asks an executable, so that a provider in any language can bring a fixture. It is run as
//
//	<command> route                                    prints format and role, separated by a space
//	<command> write  <root> <first> <count> <records>
//	<command> append <root> <session> <have> <records>
//	<command> file   <session>                         prints the path of the session below the root
//	<command> record <session> <record> <text>         prints one record without line feed
//
// A command that fails for "file" has no files of lines.
type CommandFixture struct {
	Command []string

	format, role string
}

// NewCommandFixture runs the command once to learn its route.
func NewCommandFixture(command []string) (Fixture, error) {
	c := &CommandFixture{Command: command}
	out, err := c.run("route")
	if err != nil {
		return nil, err
	}
	words := strings.Fields(string(out))
	if len(words) != 2 {
		return nil, fmt.Errorf("fixture command: %q is not a format and a role", out)
	}
	c.format, c.role = words[0], words[1]
	if _, err := c.run("file", "0"); err != nil {
		return struct{ Fixture }{c}, nil // hides the methods of LineFixture
	}
	return c, nil
}

// Route implements Fixture.
func (c *CommandFixture) Route() (format, role string) { return c.format, c.role }

// Write implements Fixture.
func (c *CommandFixture) Write(root string, first, count, records int) error {
	_, err := c.run("write", root, strconv.Itoa(first), strconv.Itoa(count), strconv.Itoa(records))
	return err
}

// Append implements Fixture.
func (c *CommandFixture) Append(root string, session, have, records int) error {
	_, err := c.run("append", root, strconv.Itoa(session), strconv.Itoa(have), strconv.Itoa(records))
	return err
}

// File implements LineFixture.
func (c *CommandFixture) File(session int) string {
	out, err := c.run("file", strconv.Itoa(session))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(out))
}

// Record implements LineFixture. Texts too long for a command line are put in place of a mark in a short record.
func (c *CommandFixture) Record(session, record int, text string) ([]byte, error) {
	const limit = 32 << 10
	if len(text) <= limit {
		out, err := c.run("record", strconv.Itoa(session), strconv.Itoa(record), text)
		return bytes.TrimRight(out, "\r\n"), err
	}
	const mark = "conformance_long_text_mark"
	out, err := c.run("record", strconv.Itoa(session), strconv.Itoa(record), mark)
	return bytes.ReplaceAll(bytes.TrimRight(out, "\r\n"), []byte(mark), []byte(text)), err
}

func (c *CommandFixture) run(args ...string) ([]byte, error) {
	cmd := exec.Command(c.Command[0], append(c.Command[1:len(c.Command):len(c.Command)], args...)...)
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("fixture command %s: %w", args[0], err)
	}
	return out, nil
}
