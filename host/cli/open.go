package cli

import (
	"context"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/agenthistory/ctx/host/config"
	"github.com/agenthistory/ctx/host/core"
	"github.com/agenthistory/ctx/host/history"
	"github.com/agenthistory/ctx/host/redact"
	"github.com/agenthistory/ctx/host/search"
)

// session is what a command works with: the data root, its settings, and the store below it. Opening one touches nothing.
type session struct {
	app      *App
	dataRoot string
	env      config.Environment
	config   *config.Config
	redact   *redact.Redactor // for what is read from the index; nil: nothing is taken out
	store    *core.Store
}

// open resolves the data root and reads its settings. A malformed config file is a failure of every command that needs settings.
func (a *App) open() (*session, error) {
	s, err := a.place()
	if err != nil {
		return nil, err
	}
	s.config, err = config.Load(s.dataRoot, s.env)
	if err == nil && a.redacts(s.config.Redact) {
		s.redact = redact.New()
	}
	return s, err
}

// opened makes a command of what needs an open session.
func (a *App) opened(run func(*cobra.Command, *session, []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		s, err := a.open()
		if err != nil {
			return err
		}
		return run(cmd, s, args)
	}
}

// place is open without the settings, for commands that answer even when the config file is malformed.
func (a *App) place() (*session, error) {
	env := config.System()
	root, err := config.DataRoot(a.dataRoot, env)
	if err != nil {
		return nil, err
	}
	return &session{app: a, dataRoot: root, env: env, store: core.Open(filepath.Join(root, "core"), core.Options{Fallback: a.warnFallback})}, nil
}

// warnFallback tells once that the answer comes from the generation before a damaged one.
func (a *App) warnFallback(error) {
	if a.fellBack {
		return
	}
	a.fellBack = true
	a.complain(markWarning, "the newest index is damaged; the one before it answers\n\nNext\n  ctx import --all\n")
}

func (s *session) lookupEnv(name string) (string, bool) { return s.app.LookupEnv(name) }

func (s *session) search() *search.Service {
	service := &search.Service{Store: s.store, Provider: s.provider, SemanticEnabled: s.config.Semantic.On, Redact: s.redact}
	if !s.defaultRoot() {
		service.DataRoot = s.dataRoot
	}
	return service
}

// reading lets use read what is stored.
func (s *session) reading(ctx context.Context, use func(*history.View) error) error {
	view, err := history.Open(ctx, s.store)
	if err != nil {
		return err
	}
	defer view.Close()
	view.Redact = s.redact
	return use(view)
}

// defaultRoot tells whether commands work without naming the data root.
func (s *session) defaultRoot() bool {
	root, err := config.DataRoot("", s.env)
	return err == nil && root == s.dataRoot
}

// program is ctx as a part of commands to copy: with the data root where it is not the usual one.
func (s *session) program() string {
	if s.defaultRoot() {
		return "ctx"
	}
	return "ctx --data-root " + search.QuoteShell(s.dataRoot)
}
