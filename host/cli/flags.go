package cli

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
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
func (c choice) Type() string { return strings.Join(c.allowed, "|") }
func (c choice) Set(s string) error {
	if !slices.Contains(c.allowed, s) {
		return fmt.Errorf("%s is not one of %s", quoteWord(s), strings.Join(c.allowed, ", "))
	}
	*c.value = s
	return nil
}

func choiceFlag(cmd *cobra.Command, value *string, name, preset, usage string, allowed ...string) {
	*value = preset
	cmd.Flags().Var(choice{value, allowed}, name, usage)
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
	cmd.Flags().Var(bounded{value, min, max}, name, fmt.Sprintf("%s (%d to %d)", usage, min, max))
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
