package integrations

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/agenthistory/ctx/host/fault"
)

// Status is how a client's file stands.
type Status string

const (
	Current     Status = "current"        // the entry is there and starts this server
	Missing     Status = "missing"        // there is no entry, or no file
	Conflict    Status = "conflict"       // another entry has the name
	Invalid     Status = "invalid_config" // the file cannot be read or parsed; it is never changed
	Unsupported Status = "unsupported"    // the client has no file in this scope
)

// maxConfig bounds what is read of a configuration file. Claude Code keeps its whole state in one.
const maxConfig = 64 << 20

// State is one row of `status mcp`.
type State struct {
	Agent     string  `json:"agent"`
	Name      string  `json:"agent_display_name"`
	Scope     Scope   `json:"scope"`
	Path      *string `json:"path"`
	Detected  bool    `json:"detected"`
	Supported bool    `json:"supported"`
	Status    Status  `json:"status"`
	Error     *string `json:"error"`
}

// Change is what install or remove did to one client.
type Change struct {
	Agent     string  `json:"agent"`
	Name      string  `json:"agent_display_name"`
	Scope     Scope   `json:"scope"`
	Path      *string `json:"path"`
	Detected  bool    `json:"detected"`
	Supported bool    `json:"supported"`
	Success   bool    `json:"success"`
	Previous  Status  `json:"previous_status"`
	Status    Status  `json:"status"`
	// Already is in the rows of install: the entry was there. Removed is in those of remove.
	Already  *bool   `json:"already_installed,omitempty"`
	Removed  *bool   `json:"removed,omitempty"`
	Modified bool    `json:"modified"`
	Error    *string `json:"error"`
}

// Options of install and remove.
type Options struct {
	Force  bool // change an entry that is not ours; never an invalid file
	Backup bool // keep the old text in a file beside it
}

// Targets resolves ids and aliases; none of them means the detected clients of a scope, all means every client.
func Targets(w Where, scope Scope, ids []string, all bool) ([]string, error) {
	if all {
		return Clients(), nil
	}
	var out []string
	for _, id := range ids {
		c := clientNamed(id)
		if c == nil {
			return nil, fault.New(fault.InvalidRequest, "there is no agent %q", id).WithHint("see ctx integrations status mcp --all-agents")
		}
		out = append(out, c.id)
	}
	if len(ids) > 0 {
		return out, nil
	}
	for i := range clients {
		if _, detected := w.file(clients[i].place(scope), scope); detected {
			out = append(out, clients[i].id)
		}
	}
	return out, nil
}

// target is the file of one client and what it holds.
type target struct {
	client *client
	state  State
	text   []byte
	exists bool
}

func inspect(w Where, scope Scope, id string) *target {
	c := clientNamed(id)
	p := c.place(scope)
	t := &target{client: c, state: State{Agent: c.id, Name: c.name, Scope: scope, Status: Missing, Supported: len(p.files) > 0}}
	if !t.state.Supported {
		t.state.Status = Unsupported
		return t
	}
	path, detected := w.file(p, scope)
	t.state.Detected = detected
	if path == "" {
		t.fail(Unsupported, errors.New("the home directory is not known"))
		return t
	}
	t.state.Path = &path
	text, err := readConfig(path)
	if errors.Is(err, fs.ErrNotExist) {
		return t
	}
	if err != nil {
		t.fail(Invalid, err)
		return t
	}
	t.text, t.exists = text, true
	document, err := c.syntax.decode(text)
	if err != nil {
		t.fail(Invalid, fmt.Errorf("not valid: %w", err))
		return t
	}
	entry, found, err := entryOf(document, c.table)
	switch {
	case err != nil:
		t.fail(Invalid, err)
	case found && ours(c.entry, entry):
		t.state.Status = Current
	case found:
		t.state.Status = Conflict
	}
	return t
}

func (t *target) fail(status Status, err error) {
	text := err.Error()
	t.state.Status, t.state.Error = status, &text
}

func readConfig(path string) ([]byte, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, plainPathError(err)
	case !info.Mode().IsRegular():
		return nil, errors.New("not an ordinary file")
	case info.Size() > maxConfig:
		return nil, errors.New("the file is too large")
	}
	text, err := os.ReadFile(path)
	return text, plainPathError(err)
}

// plainPathError leaves out the path, which the row names.
func plainPathError(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}

// StatusMCP tells how the files of clients stand.
func StatusMCP(w Where, scope Scope, ids []string) []State {
	rows := []State{}
	for _, id := range ids {
		rows = append(rows, inspect(w, scope, id).state)
	}
	return rows
}

// InstallMCP adds the entry to the files of clients. A row tells what became of each; one that fails does not stop the others.
func InstallMCP(w Where, scope Scope, ids []string, o Options) []Change {
	rows := []Change{}
	for _, id := range ids {
		t := inspect(w, scope, id)
		row := t.change()
		already := t.state.Status == Current
		row.Already = &already
		switch {
		case already:
			row.Success = true
		case t.blocked(&row, o, scope):
		case !t.exists && t.client.place(scope).mustHave:
			row.Error = pointer("the file does not exist; start " + t.client.name + " once")
		default:
			t.apply(&row, Current, o, func(text []byte) ([]byte, error) { return t.installed(text) })
		}
		rows = append(rows, row)
	}
	return rows
}

// RemoveMCP takes the entry out again. An absent entry is a success.
func RemoveMCP(w Where, scope Scope, ids []string, o Options) []Change {
	rows := []Change{}
	for _, id := range ids {
		t := inspect(w, scope, id)
		row := t.change()
		row.Removed = new(bool)
		switch {
		case t.state.Status == Missing:
			row.Success = true
		case t.blocked(&row, o, scope):
		default:
			t.apply(&row, Missing, o, func(text []byte) ([]byte, error) {
				return checked(t.client.syntax, text, t.client.table, nil, func(text []byte) ([]byte, error) {
					return t.client.syntax.cut(text, t.client.table)
				})
			})
			*row.Removed = row.Success
		}
		rows = append(rows, row)
	}
	return rows
}

func pointer(text string) *string { return &text }

func (t *target) change() Change {
	s := t.state
	return Change{Agent: s.Agent, Name: s.Name, Scope: s.Scope, Path: s.Path, Detected: s.Detected, Supported: s.Supported,
		Previous: s.Status, Status: s.Status, Error: s.Error}
}

// blocked tells whether a file must stay as it is, and why.
func (t *target) blocked(row *Change, o Options, scope Scope) bool {
	switch t.state.Status {
	case Unsupported:
		if row.Error == nil {
			row.Error = pointer(fmt.Sprintf("%s has no %s configuration file", t.client.name, scope))
		}
		return true
	case Invalid:
		return true
	case Conflict:
		if !o.Force {
			row.Error = pointer("another server has the name ctx; --force replaces it")
			return true
		}
	}
	return false
}

// installed is a text with our entry, which replaces one of the same name.
func (t *target) installed(text []byte) ([]byte, error) {
	s, table := t.client.syntax, t.client.table
	if y, ok := s.(yamlSyntax); ok && len(bytes.TrimSpace(text)) == 0 {
		text = []byte(y.head)
	}
	return checked(s, text, table, t.client.entry, func(text []byte) ([]byte, error) {
		if t.state.Status == Conflict {
			var err error
			if text, err = s.cut(text, table); err != nil {
				return nil, err
			}
		}
		return s.put(text, table, t.client.entry)
	})
}

func (t *target) apply(row *Change, done Status, o Options, edit func([]byte) ([]byte, error)) {
	text, err := edit(t.text)
	if err == nil {
		err = replaceFile(*t.state.Path, t.text, t.exists, text, o.Backup)
	}
	if err != nil {
		row.Error = pointer(err.Error())
		return
	}
	row.Success, row.Modified, row.Status = true, true, done
}
