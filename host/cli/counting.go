package cli

import (
	"slices"
	"strings"
	"time"

	"github.com/agenthistory/ctx/host/search"
	localusage "github.com/agenthistory/ctx/host/usage"
)

// uncounted are the commands, with everything below them, that leave no usage record: those that report on the counters, those that
// serve others, and the machinery of the shell. ctx alone leaves none either.
var uncounted = []string{"status", "stats", "mcp serve", "daemon run", "provider", "completion", "__complete", "__completeNoDesc"}

// delivered notes how many results the answer holds, for the usage record.
func (a *App) delivered(results int) { a.call.Results = &results }

// deliveredSearch notes what a search answers. The sizes of the sessions behind the results are not stored, so they stay unknown.
func (a *App) deliveredSearch(rows []search.Row) {
	a.delivered(len(rows))
	a.call.Search = &localusage.SearchBytes{}
	for i := range rows {
		a.call.Search.Delivered += int64(len(rows[i].Snippet))
	}
}

// countUsage writes the usage record of a command that ran and whose output was delivered.
func (a *App) countUsage(out *resultWriter, stderr *metered, started time.Time, code int) {
	if !a.CountUsage || a.running == nil || code == exitUsage || out.err != nil {
		return
	}
	_, path, _ := strings.Cut(a.running.CommandPath(), " ")
	if path == "" || slices.ContainsFunc(uncounted, func(name string) bool { return path == name || strings.HasPrefix(path, name+" ") }) {
		return
	}
	s, err := a.place()
	if err != nil {
		return
	}
	a.call.Surface, a.call.Operation = localusage.CLI, strings.NewReplacer(" ", "_", "-", "_").Replace(path)
	a.call.Failed, a.call.Duration = code != exitDone, time.Since(started)
	a.call.OutputBytes = out.stream.n.Load() + stderr.n.Load()
	localusage.NewRecorder(s.dataRoot, s.env, version).Record(a.call)
}
