package cli

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/agenthistory/ctx/host/fault"
)

// choice is a flag with a closed list of values; anything else is a usage error.
type choice struct {
	value   *string
	allowed []string
}

func (c choice) String() string {
	if c.value == nil {
		return ""
	}
	return *c.value
}
func (c choice) Type() string { return "name" }
func (c choice) Set(s string) error {
	if !slices.Contains(c.allowed, s) {
		return fmt.Errorf("%s is not one of %s", quoteWord(s), strings.Join(c.allowed, ", "))
	}
	*c.value = s
	return nil
}

func choiceFlag(cmd *cobra.Command, value *string, name, preset, usage string, allowed ...string) {
	*value = preset
	cmd.Flags().Var(choice{value, allowed}, name, usage+": "+strings.Join(allowed, ", "))
}

// positiveCount is a number from 1 without an upper bound; what does not fit counts as everything.
type positiveCount struct{ value *int }

func (c positiveCount) String() string {
	if c.value == nil || *c.value == 0 {
		return ""
	}
	return strconv.Itoa(*c.value)
}
func (c positiveCount) Type() string { return "n" }
func (c positiveCount) Set(s string) error {
	n, err := strconv.ParseUint(s, 10, 63)
	if errors.Is(err, strconv.ErrRange) && !strings.HasPrefix(s, "-") {
		n, err = math.MaxInt, nil
	}
	if err != nil || n == 0 {
		return fmt.Errorf("%s is not a whole number above 0", quoteWord(s))
	}
	*c.value = int(min(n, math.MaxInt))
	return nil
}

// wholeNumber is any integer; its range is checked with its meaning.
type wholeNumber struct{ value *int64 }

func (w wholeNumber) String() string {
	if w.value == nil {
		return ""
	}
	return strconv.FormatInt(*w.value, 10)
}
func (w wholeNumber) Type() string { return "n" }
func (w wholeNumber) Set(s string) error {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) {
		return fmt.Errorf("%s is not a whole number", quoteWord(s))
	}
	*w.value = n
	return nil
}

// toggle is a boolean flag whose misspelling is told in plain words.
type toggle struct{ value *bool }

func (t toggle) String() string {
	if t.value == nil {
		return "false"
	}
	return strconv.FormatBool(*t.value)
}
func (t toggle) Type() string     { return "bool" }
func (t toggle) IsBoolFlag() bool { return true }
func (t toggle) Set(s string) error {
	on, err := strconv.ParseBool(s)
	if err != nil {
		return fmt.Errorf("%s is neither true nor false", quoteWord(s))
	}
	*t.value = on
	return nil
}

// flagProblem shortens the library's sentence about a bad value to the flag and what is wrong with it.
func flagProblem(err error) error {
	text := err.Error()
	if rest, ok := strings.CutPrefix(text, "invalid argument "); ok {
		if _, rest, ok = strings.Cut(rest, " flag: "); ok {
			name := text[strings.Index(text, "--"):]
			name, _, _ = strings.Cut(name, "\"")
			return errors.New(name + ": " + rest)
		}
	}
	return err
}

// refuseBlank fails when one of the named flags was given with nothing in it: an empty variable of a script must not widen what is
// asked for.
func refuseBlank(cmd *cobra.Command, code string, names ...string) error {
	for _, name := range names {
		if f := cmd.Flags().Lookup(name); f != nil && f.Changed && strings.TrimSpace(f.Value.String()) == "" {
			return fault.New(code, "--%s is empty", name).WithHint("leave --%s out, or give it a value", name)
		}
	}
	return nil
}

// formatFlag adds --format and tells the app which format the command runs in, so that failures have the right form.
func (a *App) formatFlag(cmd *cobra.Command, value *string, preset string, allowed ...string) {
	choiceFlag(cmd, value, "format", preset, "output format", allowed...)
	inner := cmd.PreRunE
	cmd.PreRunE = func(cmd *cobra.Command, args []string) error {
		a.format = value
		if inner != nil {
			return inner(cmd, args)
		}
		return nil
	}
}

// bounded is an integer flag with a closed range.
type bounded struct {
	value    *int
	min, max int
}

func (b bounded) String() string {
	if b.value == nil {
		return ""
	}
	return strconv.Itoa(*b.value)
}
func (b bounded) Type() string { return "n" }
func (b bounded) Set(s string) error {
	n, err := strconv.Atoi(s)
	if err != nil || n < b.min || n > b.max {
		return fmt.Errorf("%s is not a whole number from %d to %d", quoteWord(s), b.min, b.max)
	}
	*b.value = n
	return nil
}

func boundedFlag(cmd *cobra.Command, value *int, name string, preset, min, max int, usage string) {
	*value = preset
	cmd.Flags().Var(bounded{value, min, max}, name, fmt.Sprintf("%s, %d to %d", usage, min, max))
}

// fraction is a number from 0 to 1.
type fraction struct{ value *float64 }

func (f fraction) String() string {
	if f.value == nil {
		return ""
	}
	return strconv.FormatFloat(*f.value, 'g', -1, 64)
}
func (f fraction) Type() string { return "number" }
func (f fraction) Set(s string) error {
	n, err := strconv.ParseFloat(s, 64)
	if err != nil || !(n >= 0 && n <= 1) {
		return fmt.Errorf("%s is not a number from 0.0 to 1.0", quoteWord(s))
	}
	*f.value = n
	return nil
}

// quoteWord shows a user's word inside a message: short, on one line, without control characters.
func quoteWord(s string) string {
	const most = 80
	runes := []rune(s)
	if len(runes) > most {
		runes = append(runes[:most], '…')
	}
	return strconv.Quote(string(runes))
}
