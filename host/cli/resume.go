package cli

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/agenthistory/ctx/host/fault"
	"github.com/agenthistory/ctx/host/history"
	"github.com/agenthistory/ctx/host/record"
	"github.com/agenthistory/ctx/host/search"
	"github.com/agenthistory/ctx/host/sources"
)

// resumption is how an agent goes on with a session of its own.
type resumption struct {
	Schema          int      `json:"schema_version"`
	Session         string   `json:"ctx_session_id"`
	Provider        string   `json:"provider"`
	ProviderSession string   `json:"provider_session_id"`
	Argv            []string `json:"argv"`
	Directory       *string  `json:"cwd"` // null = any directory will do
	Command         string   `json:"command"`
}

func (a *App) resumeCommand() *cobra.Command {
	var run bool
	cmd := a.ofSession(&cobra.Command{
		Use:   "resume [ID]",
		Short: "Print the agent's own command that goes on with a session",
		Long: `Print the command with which the agent itself goes on with a session, in the directory of the session.
With --exec it is run here and now, in that directory.`,
	}, func(cmd *cobra.Command, s *session, _ *history.View, found *history.Session) error {
		how, err := s.resumption(cmd.Context(), found)
		if err != nil {
			return err
		}
		if run {
			return a.takeOver(cmd, how)
		}
		return a.answer(how, func(p *page) { p.printf("%s\n", how.Command) })
	})
	cmd.Flags().BoolVar(&run, "exec", false, "run it here and now instead of printing it")
	return a.formats(cmd, "text", "json")
}

func (s *session) resumption(ctx context.Context, found *history.Session) (*resumption, error) {
	plugins := s.plugins()
	for _, d := range sources.Describe(ctx, s.config, s.app.Self, plugins.Names(), plugins.Describe) {
		if how := d.Description.GetResume(); how != nil && d.Description.GetId() == found.Provider {
			if how.GetPrimaryOnly() && found.Scope == record.ScopeSubagent {
				return nil, notResumable("the session of a subagent cannot be resumed by itself", found)
			}
			return resume(found, how.GetArgv(), how.GetInCwd())
		}
	}
	return nil, notResumable("no command is known that resumes a session of "+found.Provider, found)
}

func notResumable(why string, found *history.Session) error {
	return fault.New("not_supported", "%s", why).WithHint("ctx show session %s", found.ID)
}

// resume fills the provider's template for one session.
func resume(found *history.Session, template []string, inDirectory bool) (*resumption, error) {
	if found.ProviderSessionID == "" {
		return nil, notResumable("the agent gave this session no id", found)
	}
	r := &resumption{Schema: 1, Session: found.ID.String(), Provider: found.Provider, ProviderSession: found.ProviderSessionID}
	directory := found.Meta.CWD
	needed := inDirectory || slices.ContainsFunc(template, func(word string) bool { return strings.Contains(word, "{cwd}") })
	if needed && directory == "" {
		return nil, notResumable("the directory of this session is not known", found)
	}
	fill := strings.NewReplacer("{provider_session_id}", found.ProviderSessionID, "{cwd}", directory)
	var words []string
	for _, word := range template {
		word = fill.Replace(word)
		r.Argv = append(r.Argv, word)
		words = append(words, search.QuoteShell(word))
	}
	r.Command = strings.Join(words, " ")
	if inDirectory {
		r.Directory = &directory
		r.Command = "cd " + search.QuoteShell(directory) + " && " + r.Command
	}
	return r, nil
}

// takeOver runs the agent with this terminal and ends as it ends.
func (a *App) takeOver(cmd *cobra.Command, r *resumption) error {
	program, err := exec.LookPath(r.Argv[0])
	if err != nil {
		return fault.Wrap(err, fault.ResourceUnavailable, "%s is not installed here", quoteWord(r.Argv[0])).WithHint("%s", r.Command)
	}
	child := exec.CommandContext(cmd.Context(), program, r.Argv[1:]...)
	child.Stdin, child.Stdout, child.Stderr = os.Stdin, a.Stdout, a.Stderr
	if r.Directory != nil {
		child.Dir = *r.Directory
	}
	var exit *exec.ExitError
	switch err := child.Run(); {
	case err == nil:
		return nil
	case errors.As(err, &exit) && exit.ExitCode() > 0:
		return reported{exit.ExitCode()}
	default:
		return fault.Wrap(err, fault.ResourceUnavailable, "%s could not be run in %s", quoteWord(r.Argv[0]), quoteWord(child.Dir)).WithHint("%s", r.Command)
	}
}
