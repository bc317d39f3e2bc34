package cli

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/agenthistory/ctx/host/fault"
	"github.com/agenthistory/ctx/host/internal/onscreen"
)

// checked is a flag whose text is read by a function of its own, which says in plain words what it does not take.
type checked struct {
	kind string // what help calls a value
	show func() string
	set  func(string) error
}

func (c checked) String() string     { return c.show() }
func (c checked) Type() string       { return c.kind }
func (c checked) Set(s string) error { return c.set(s) }

// choice is a flag with a closed list of values; anything else is a usage error.
func choice(value *string, allowed ...string) pflag.Value {
	return checked{"name", func() string { return *value }, func(s string) error {
		if !slices.Contains(allowed, s) {
			return fmt.Errorf("%s is not one of %s", quoteWord(s), strings.Join(allowed, ", "))
		}
		*value = s
		return nil
	}}
}

func choiceFlag(flags *pflag.FlagSet, value *string, name, preset, usage string, allowed ...string) {
	*value = preset
	flags.Var(choice(value, allowed...), name, usage+": "+strings.Join(allowed, ", "))
}

// whole is a flag for a whole number from least to most, which what describes. What does not fit into 64 bits counts as the nearest
// number that does.
func whole[T int | int64](value *T, least, most int64, what string) pflag.Value {
	show := func() string {
		if *value == 0 && least > 0 {
			return "" // no preset
		}
		return strconv.FormatInt(int64(*value), 10)
	}
	return checked{"n", show, func(s string) error {
		n, err := strconv.ParseInt(s, 10, 64)
		if err != nil && !errors.Is(err, strconv.ErrRange) || n < least || n > most {
			return fmt.Errorf("%s is not a whole number%s", quoteWord(s), what)
		}
		*value = T(min(n, math.MaxInt))
		return nil
	}}
}

func boundedFlag(cmd *cobra.Command, value *int, name string, preset, least, most int, usage string) {
	*value = preset
	cmd.Flags().Var(bounded(value, least, most), name, fmt.Sprintf("%s, %d to %d", usage, least, most))
}

// bounded is an integer with a closed range.
func bounded(value *int, least, most int) pflag.Value {
	return whole(value, int64(least), int64(most), fmt.Sprintf(" from %d to %d", least, most))
}

// toggle is a boolean flag.
func toggle(value *bool) pflag.Value {
	return checked{"bool", func() string { return strconv.FormatBool(*value) }, func(s string) (err error) {
		if *value, err = strconv.ParseBool(s); err != nil {
			return fmt.Errorf("%s is neither true nor false", quoteWord(s))
		}
		return nil
	}}
}

// fraction is a number from 0 to 1.
func fraction(value *float64) pflag.Value {
	return checked{"number", func() string { return strconv.FormatFloat(*value, 'g', -1, 64) }, func(s string) error {
		n, err := strconv.ParseFloat(s, 64)
		if err != nil || !(n >= 0 && n <= 1) {
			return fmt.Errorf("%s is not a number from 0.0 to 1.0", quoteWord(s))
		}
		*value = n
		return nil
	}}
}

// refuseBlank fails when one of the named flags (of all that take text, without names) was given with nothing in it: an empty variable
// of a script must not widen what is asked for.
func refuseBlank(cmd *cobra.Command, code string, names ...string) (err error) {
	cmd.LocalNonPersistentFlags().VisitAll(func(f *pflag.Flag) {
		asked := slices.Contains(names, f.Name) || len(names) == 0 && f.Value.Type() == "string"
		if err == nil && asked && f.Changed && strings.TrimSpace(f.Value.String()) == "" {
			err = fault.New(code, "--%s is empty", f.Name).WithHint("leave --%s out, or give it a value", f.Name)
		}
	})
	return err
}

// outFlag adds --out. An empty name, as an unset variable gives it, must not send a file's content to the screen.
func outFlag(cmd *cobra.Command, value *string) {
	cmd.Flags().Var(checked{"file", func() string { return *value }, func(s string) error {
		if *value = s; strings.TrimSpace(s) == "" {
			return errors.New("a file name is needed")
		}
		return nil
	}}, "out", "write to this `file` instead of stdout, all or nothing")
}

// formats adds --format to cmd, whose first value is the preset, and tells the app which one the command runs in. It returns cmd.
func (a *App) formats(cmd *cobra.Command, allowed ...string) *cobra.Command {
	var value string
	choiceFlag(cmd.Flags(), &value, "format", allowed[0], "output format", allowed...)
	inner := cmd.PreRunE
	cmd.PreRunE = func(cmd *cobra.Command, args []string) error {
		a.format = value
		if inner != nil {
			return inner(cmd, args)
		}
		return nil
	}
	return cmd
}

// quoteWord shows a user's word inside a message: short, on one line, without control characters.
func quoteWord(s string) string { return onscreen.Quote(s) }

// redactFlag adds --redact to a command that prints what was recorded.
func redactFlag(cmd *cobra.Command) {
	cmd.Flags().Bool("redact", false, "put placeholders such as [redacted:github-pat] in place of secrets (default: [output] redact of config.toml)")
}

// redacts tells whether secrets are taken out: as the flag of the running command says, else as the settings do.
func (a *App) redacts(configured bool) bool {
	if a.running != nil {
		if flag := a.running.Flags().Lookup("redact"); flag != nil && flag.Changed {
			return flag.Value.String() == "true"
		}
	}
	return configured
}
