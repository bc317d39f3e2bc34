package cli

import (
	"errors"
	"io/fs"
	"os"
	"strings"

	"github.com/spf13/cobra"
)

// placesShown is how many places the first screen names.
const placesShown = 3

// welcome answers ctx without a command: what it would do on a machine where it was never set up, how it stands on another one. With
// --quiet, which no person types without a command, the command is missing.
func (a *App) welcome(cmd *cobra.Command) error {
	if a.quiet {
		return missingCommand(cmd)
	}
	s, err := a.open()
	if err != nil {
		return err
	}
	if _, err := os.Stat(s.dataRoot); errors.Is(err, fs.ErrNotExist) {
		return a.introduce(cmd, s)
	}
	r, err := s.observe(cmd.Context())
	if err != nil {
		return err
	}
	p := a.page()
	mark, text := standingOf(r)
	p.outcome(mark, "%s", text)
	first := `ctx search "words you remember"`
	switch {
	case r.IndexedSessions != nil && *r.IndexedSessions == 0:
		first = "ctx sources --all"
	case r.Initialized:
	case r.Lexical.Status == "pending":
		first = "ctx index watch"
	default:
		first = append(helping(r), "ctx doctor --deep")[0]
	}
	p.next(first, "ctx status", "ctx --help")
	return p.err
}

// introduce is the first screen. It makes nothing.
func (a *App) introduce(cmd *cobra.Command, s *session) error {
	found, err := s.discover(cmd.Context(), "")
	if err != nil {
		return err
	}
	var places []string
	for _, row := range found.Rows {
		if row.Importable {
			places = append(places, row.Provider+" ("+s.shortPath(row.Path)+")")
		}
	}
	histories, next := "none found on this machine", []string{"ctx sources --all", "ctx setup --wait"}
	if len(places) > 0 {
		next = next[1:]
		histories = strings.Join(places[:min(len(places), placesShown)], ", ")
	}
	if more := len(places) - placesShown; more > 0 {
		histories += ", and " + plural(more, "more place") + " (ctx sources)"
	}
	p := a.page()
	p.printf("ctx searches what you and your coding agents said and did, in the histories that they keep.\n")
	p.begun = true
	p.section("", field{"Histories", histories}, field{"Index", s.shortPath(s.dataRoot) + ", not there yet; setup makes it"},
		field{"Privacy", "nothing leaves this machine, and the histories are only read"})
	p.next(next...)
	return p.err
}
