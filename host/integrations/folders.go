package integrations

import (
	"path/filepath"
	"slices"
)

// folderAgent is an agent with a folder for skills or slash commands: below its own directory, or below one of the project.
type folderAgent struct {
	id, name, env, base, project string
	folder                       string // of slash commands
	toml                         bool   // the prompt is a string of a TOML file, and arguments are written {{args}}
}

// dir is the directory of the agent itself; "" = it has none in this scope, or it is not known.
func (w Where) dir(a *folderAgent) string {
	switch {
	case w.Scope != Project:
		return w.own(a.env, a.base)
	case a.project == "":
		return ""
	}
	return filepath.Join(w.WorkDir, a.project)
}

// folders picks the wanted agents of a list: those of the ids, or else the detected ones and always the one with that id.
func (r *Request) folders(list []folderAgent, always string, unknown func(id string) error) ([]*folderAgent, error) {
	var out []*folderAgent
	ids := named(r.Agents)
	for i := range list {
		a := &list[i]
		detected := len(r.Agents) == 0 && (a.id == always || exists(r.dir(a)))
		if r.dir(a) != "" && (r.All || detected || slices.Contains(ids, a.id)) {
			out = append(out, a)
		}
	}
	for _, id := range ids {
		if !slices.ContainsFunc(out, func(a *folderAgent) bool { return a.id == id }) {
			return nil, unknown(id)
		}
	}
	return out, nil
}

// write finishes the row of a file that was looked at. One that was edited is kept unless that is forced.
func (r *Request) write(row Change, idle bool, edited string, put func() error) Change {
	row.Scope, row.Previous = r.Scope, row.Status
	if row.Status != Modified || r.Force {
		edited = ""
	}
	wrote := row.settle(idle, edited, Current, put)
	row.Already, row.Updated, row.Migrated = &idle, new(wrote && row.Previous != Missing), new(false)
	return row
}
