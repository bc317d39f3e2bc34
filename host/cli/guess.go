package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/agenthistory/ctx/host/history"
)

// didYouMean ends a message about an unknown word with what was probably meant.
func didYouMean(word, prefix string, candidates []string) string {
	if near := nearest(word, candidates); near != "" {
		return "; did you mean " + prefix + near + "?"
	}
	return ""
}

// nearest returns the candidate that is most like word, "" when none is: a third of the characters may be wrong. A candidate that
// begins with the word is near.
func nearest(word string, candidates []string) string {
	best, least := "", max(1, len(word)/3)+1
	for _, candidate := range candidates {
		d := distance(word, candidate)
		if len(word) > 2 && strings.HasPrefix(candidate, word) {
			d = min(d, 1)
		}
		if d < least {
			best, least = candidate, d
		}
	}
	return best
}

// distance counts the characters to change, to add, to leave out or to exchange with their neighbour (optimal string alignment).
func distance(a, b string) int {
	var before []int
	last := make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := range len(a) {
		row := make([]int, len(b)+1)
		row[0] = i + 1
		for j := range len(b) {
			wrong := 1
			if a[i] == b[j] {
				wrong = 0
			}
			row[j+1] = min(last[j]+wrong, last[j+1]+1, row[j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
		before, last = last, row
	}
	return last[len(b)]
}

// flagProblem shortens the library's sentence about a bad value to the flag and what is wrong with it, and names the flag that an
// unknown one resembles.
func flagProblem(cmd *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	if errors.As(err, &unknown) {
		name := unknown.GetSpecifiedName()
		if letters := unknown.GetSpecifiedShortnames(); letters != "" {
			name = letters // one dash before a long name
		}
		var names []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if !f.Hidden {
				names = append(names, f.Name)
			}
		})
		return fmt.Errorf("%w%s", err, didYouMean(name, "--", names))
	}
	var value *pflag.InvalidValueError
	if errors.As(err, &value) {
		return fmt.Errorf("--%s: %w", value.GetFlag().Name, errors.Unwrap(value))
	}
	return err
}

// commandNames are the commands below one that help shows.
func commandNames(cmd *cobra.Command) (names []string) {
	for _, inner := range cmd.Commands() {
		if inner.IsAvailableCommand() {
			names = append(names, inner.Name())
		}
	}
	return names
}

func unknownWord(cmd *cobra.Command, word string) error {
	near := didYouMean(word, "", commandNames(cmd))
	for _, inner := range cmd.Commands() {
		if near == "" && slices.Contains(commandNames(inner), word) {
			near = "; did you mean " + inner.Name() + " " + word + "?"
		}
	}
	if near == "" && takesID(cmd) {
		return usage(cmd, quoteWord(word)+" is no id: 8 to 32 hex digits of one are needed")
	}
	return usage(cmd, "unknown command "+quoteWord(word)+" for "+cmd.CommandPath()+near)
}

// takesID tells the commands that find out themselves what an id is the id of.
func takesID(cmd *cobra.Command) bool {
	path := cmd.CommandPath()
	return path == "ctx show" || path == "ctx locate"
}

// understood finds the words that the library would pass over. A word that is no command is told before its flags are read, because a
// message about a flag of a command that does not exist would mislead. And an id behind show or locate needs no word before it: what it
// is the id of is looked up.
func (a *App) understood(ctx context.Context, root *cobra.Command, args []string) ([]string, error) {
	if slices.Contains(args, "--help") || slices.Contains(args, "-h") {
		return args, nil // the help of what was understood is the answer
	}
	cmd, rest, err := root.Find(args)
	if err != nil || !cmd.HasSubCommands() || len(rest) == 0 {
		return args, nil
	}
	if takesID(cmd) {
		if kind := a.kindOfID(ctx, root, rest); kind != "" {
			return append([]string{cmd.Name(), kind}, rest...), nil
		}
	}
	if strings.HasPrefix(rest[0], "-") || strings.HasPrefix(rest[0], cobra.ShellCompRequestCmd) {
		return args, nil
	}
	return args, noArguments(cmd, rest)
}

// kindOfID tells what the first id among the arguments is the id of, "" when there is none. An id that nothing has counts as that of a
// session, so that the failure is the usual one.
func (a *App) kindOfID(ctx context.Context, root *cobra.Command, args []string) string {
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	flags.ParseErrorsAllowlist.UnknownFlags = true
	flags.AddFlagSet(root.PersistentFlags())
	if flags.Parse(args) != nil || flags.NArg() == 0 {
		return ""
	}
	id := flags.Arg(0)
	if _, _, err := history.ParseID("session", id); err != nil {
		return ""
	}
	kind := "session"
	if s, err := a.place(); err == nil {
		_ = s.reading(ctx, func(view *history.View) error {
			if !view.Knows(ctx, "session", id) && view.Knows(ctx, "event", id) {
				kind = "event"
			}
			return nil
		})
	}
	return kind
}
