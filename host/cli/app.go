// Package cli is the command line of ctx.
//
// A command is one file: its flags, what it asks a service for, and how the answer is rendered. Commands hold no logic of their
// own; search, history, refresh, sources and status do the work. Words used here: a *format* is text, markdown, json or jsonl;
// json and jsonl are the *machine formats*, in which a failure is one JSON object on stderr and stdout stays empty; a *usage
// error* is what the parser can see (exit 2), a *failure* is everything later (exit 1). stdout carries the selected result and
// nothing else.
package cli

import (
	"context"
	"errors"
	"io"
	"math"
	"runtime/debug"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/agenthistory/ctx/host/config"
	localusage "github.com/agenthistory/ctx/host/usage"
)

// version is set by the linker.
var version = "dev"

// Provider is a built-in provider: the same binary serves it when started as `ctx provider serve NAME`.
type Provider struct {
	Name  string
	Serve func()
}

// App is one run of the program.
type App struct {
	Stdout, Stderr io.Writer
	Getenv         func(string) string
	LookupEnv      func(string) (string, bool)
	// Self is the path of the running executable; the providers are started from it.
	Self      string
	Providers []Provider
	// CountUsage lets commands leave a usage record in the data root.
	CountUsage bool

	dataRoot string
	color    string // auto, always, never
	quiet    bool
	fellBack bool           // the warning about a damaged index was given
	format   string         // of the running command, "" before it is known
	running  *cobra.Command // nil before its flags and arguments were understood
	call     localusage.Call
}

// Run executes one command line (without the program name) and returns the exit code: 0 done, 1 failed, 2 not understood.
func (a *App) Run(ctx context.Context, args []string) int {
	started := time.Now()
	a.readerMemory()
	out, stderr := newResultWriter(a.Stdout), &metered{w: a.Stderr}
	a.Stdout, a.Stderr = out, stderr
	root := a.root()
	root.SetOut(out)
	root.SetErr(a.Stderr)
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd(args...)
	args, err := a.understood(ctx, root, args)
	if err == nil {
		root.SetArgs(args)
		err = root.ExecuteContext(ctx)
	}
	if flushErr := out.Flush(); err == nil {
		err = flushErr
	}
	code := a.exit(err)
	a.countUsage(out, stderr, started, code)
	return code
}

// readerMemory lets a command that only reads end before it ever collects garbage: it lives for milliseconds and needs little.
// What the user decided stays.
func (a *App) readerMemory() {
	if a.Getenv("GOMEMLIMIT") == "" && a.Getenv("GOGC") == "" {
		debug.SetMemoryLimit(64 << 20)
		debug.SetGCPercent(400)
	}
}

// writerMemory takes the reader's bounds back: a refresh sets a budget of its own.
func (a *App) writerMemory() {
	if a.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(math.MaxInt64)
	}
}

func (a *App) root() *cobra.Command {
	root := &cobra.Command{
		Use:              "ctx",
		Short:            "Search and read the history of your coding agents",
		Long:             rootLong,
		Version:          version,
		SilenceErrors:    true,
		SilenceUsage:     true,
		Args:             noArguments,
		RunE:             func(cmd *cobra.Command, _ []string) error { return a.welcome(cmd) },
		PersistentPreRun: func(cmd *cobra.Command, _ []string) { a.running = cmd },
	}
	root.SetVersionTemplate("ctx {{.Version}}\n")
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error { return &usageError{cmd: cmd, err: flagProblem(cmd, err)} })
	root.SetUsageTemplate(usageTemplate)
	root.SetHelpTemplate(helpTemplate)
	flags := root.PersistentFlags()
	flags.StringVar(&a.dataRoot, "data-root", "", "`path` of the data root (environment CTX_DATA_ROOT; default ~/.ctx)")
	a.color = "auto"
	flags.Var(choice(&a.color, "auto", "always", "never"), "color", "color of human output: auto, always or never")
	a.quiet = config.Truthy(a.Getenv("CTX_QUIET"))
	flags.Var(toggle(&a.quiet), "quiet", "hide successful text of setup and status, never errors, JSON or other results")
	flags.Lookup("quiet").NoOptDefVal = "true"
	flags.Lookup("quiet").DefValue = "false"
	for _, part := range a.commands() {
		root.AddGroup(&cobra.Group{ID: part.title, Title: part.title})
		for _, cmd := range part.commands {
			cmd.GroupID = part.title
			root.AddCommand(cmd)
		}
	}
	root.AddCommand(a.providerCommand())
	root.SetHelpCommandGroupID(helpTitle)
	root.SetCompletionCommandGroupID(helpTitle)
	return root
}

const rootLong = `ctx reads the session histories of coding agents where they lie on this machine, without changing them,
and gives exact recall: search, the transcript behind every hit, stable ids. Nothing leaves the machine.

ctx alone tells what it would index on this machine, or how the index stands.`

const helpTitle = "Help"

// part is a part of the help of ctx.
type part struct {
	title    string
	commands []*cobra.Command
}

func (a *App) commands() []part {
	return []part{
		{"Find and read", []*cobra.Command{a.searchCommand(), a.listCommand(), a.showCommand(), a.locateCommand(), a.resumeCommand(), a.exportCommand()}},
		{"The index", []*cobra.Command{a.setupCommand(), a.importCommand(), a.indexCommand(), a.daemonCommand(), a.sourcesCommand(), a.forgetCommand()}},
		{"How it stands", []*cobra.Command{a.statusCommand(), a.doctorCommand(), a.statsCommand()}},
		{"Agents and plugins", []*cobra.Command{a.integrationsCommand(), a.mcpCommand(), a.pluginsCommand()}},
		{helpTitle, []*cobra.Command{a.docsCommand()}},
	}
}

// usageError is what the parser can see: it exits 2 and shows how the command is used.
type usageError struct {
	cmd *cobra.Command
	err error
}

func (e *usageError) Error() string { return e.err.Error() }
func (e *usageError) Unwrap() error { return e.err }

func usage(cmd *cobra.Command, text string) error {
	return &usageError{cmd: cmd, err: errors.New(text)}
}

func missingCommand(cmd *cobra.Command) error {
	what := "a command: "
	if takesID(cmd) {
		what = "an id, or a command: "
	}
	return usage(cmd, cmd.CommandPath()+" needs "+what+strings.Join(commandNames(cmd), ", "))
}

func noArguments(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	if cmd.HasSubCommands() {
		return unknownWord(cmd, args[0])
	}
	return usage(cmd, "unexpected argument "+quoteWord(args[0]))
}

func atMostOne(what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) < 2:
			return nil
		case what == "query":
			return usage(cmd, "one query at most; put several words in quotes: "+quoteWord(strings.Join(args, " ")))
		}
		return usage(cmd, "one "+what+" at most, got "+quoteWord(args[1])+" too")
	}
}

func exactlyOne(what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return usage(cmd, what+" is needed")
		}
		_, one, _ := strings.Cut(what, " ") // without its article
		return atMostOne(one)(cmd, args)
	}
}

// exclusive fails when two of the named flags are given.
func exclusive(cmd *cobra.Command, names ...string) error {
	given := ""
	for _, name := range names {
		if !cmd.Flags().Changed(name) {
			continue
		}
		if given != "" {
			return usage(cmd, "--"+given+" and --"+name+" exclude each other")
		}
		given = name
	}
	return nil
}

// group is a command that only holds others.
func group(use, short string, inner ...*cobra.Command) *cobra.Command {
	cmd := &cobra.Command{Use: use + onlyHolds, DisableFlagsInUseLine: true, Short: short, Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return missingCommand(cmd) }}
	cmd.AddCommand(inner...)
	return cmd
}
