package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/agenthistory/ctx/host/fault"
	"github.com/agenthistory/ctx/host/logfile"
	"github.com/agenthistory/ctx/host/pluginhost"
	"github.com/agenthistory/ctx/host/refresh"
	"github.com/agenthistory/ctx/host/sources"
	"github.com/agenthistory/ctx/sdkplugin/historyv1"
)

// provider resolves any public spelling of a provider to its id.
func (s *session) provider(spelling string) (string, error) {
	known, ok := s.config.ProviderNamed(spelling)
	if !ok {
		delivered := s.app.builtin()
		for _, plugin := range s.config.Installed {
			if plugin.Trusted {
				delivered = append(delivered, plugin.Provider.CLIName)
			}
		}
		meant := didYouMean(strings.ToLower(spelling), "", delivered)
		if meant == "" {
			meant = "; examples are claude, codex and cursor"
		}
		return "", fault.New(fault.InvalidRequest, "no provider is called %s%s", quoteWord(spelling), meant).WithHint("ctx sources --all")
	}
	return known.ID, nil
}

// launched starts the delivered providers: the built-in ones of this program, then trusted plugins.
type launched struct {
	names    []string
	plugins  map[string]pluginhost.Spec // of the plugins among them
	changed  []string                   // plugins that were trusted in another form: delivered, but never started
	launcher pluginhost.Launcher
	hurried  bool // a listing waits: a plugin that does not start soon is left out
}

// Names lists the delivered providers in their public order.
func (l *launched) Names() []string { return l.names }

// Start runs one of them.
func (l *launched) Start(ctx context.Context, name string) (refresh.Plugin, error) {
	plugin, err := l.start(ctx, name)
	if err != nil {
		return nil, err
	}
	return plugin, nil
}

func (l *launched) start(ctx context.Context, name string) (*pluginhost.Plugin, error) {
	if !slices.Contains(l.names, name) {
		return nil, fault.New(fault.NotFound, "no provider %s", quoteWord(name))
	}
	if slices.Contains(l.changed, name) {
		return nil, fault.New(fault.SourceUnavailable, "the plugin %s changed since it was trusted", name).WithHint("ctx plugins trust %s", name)
	}
	spec, ok := l.plugins[name]
	if !ok {
		spec.Name = name
	}
	launcher := l.launcher
	if ok && l.hurried {
		launcher.Limits.Start = patience
	}
	return launcher.Start(ctx, spec)
}

// Describe starts a provider for its description only.
func (l *launched) Describe(ctx context.Context, name string) (*historyv1.DescribeResponse, error) {
	plugin, err := l.start(ctx, name)
	if err != nil {
		return nil, err
	}
	defer plugin.Close()
	return plugin.Descriptor(), nil
}

// Resolve starts a provider to ask it for its places.
func (l *launched) Resolve(ctx context.Context, name string, req *historyv1.ResolveRequest) (*historyv1.ResolveResponse, error) {
	plugin, err := l.start(ctx, name)
	if err != nil {
		return nil, err
	}
	defer plugin.Close()
	return plugin.Resolve(ctx, req)
}

// plugins returns the starter of the delivered providers. Their life is logged below the data root, never on stdout or stderr.
func (s *session) plugins() *launched {
	file := logfile.New(s.dataRoot)
	l := &launched{plugins: map[string]pluginhost.Spec{}, launcher: pluginhost.Launcher{
		Self: s.app.Self, Version: version, LogFile: file, Log: file.Logger(hclog.Info),
	}}
	l.names = s.app.builtin()
	for _, p := range sources.Plugins(s.config) {
		if p.Trust != sources.Trusted && p.Trust != sources.Changed || slices.Contains(l.names, p.Name) {
			continue
		}
		l.names = append(l.names, p.Name)
		l.plugins[p.Name] = pluginhost.Spec{Name: p.Name, Command: p.Command, SHA256: p.SHA256}
		if p.Trust == sources.Changed {
			l.changed = append(l.changed, p.Name)
			s.config.Distrust(p.Name) // what it once said counts no more
		}
	}
	return l
}

// builtin lists the providers of this program, whose names are their ids.
func (a *App) builtin() []string {
	var names []string
	for _, p := range a.Providers {
		names = append(names, p.Name)
	}
	return names
}

// refresh runs a refresh in this process: a finite worker that ends with its work.
func (s *session) refresh(ctx context.Context, req refresh.Request) (*refresh.Report, error) {
	s.app.writerMemory()
	s.app.fellBack = true // a refresh builds a damaged index again instead of warning about it
	plugins := s.plugins()
	req.Config, req.Store, req.Plugins, req.Executable = s.config, s.store, plugins, s.app.Self
	req.Resolve = plugins.Resolve
	log := plugins.launcher.Log
	req.Log = func(format string, args ...any) { log.Info(fmt.Sprintf(format, args...)) }
	return refresh.Run(ctx, req)
}

// patience is how long a listing waits for a plugin to start. Most listings start none.
const patience = 2500 * time.Millisecond

// discover lists the places of one provider, or of all, those of agents without a provider included.
func (s *session) discover(ctx context.Context, provider string) (*sources.Discovery, error) {
	plugins := s.plugins()
	plugins.hurried = true
	described := sources.Describe(ctx, s.config, s.app.Self, plugins.Names(), plugins.Describe)
	return sources.Discover(ctx, sources.Input{
		Config: s.config, Descriptions: described, Provider: provider, Agents: true, Resolve: plugins.Resolve,
	})
}
