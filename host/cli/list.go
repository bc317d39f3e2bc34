package cli

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/agenthistory/ctx/host/history"
)

func (a *App) listCommand() *cobra.Command {
	return group("list", "List stored events", a.listEventsCommand())
}

func (a *App) listEventsCommand() *cobra.Command {
	var req history.RangeRequest
	var format string
	cmd := &cobra.Command{
		Use:   "events",
		Short: "List events in order of time, with filters",
		Long: `List events in order of time. --format json gives one page of at most 100 events and a cursor for the next one,
--format jsonl a stream, one record a line and a completion record at the end, which says whether --limit cut it.`,
		Args: noArguments,
	}
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if cmd.Flags().Changed("since") != cmd.Flags().Changed("until") {
			return usage(cmd, "--since and --until go together")
		}
		for _, refused := range []error{refuseBlank(cmd, "invalid_cursor", "cursor"), refuseBlank(cmd, "invalid_range")} {
			if refused != nil {
				return a.rangeFailure(refused)
			}
		}
		req.LimitGiven = cmd.Flags().Changed("limit")
		return a.listEvents(cmd, req, format)
	}
	flags := cmd.Flags()
	flags.StringVar(&req.Since, "since", "", "first time, RFC 3339 (with --until)")
	flags.StringVar(&req.Until, "until", "", "end of the range, RFC 3339, not included (with --since)")
	flags.StringArrayVar(&req.Providers, "provider", nil, "internal provider `id` (repeatable)")
	for _, f := range []struct {
		value       *string
		name, usage string
	}{
		{&req.Source, "source", "ctx source id"}, {&req.HistorySource, "history-source", "custom source, key/id"},
		{&req.ProviderKey, "provider-key", "custom provider key"}, {&req.SourceID, "source-id", "custom source id"},
		{&req.SourceFormat, "source-format", "source format"}, {&req.ProviderSession, "provider-session", "the provider's session id"},
		{&req.Session, "session", "ctx session id"}, {&req.ParentSession, "parent-session", "ctx id of the parent session"},
		{&req.RootSession, "root-session", "ctx id of the root session"}, {&req.Branch, "branch", "branch, exact"},
		{&req.Workspace, "workspace", "part of a directory"}, {&req.EventType, "event-type", "event type, exact"},
		{&req.Role, "role", "role, exact"}, {&req.AgentType, "agent-type", "agent scope or agent name, exact"},
		{&req.File, "file", "part of a file path"}, {&req.Cursor, "cursor", "go on after this cursor"},
	} {
		flags.StringVar(f.value, f.name, "", f.usage)
	}
	choiceFlag(cmd, &req.Scope, "scope", "all", "sessions", "all", "primary", "subagent")
	choiceFlag(cmd, &req.Direction, "direction", "ascending", "order of time", "ascending", "descending")
	choiceFlag(cmd, &req.Content, "content", "full", "how much of each event", "full", "text", "none")
	req.Limit = 10000
	flags.Var(wholeNumber(&req.Limit), "limit", "most events, 1 to 10000000")
	a.formatFlag(cmd, &format, "json", "json", "jsonl")
	return cmd
}

func (a *App) listEvents(cmd *cobra.Command, req history.RangeRequest, format string) error {
	s, err := a.open()
	if err != nil {
		return err
	}
	events, err := history.Events(cmd.Context(), s.store, req)
	if err != nil {
		return a.rangeFailure(err)
	}
	defer events.Close()
	defer func() { a.delivered(events.Items()) }()
	if format == "jsonl" {
		flush := func() error { return a.Stdout.(*resultWriter).Flush() }
		return a.rangeFailure(events.WriteJSONL(cmd.Context(), a.Stdout, flush))
	}
	page, err := events.Page(cmd.Context(), history.PageLimits{Events: 100})
	if err != nil {
		return a.rangeFailure(err)
	}
	line, err := page.AppendJSON(nil)
	if err != nil {
		return a.rangeFailure(err)
	}
	_, err = a.Stdout.Write(append(line, '\n'))
	return err
}

// rangeFailure prints the error object of this command, which has members of its own.
func (a *App) rangeFailure(err error) error {
	var output *outputError
	if err == nil || errors.As(err, &output) {
		return err
	}
	object, ok := history.RangeError(err)
	if !ok {
		return err
	}
	if _, werr := a.Stderr.Write(append(object, '\n')); werr != nil {
		return err
	}
	return reported{exitFailed}
}
