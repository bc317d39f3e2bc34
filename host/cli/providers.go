package cli

import (
	"context"
	"fmt"
	"slices"

	"github.com/hashicorp/go-hclog"

	"github.com/agenthistory/ctx/host/config"
	"github.com/agenthistory/ctx/host/fault"
	"github.com/agenthistory/ctx/host/logfile"
	"github.com/agenthistory/ctx/host/pluginhost"
	"github.com/agenthistory/ctx/host/refresh"
	"github.com/agenthistory/ctx/host/sources"
	"github.com/agenthistory/ctx/sdkplugin/historyv1"
)

// provider resolves any public spelling of a provider to its id.
func (s *session) provider(spelling string) (string, error) {
	known, ok := config.ProviderNamed(spelling)
	if !ok {
		return "", fault.New(fault.InvalidRequest, "no provider is called %s; examples are claude, codex and cursor", quoteWord(spelling)).
			WithHint("ctx sources --all")
	}
	return known.ID, nil
}

// launched starts the built-in providers of this program.
type launched struct {
	names    []string
	launcher pluginhost.Launcher
}

// Names lists the built-in providers in their public order.
func (l *launched) Names() []string { return l.names }

// Start runs one of them.
func (l *launched) Start(ctx context.Context, name string) (refresh.Plugin, error) {
	if !slices.Contains(l.names, name) {
		return nil, fault.New(fault.NotFound, "no built-in provider %s", quoteWord(name))
	}
	plugin, err := l.launcher.Start(ctx, pluginhost.Spec{Name: name})
	if err != nil {
		return nil, err
	}
	return plugin, nil
}

// plugins returns the starter of the built-in providers. Their life is logged below the data root, never on stdout or stderr.
func (s *session) plugins() *launched {
	file := logfile.New(s.dataRoot)
	l := &launched{launcher: pluginhost.Launcher{
		Self: s.app.Self, Version: version, LogFile: file, Log: file.Logger(hclog.Info),
	}}
	for _, p := range s.app.Providers {
		l.names = append(l.names, p.Name)
	}
	return l
}

// refresh runs a refresh in this process: a finite worker that ends with its work.
func (s *session) refresh(ctx context.Context, req refresh.Request) (*refresh.Report, error) {
	s.app.writerMemory()
	s.app.fellBack = true // a refresh builds a damaged index again instead of warning about it
	plugins := s.plugins()
	req.Config, req.Store, req.Plugins, req.Executable = s.config, s.store, plugins, s.app.Self
	log := plugins.launcher.Log
	req.Log = func(format string, args ...any) { log.Info(fmt.Sprintf(format, args...)) }
	return refresh.Run(ctx, req)
}

// discover lists the places of one provider, or of all.
func (s *session) discover(ctx context.Context, provider string) (*sources.Discovery, error) {
	plugins := s.plugins()
	described := sources.Describe(ctx, s.config, s.app.Self, plugins.Names(), describer(plugins))
	return sources.Discover(ctx, sources.Input{Config: s.config, Descriptions: described, Provider: provider})
}

// describer starts a provider for its description only.
func describer(plugins *launched) sources.Describer {
	return func(ctx context.Context, name string) (*historyv1.DescribeResponse, error) {
		plugin, err := plugins.Start(ctx, name)
		if err != nil {
			return nil, err
		}
		defer plugin.Close()
		return plugin.Descriptor(), nil
	}
}
