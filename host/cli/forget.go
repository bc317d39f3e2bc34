package cli

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/agenthistory/ctx/host/fault"
	"github.com/agenthistory/ctx/host/history"
	"github.com/agenthistory/ctx/host/record"
	"github.com/agenthistory/ctx/host/retention"
)

func (a *App) forgetCommand() *cobra.Command {
	var undo bool
	cmd := reporting(a, &cobra.Command{
		Use:   "forget SESSION",
		Short: "Remove one session from the index for good",
		Long: `Remove one session from the index, from every root that holds it, and never import it again. The agent's own files stay as they are.
Sessions that came out of it (subagents, forks) are sessions of their own and stay. --undo takes the full id and lets the next import
bring the session back with the same ids.`,
		Args: exactlyOne("a session id"),
	}, func(cmd *cobra.Command, s *session, args []string) (*retention.Forgetting, error) {
		if undo {
			return s.undoForget(cmd.Context(), args[0])
		}
		return s.forget(cmd.Context(), args[0])
	}, printForgetting)
	cmd.Flags().BoolVar(&undo, "undo", false, "let the next import bring the session back")
	return cmd
}

func (s *session) archive() *retention.Archive {
	s.app.writerMemory()
	log := s.plugins().launcher.Log
	return &retention.Archive{Store: s.store, DataRoot: s.dataRoot, Log: func(format string, args ...any) { log.Info(fmt.Sprintf(format, args...)) }}
}

// storedSession resolves the id of a stored session.
func (s *session) storedSession(ctx context.Context, id string) (stored record.Digest, err error) {
	err = s.reading(ctx, func(view *history.View) error {
		found, err := view.FindSession(ctx, history.SessionSelector{ID: id})
		if err == nil {
			stored = found.ID
		}
		return err
	})
	return stored, err
}

func (s *session) forget(ctx context.Context, text string) (*retention.Forgetting, error) {
	id, err := s.storedSession(ctx, text)
	if err == nil {
		return s.archive().Forget(ctx, id)
	}
	if fault.Code(err) != fault.NotFound {
		return nil, err
	}
	list, listErr := retention.LoadForgotten(s.dataRoot)
	if listErr != nil {
		return nil, listErr
	}
	digits, _, _ := history.ParseID("session", text) // it was parsed before
	if ids, provider := list.Find(digits); len(ids) == 1 {
		return &retention.Forgetting{SchemaVersion: 1, Operation: "forget", SessionID: ids[0], Provider: provider}, nil
	}
	return nil, err
}

func (s *session) undoForget(ctx context.Context, text string) (*retention.Forgetting, error) {
	digits, full, err := history.ParseID("session", text)
	if err != nil {
		return nil, err
	}
	if !full {
		return nil, fault.New(fault.InvalidRequest, "the session is not stored any more, so a prefix cannot name it").WithHint("Give the full id")
	}
	return s.archive().Undo(ctx, uuid.MustParse(digits).String())
}

func printForgetting(p *page, done *retention.Forgetting) {
	switch {
	case done.Operation == "undo" && done.Changed:
		p.outcome(markDone, "Session %s may come back", done.SessionID)
		p.next("ctx import --all")
		return
	case done.Operation == "undo":
		p.outcome(markDone, "Session %s is not forgotten; nothing changed", done.SessionID)
		return
	case !done.Changed:
		p.outcome(markDone, "Session %s was forgotten before; nothing changed", done.SessionID)
		return
	}
	p.outcome(markDone, "Session %s is forgotten", done.SessionID)
	p.section("Removed", field{"Sessions", count(done.Sessions)}, field{"Events", count(done.Events)})
	if done.Children > 0 {
		p.gap()
		p.printf("Still in the index: %s that came out of it\n", plural(int(done.Children), "session"))
	}
	p.next("ctx forget --undo " + done.SessionID)
}
