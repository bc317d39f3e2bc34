package integrations

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/agenthistory/ctx/host/fault"
	"github.com/agenthistory/ctx/host/internal/nullable"
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
	Agent     string        `json:"agent"`
	Name      string        `json:"agent_display_name"`
	Scope     Scope         `json:"scope"`
	Path      nullable.Text `json:"path"`
	Detected  bool          `json:"detected"`
	Supported bool          `json:"supported"`
	Status    Status        `json:"status"`
	Error     nullable.Text `json:"error"`
}

// Change is what an operation did to one agent. Members that not all operations have are left out of the others.
type Change struct {
	Agent     string        `json:"agent"`
	Name      string        `json:"agent_display_name"`
	Scope     Scope         `json:"scope"`
	Path      nullable.Text `json:"path"`
	Detected  *bool         `json:"detected,omitempty"`  // of the MCP server
	Supported *bool         `json:"supported,omitempty"` // of the MCP server
	Success   bool          `json:"success"`
	Previous  Status        `json:"previous_status"`
	Status    Status        `json:"status"`
	Already   *bool         `json:"already_installed,omitempty"` // of install
	Removed   *bool         `json:"removed,omitempty"`           // of remove
	Modified  *bool         `json:"modified,omitempty"`          // of the MCP server
	Updated   *bool         `json:"updated,omitempty"`           // of skills and slash commands
	Migrated  *bool         `json:"migrated,omitempty"`          // of skills and slash commands; false always: no earlier layout exists
	Error     nullable.Text `json:"error"`
	Idle      bool          `json:"-"` // there was nothing to do
}

// settle finishes a change: nothing is done when idle, or when there is a reason to refuse it; else put does it, and the status is done.
func (c *Change) settle(idle bool, refused string, done Status, put func() error) (wrote bool) {
	c.Idle, c.Success = idle, idle
	if idle {
		return false
	}
	if refused == "" {
		if err := put(); err != nil {
			refused = err.Error()
		}
	}
	if c.Error = nullable.Text(refused); refused != "" {
		return false
	}
	c.Success, c.Status = true, done
	return true
}

// clients resolves the wanted ids and aliases.
func (r *Request) clients() ([]string, error) {
	if r.All {
		return Clients(), nil
	}
	var out []string
	for _, id := range r.Agents {
		c := clientNamed(id)
		if c == nil {
			return nil, fault.New(fault.InvalidRequest, "there is no agent %q", id).WithHint("see ctx integrations status mcp --all-agents")
		}
		if !slices.Contains(out, c.id) {
			out = append(out, c.id)
		}
	}
	if len(r.Agents) > 0 {
		return out, nil
	}
	for i := range clients {
		if _, detected := r.file(clients[i].place(r.Scope)); detected {
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

func (w Where) inspect(id string) *target {
	c := clientNamed(id)
	p := c.place(w.Scope)
	t := &target{client: c, state: State{Agent: c.id, Name: c.name, Scope: w.Scope, Status: Missing, Supported: len(p.files) > 0}}
	if !t.state.Supported {
		t.state.Status = Unsupported
		return t
	}
	path, detected := w.file(p)
	t.state.Detected = detected
	if path == "" {
		t.fail(Unsupported, errors.New("the home directory is not known"))
		return t
	}
	t.state.Path = nullable.Text(path)
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
		t.fail(Invalid, errors.New("not valid: "+strings.Join(strings.Fields(err.Error()), " "))) // on one line
		return t
	}
	entry, found, err := entryOf(c.syntax, document, c.table)
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
	t.state.Status, t.state.Error = status, nullable.Text(err.Error())
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
	var l *os.LinkError
	switch {
	case errors.As(err, &p):
		return p.Err
	case errors.As(err, &l):
		return l.Err
	}
	return err
}

// StatusMCP tells how the files of clients stand.
func (r *Request) StatusMCP() ([]State, error) {
	ids, err := r.clients()
	rows := []State{}
	for _, id := range ids {
		rows = append(rows, r.inspect(id).state)
	}
	return rows, err
}

// InstallMCP adds the entry to the files of clients. A row tells what became of each; one that fails does not stop the others.
func (r *Request) InstallMCP() ([]Change, error) { return r.changeMCP(Current, (*target).installed) }

// RemoveMCP takes the entry out again. An absent entry is a success.
func (r *Request) RemoveMCP() ([]Change, error) { return r.changeMCP(Missing, (*target).removed) }

func (r *Request) changeMCP(want Status, edit func(*target) ([]byte, error)) ([]Change, error) {
	ids, err := r.clients()
	rows := []Change{}
	for _, id := range ids {
		t := r.inspect(id)
		s := &t.state
		row := Change{Agent: s.Agent, Name: s.Name, Scope: s.Scope, Path: s.Path, Detected: &s.Detected, Supported: &s.Supported,
			Previous: s.Status, Status: s.Status}
		absent := s.Status == Unsupported && s.Error == "" // where there is no file there is no entry
		idle := s.Status == want || want == Missing && absent
		wrote := row.settle(idle, t.refused(want, r.Force), want, func() error {
			text, err := edit(t)
			if err != nil {
				return err
			}
			return replaceFile(string(s.Path), t.text, t.exists, text, r.Backup)
		})
		row.Modified = &wrote
		if want == Current {
			row.Already = &idle
		} else {
			row.Removed = &wrote
		}
		rows = append(rows, row)
	}
	return rows, err
}

// refused tells why a file must stay as it is, "" when it may be changed.
func (t *target) refused(want Status, force bool) string {
	switch s := &t.state; {
	case s.Error != "":
		return string(s.Error)
	case s.Status == Unsupported:
		return fmt.Sprintf("%s has no %s configuration file", t.client.name, s.Scope)
	case s.Status == Conflict && !force:
		return "another server has the name ctx; --force replaces it"
	case want == Current && !t.exists && t.client.place(s.Scope).mustHave:
		return "the file does not exist; start " + t.client.name + " once"
	}
	return ""
}

// removed is the text without our entry.
func (t *target) removed() ([]byte, error) {
	s, table := t.client.syntax, t.client.table
	return checked(s, t.text, table, nil, func(text []byte) ([]byte, error) { return s.cut(text, table) })
}

// installed is the text with our entry, which replaces one of the same name.
func (t *target) installed() ([]byte, error) {
	s, table, text := t.client.syntax, t.client.table, t.text
	if y, ok := s.(yamlSyntax); ok && blank(text) {
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
