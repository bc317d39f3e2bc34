package sources

import (
	"context"
	"path/filepath"
	"slices"
	"strings"

	"github.com/agenthistory/ctx/host/config"
	"github.com/agenthistory/ctx/sdkplugin/historyv1"
)

// Resolver asks a provider for its places. Package pluginhost bounds its start, its answer and the size of that.
type Resolver func(ctx context.Context, name string, req *historyv1.ResolveRequest) (*historyv1.ResolveResponse, error)

// ask puts the question to a provider that finds places by itself.
func (j *job) ask(ctx context.Context, in Input) {
	if !j.description.GetResolves() || in.Resolve == nil {
		return
	}
	j.answer, j.failed = in.Resolve(ctx, j.described.Name, question(j.description, in.Config.Environment))
}

// question holds what a resolver may know, and nothing else.
func question(d *historyv1.DescribeResponse, env config.Environment) *historyv1.ResolveRequest {
	req := &historyv1.ResolveRequest{
		Home: env.Home, Cwd: env.WorkDir, Uid: uint32(max(env.UserID, 0)), Platform: platforms[env.Platform],
		DataDir: env.Dirs.Data, ConfigDir: env.Dirs.Config, StateDir: env.Dirs.State, LocalDataDir: env.Dirs.LocalData,
		Environment: map[string]string{},
	}
	for _, name := range d.GetEnvironment() {
		if value, ok := env.Provider(name); ok {
			req.Environment[name] = value
		}
	}
	return req
}

// admit takes the answer of a resolver behind the declared places. Nothing in it is trusted: a place is checked like any other later
// on, must have a form and a format that exist, and a text that could tell a path is replaced.
func (s *selection) admit(d *historyv1.DescribeResponse, answer *historyv1.ResolveResponse) {
	for _, c := range answer.GetCandidates() {
		declared := slices.ContainsFunc(d.GetFormats(), func(f *historyv1.Format) bool { return f.GetName() == c.GetFormat() })
		if !declared || !usable(c.GetPath()) {
			s.refuse(d.GetId(), Unreconstructible, "the provider named a place that cannot be used")
			continue
		}
		s.candidates = append(s.candidates, candidate{
			path: filepath.Clean(c.GetPath()), format: c.GetFormat(), role: c.GetRole(), kind: c.GetPathKind(), probe: c.GetProbe(),
			unsupported: c.GetUnsupported(),
		})
	}
	s.bound(d.GetId())
	for _, i := range answer.GetIssues() {
		code, message, path := i.GetCode(), i.GetMessage(), i.GetPath()
		if code != NoDiskHistory && code != InsufficientEvidence {
			code = Unreconstructible
		}
		if message == "" || strings.ContainsAny(message, `/\`) {
			message = "the provider reports a problem with one of its places"
		}
		if !usable(path) {
			path = ""
		}
		s.refuseAt(d.GetId(), code, message, path)
	}
}
