package main

import (
	"context"
	"sync"

	"github.com/agenthistory/ctx/sdkplugin"
	"github.com/agenthistory/ctx/sdkplugin/jsonl"
	"github.com/agenthistory/ctx/sdkplugin/transcript"
)

// progress holds what the records still to come need to know of those read. It travels in the frontier from one scan to the next.
type progress struct {
	Title, Directory string
	Times            transcript.Times
}

// progressVersion is that of the form of progress: another one is not read.
const progressVersion = 1

// scanners keeps the buffers of finished scans: with thousands of small files, making new ones would be most of the work.
var scanners = sync.Pool{New: func() any { return new(transcript.Scanner) }}

// Scan reads one file, from the start or from where the last scan stopped.
func (provider) Scan(ctx context.Context, req sdkplugin.ScanRequest, out *sdkplugin.SourceWriter) error {
	// Open follows no links below the route and opens regular files only.
	file, err := jsonl.Open(req.Route.Path, req.Source.Locator, nil)
	if err != nil {
		return err
	}
	defer file.Close()
	scanner := scanners.Get().(*transcript.Scanner)
	defer scanners.Put(scanner)
	scanner.Restart()
	scanner.Reader.Reset(file)

	// Go on behind the certified prefix when it is still what it was.
	m, mode := mapping{out: out}, sdkplugin.ModeFull
	if place, state, known, _ := transcript.Resume[progress](&req, file.Observation(), progressVersion, ""); known {
		same, err := scanner.Reader.Verify(ctx, place)
		if err != nil {
			return err
		}
		if same {
			mode, m.state = sdkplugin.ModeAppend, state
		}
	}
	if err := out.Begin(mode); err != nil {
		return err
	}
	id := sessionID(req.Source.Locator)
	m.session, err = out.Session(sdkplugin.Session{
		Ref:               sdkplugin.SessionRef{Kind: sessionKind, Key: sdkplugin.NativeID(sessionSpace, sdkplugin.Utf8(id))},
		ProviderSessionID: id, Relationship: sdkplugin.RelationshipRoot, Scope: sdkplugin.ScopePrimary,
	})
	if err != nil {
		return err
	}
	if err := scanner.Map(ctx, file.Observation().Size, &m, out); err != nil {
		return err
	}

	// Certify what was read.
	seen, err := file.Recheck()
	if err != nil {
		return err
	}
	scanner.Tell(out)
	ending := scanner.Ending(seen, progressVersion, "", m.state)
	about := sdkplugin.SessionMetadata{Session: m.session, Title: m.state.Title, CWD: m.state.Directory}
	about.StartedAt, about.EndedAt = m.state.Times.Span()
	ending.Metadata = []sdkplugin.SessionMetadata{about}
	return out.End(ending)
}
