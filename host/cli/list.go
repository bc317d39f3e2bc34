package cli

import (
	"cmp"
	"context"
	"errors"
	"math"

	"github.com/spf13/cobra"

	"github.com/agenthistory/ctx/host/fault"
	"github.com/agenthistory/ctx/host/history"
)

func (a *App) listCommand() *cobra.Command {
	return group("list", "List stored sessions or events", a.listSessionsCommand(), a.listEventsCommand())
}

// filterFlags adds the filters that all listings share. The provider has a flag of its own in each.
func filterFlags(cmd *cobra.Command, req *history.RangeRequest) {
	for _, f := range []struct {
		value       *string
		name, usage string
	}{
		{&req.Source, "source", "ctx source `id`"}, {&req.HistorySource, "history-source", "custom source, as `key/id`"},
		{&req.ProviderKey, "provider-key", "custom provider `key`"}, {&req.SourceID, "source-id", "custom source `id`"},
		{&req.SourceFormat, "source-format", "source `format`"}, {&req.ProviderSession, "provider-session", "the provider's session `id`"},
		{&req.Session, "session", "ctx session `id`"}, {&req.ParentSession, "parent-session", "ctx `id` of the parent session"},
		{&req.RootSession, "root-session", "ctx `id` of the root session"}, {&req.Branch, "branch", "`name` of the branch, exact"},
		{&req.Workspace, "workspace", "`text` in the directory of the session"}, {&req.EventType, "event-type", "event `type`, exact"},
		{&req.Role, "role", "`role`, exact"}, {&req.AgentType, "agent-type", "agent scope or agent `name`, exact"},
		{&req.File, "file", "`text` in the path of a file"},
	} {
		cmd.Flags().StringVar(f.value, f.name, "", f.usage)
	}
	choiceFlag(cmd.Flags(), &req.Scope, "scope", "all", "sessions", "all", "primary", "subagent")
}

func (a *App) listSessionsCommand() *cobra.Command {
	var req history.RangeRequest
	var since string
	var limit int
	cmd := &cobra.Command{
		Use:   "sessions",
		Short: "List sessions, the newest first, with filters",
		Long: `List sessions, the one with the newest event first. The filters are those of list events: a session is listed when at least one of
its events passes all of them.`,
		Args: noArguments,
	}
	cmd.RunE = a.opened(func(cmd *cobra.Command, s *session, _ []string) (err error) {
		if err := refuseBlank(cmd, fault.InvalidRequest); err != nil {
			return err
		}
		for i, name := range req.Providers {
			if req.Providers[i], err = s.provider(name); err != nil {
				return err
			}
		}
		req.Limit = int64(limit)
		return s.view(cmd, "", "", func(ctx context.Context, view *history.View) error {
			found, err := view.Sessions(ctx, req, since)
			if err != nil {
				return err
			}
			a.delivered(len(found.Sessions))
			return a.answer(found, func(p *page) { s.printSessions(p, view, found) })
		})
	})
	cmd.Flags().StringArrayVar(&req.Providers, "provider", nil, "only this `provider` (repeatable)")
	cmd.Flags().StringVar(&since, "since", "", "with an event since this `time`: 7d for seven days back, or RFC 3339")
	filterFlags(cmd, &req)
	boundedFlag(cmd, &limit, "limit", 20, 1, 10000, "most sessions")
	redactFlag(cmd)
	return a.formats(cmd, "text", "json")
}

// printSessions writes two lines a session: what it is about, and below, dimmed, whose it is, when and where.
func (s *session) printSessions(p *page, view *history.View, found *history.SessionList) {
	switch {
	case view.Generation().Manifest().Stats.Sessions == 0:
		p.outcome(markWarning, "No session is indexed")
		p.next(s.program() + " sources --all")
		return
	case found.Matched == 0:
		p.outcome(markWarning, "No session passes these filters")
		return
	case found.More:
		p.printf("%s of %s, the newest first\n\n", count(len(found.Sessions)), plural(found.Matched, "session"))
	default:
		p.printf("%s, the newest first\n\n", plural(found.Matched, "session"))
	}
	for i := range found.Sessions {
		row := &found.Sessions[i]
		id, part := view.OwnSession(row.ID), ""
		if row.AgentScope == "subagent" {
			part = "subagent"
		}
		room := titleGraphemes
		if p.style.width > 0 {
			room = min(room, p.style.width-len(id)-2)
		}
		p.printf("%s  %s\n", id, p.style.bold(clipGraphemes(oneLine(cmp.Or(row.Title, row.Opening, "(nothing said)")), room)))
		below := joinNonEmpty(" · ", row.Provider, part, row.LastEventAt, plural(row.Events, "event"),
			s.shortPath(oneLine(cmp.Or(row.CWD, row.WorkspaceLabel))), oneLine(row.Branch), goneNote(row.SourceState))
		for _, piece := range p.wrap(below, len(id)+2) {
			p.line(len(id)+2, p.style.dim(piece))
		}
	}
	p.begun = true
	if found.More {
		p.gap()
		p.printf("More sessions exist; raise --limit or add a filter\n")
	}
	p.next(s.program() + " show session " + view.OwnSession(found.Sessions[0].ID))
}

func (a *App) listEventsCommand() *cobra.Command {
	var req history.RangeRequest
	cmd := &cobra.Command{
		Use:   "events",
		Short: "List events in order of time, with filters",
		Long: `List events in order of time, for programs. --format json gives one page of at most 100 events and a cursor for the next one,
--format jsonl a stream, one record a line and a completion record at the end, which says whether --limit cut it. For people there are
ctx list sessions and ctx show session.`,
		Args: noArguments,
	}
	cmd.PreRunE = func(cmd *cobra.Command, _ []string) error {
		if cmd.Flags().Changed("since") != cmd.Flags().Changed("until") {
			return usage(cmd, "--since and --until go together")
		}
		return a.rangeFailure(cmp.Or(refuseBlank(cmd, "invalid_cursor", "cursor"), refuseBlank(cmd, "invalid_range")))
	}
	cmd.RunE = a.opened(func(cmd *cobra.Command, s *session, _ []string) error {
		req.LimitGiven = cmd.Flags().Changed("limit")
		return a.listEvents(cmd, s, req)
	})
	flags := cmd.Flags()
	flags.StringVar(&req.Since, "since", "", "first `time`, RFC 3339 (with --until)")
	flags.StringVar(&req.Until, "until", "", "`time` where the range ends, RFC 3339, not included (with --since)")
	flags.StringArrayVar(&req.Providers, "provider", nil, "internal provider `id` (repeatable)")
	filterFlags(cmd, &req)
	flags.StringVar(&req.Cursor, "cursor", "", "go on after this `cursor`")
	choiceFlag(cmd.Flags(), &req.Direction, "direction", "ascending", "order of time", "ascending", "descending")
	choiceFlag(cmd.Flags(), &req.Content, "content", "full", "how much of each event", "full", "text", "none")
	req.Limit = 10000
	flags.Var(whole(&req.Limit, math.MinInt64, math.MaxInt64, ""), "limit", "most events, 1 to 10000000")
	redactFlag(cmd)
	return a.formats(cmd, "json", "jsonl")
}

func (a *App) listEvents(cmd *cobra.Command, s *session, req history.RangeRequest) error {
	events, err := history.Events(cmd.Context(), s.store, req)
	if err != nil {
		return a.rangeFailure(err)
	}
	defer events.Close()
	events.Redact(s.redact)
	defer func() { a.delivered(events.Items()) }()
	if a.format == "jsonl" {
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
