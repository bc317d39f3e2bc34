package cli

import (
	"context"
	"errors"
	"os"

	"github.com/spf13/cobra"

	"github.com/agenthistory/ctx/host/config"
	"github.com/agenthistory/ctx/host/core"
	"github.com/agenthistory/ctx/host/fault"
	"github.com/agenthistory/ctx/host/mcp"
	"github.com/agenthistory/ctx/host/redact"
	"github.com/agenthistory/ctx/host/search"
	localusage "github.com/agenthistory/ctx/host/usage"
)

// serverCache is what a server keeps of the records in memory, in bytes. Half of a search is reading records; agents come back to the
// same ones.
const serverCache = 24 << 20

func (a *App) mcpCommand() *cobra.Command {
	return group("mcp", "Serve the history to agents over the Model Context Protocol", a.mcpServeCommand())
}

func (a *App) mcpServeCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Serve MCP on stdin and stdout",
		Long: `Serve the Model Context Protocol: one JSON-RPC message a line on stdin, one answer a line on stdout, until the input ends.
It is meant for agents and MCP hosts that discover tools instead of running shell commands; the command line stays the primary
interface. The tools only read. What they return is private local history, which the MCP host may log or forward.`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := a.place()
			if err != nil {
				return err
			}
			server := s.mcpServer()
			go server.Wake(cmd.Context()) // bounded, and nobody waits for it
			return server.Serve(cmd.Context(), os.Stdin, a.Stdout)
		},
	}
	redactFlag(cmd)
	return cmd
}

// mcpServer answers from this session. Settings are read again for every call that needs them: an edit takes effect, and a file that
// breaks while serving fails those calls only.
func (s *session) mcpServer() *mcp.Server {
	s.store = core.Open(s.store.Dir(), core.Options{Fallback: s.app.warnFallback, Cache: serverCache})
	redactor := redact.New()
	recorder := localusage.NewRecorder(s.dataRoot, s.env, version)
	return &mcp.Server{
		Version: version, Store: s.store,
		Redact: func() *redact.Redactor {
			fresh, err := s.reloaded()
			if !s.app.redacts(err != nil || fresh.config.Redact) { // settings that cannot be read may ask for it
				return nil
			}
			return redactor
		},
		Record: func(d mcp.Delivery) {
			call := localusage.Call{
				Surface: localusage.MCP, Operation: d.Tool, Failed: d.Code != "", Duration: d.Duration, OutputBytes: int64(d.Bytes), Results: d.Rows,
			}
			if d.Tool == "search" && !call.Failed { // the sizes of the sessions behind the results are not stored
				call.Search = &localusage.SearchBytes{Delivered: int64(d.Snippets)}
			}
			recorder.Record(call)
		},
		Status: func(ctx context.Context) (any, error) {
			fresh, err := s.reloaded()
			if err != nil {
				return unconfigured(), err
			}
			return fresh.observe(ctx)
		},
		Sources: func(ctx context.Context) (any, error) {
			fresh, err := s.reloaded()
			if err != nil {
				return nil, err
			}
			found, err := fresh.discover(ctx, "")
			if err != nil {
				return nil, err
			}
			return found.Listing(true), nil
		},
		Wake: func(ctx context.Context) bool {
			fresh, err := s.reloaded()
			return err == nil && fresh.control().Ensure(ctx, "search")
		},
		Search: func() *search.Service {
			fresh, err := s.reloaded()
			if err != nil {
				fresh.config = &config.Config{DataRoot: s.dataRoot} // lexical search needs no setting
			}
			return fresh.search()
		},
	}
}

// reloaded is the session with the settings of this moment.
func (s *session) reloaded() (*session, error) {
	fresh := *s
	var err error
	fresh.config, err = config.Load(s.dataRoot, s.env)
	var f *fault.Error
	if err != nil && !errors.As(err, &f) {
		err = fault.Wrap(err, fault.ConfigMalformed, "the configuration cannot be read")
	}
	return &fresh, err
}
