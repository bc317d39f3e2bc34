// Package sdkplugin is what you import to teach ctx a new agent's history.
//
// A provider is a small program of its own. ctx starts it when it refreshes its index, asks what histories there are and what
// they hold, and stops it again; searching never runs a provider. It talks to ctx over gRPC, which this package takes care of:
// you write three methods.
//
//	package main
//
//	func main() { sdkplugin.Serve(&provider{}) }
//
// Package conformance tests the result, examples/provider-notes is a complete provider, package jsonl reads append-only JSON
// Lines files safely, package sqlitesnap SQLite databases that are in use, package canonical parses JSON and writes it in the
// form that ctx stores. Packages listing and transcript are the skeletons of an inventory of files and of a scan of their lines,
// with the draft of an event and the frontier; facts, texts and digest hold what mappings need.
//
// # Words
//
// A route is a file or directory that the provider may read. A source is one unit of reading below it: a log file, a document,
// the rows of one conversation. A session is a conversation, an event is one thing that happened in it: a message, a tool call,
// its output. A native record is a line or row of the agent's own; it gives no, one or several events. An observation is a token
// of a source's state, a frontier what reading on needs.
//
// # Describe
//
// Describe returns constants: the id, which becomes part of every public id and never changes; the formats; where the history
// normally lies; how a conversation is resumed.
//
//	func (*provider) Describe(_ context.Context, _ sdkplugin.DescribeRequest, d *sdkplugin.DescribeResponse) {
//		d.Id, d.DisplayName, d.Version, d.ParserRevision = "acme", "Acme", "1.0.0", "1"
//		d.Formats = []*sdkplugin.Format{{Name: "acme_jsonl_tree", SchemaVariant: "acme-v1", Family: sdkplugin.JSONLTranscript}}
//		d.Locations = []*sdkplugin.Location{
//			{Env: "ACME_HOME", Suffix: "sessions", Format: "acme_jsonl_tree", Role: "acme-sessions", Mode: sdkplugin.OverrideLocation},
//			{Base: sdkplugin.HomeDir, Suffix: ".acme/sessions", Format: "acme_jsonl_tree", Role: "acme-sessions"},
//		}
//	}
//
// The host reads the variables and looks at the places. A provider whose place is written in a config file implements Resolver as
// well.
//
// # Inventory
//
// Inventory lists the sources of the routes it is given, without opening them, in a stable order. Each has an Anchor: its
// identity, wherever the file lies, so that a file that was moved stays the same source. Each has an observation: ctx reads a
// source only when its token has changed.
//
// Say for every route how far you got. RouteComplete is a proof: a source that is missing from it counts as deleted by the agent.
// A route that does not exist is RouteMissing, which proves nothing about its sources.
//
// A provider that also implements Observer is asked about single files that
// changed, and need not list the rest for each line that an agent writes.
//
// # Scan
//
// Scan reads one source, in ModeFull from the start, or in ModeAppend from where the last scan stopped. It declares sessions,
// sends events, counts every native record once (Retain, Ignore or Reject), and certifies with End what it has read.
//
//	func (*provider) Scan(ctx context.Context, req sdkplugin.ScanRequest, out *sdkplugin.SourceWriter) error {
//		session, err := out.Session(sdkplugin.Session{
//			Ref:               sdkplugin.SessionRef{Kind: "acme-session", Key: sdkplugin.NativeID("acme.session", sdkplugin.Utf8(id))},
//			ProviderSessionID: id,
//		})
//		...
//		err = out.Event(&sdkplugin.Event{
//			Session: session, Kind: "acme-event", Key: sdkplugin.NativeID("acme.event", sdkplugin.Utf8(record.ID)),
//			Sequence: line, Type: sdkplugin.Message, Role: sdkplugin.RoleUser, Body: sdkplugin.Inline(record.Text),
//		})
//		out.Retain(1)
//		...
//		return out.End(sdkplugin.Ending{Observation: token, CertifiedBytes: n, ContentDigest: sum, Frontier: state})
//	}
//
// Several sources are scanned at once, each by one call of Scan in a goroutine of its own. A failing source never harms another:
// return Fail(class, ...), and a panic counts as a failure too (but a panic in a goroutine that you have started ends the
// process).
//
// # Identity
//
// Public ids are hashes of native keys. They must come out the same when a file is imported again, moved, appended to, or
// rewritten with the same content. So keys are made of the agent's own ids. Where a record has none, take a digest of its content
// and an occurrence number; where even that is impossible and the file only ever grows, the line number (Position). Never use
// paths, times or offsets.
//
// # Reading on
//
// In ModeAppend compare the certified prefix with its digest (jsonl.Reader does). When it is the same, Begin(ModeAppend) and send
// only what is new; the counts go on from the request's. When it is not, Begin(ModeFull) and read everything: ctx replaces what
// it has. The frontier holds what the new records need to know of the old ones: the next line number, counters of occurrences,
// the title. A provider that leaves it empty always gets ModeFull.
//
// The last record without its line feed is unfinished: leave it for the next scan, uncounted. A record that cannot be understood
// is rejected alone.
//
// # Values and sizes
//
// Event.Structured is what the agent stored, as canonical JSON; Event.Body is the text for people. Tool arguments and results are
// usually parts of Structured: give their place (Pieces) instead of a copy, and they travel and are stored once. Strings must be
// UTF-8. Limits are constants of this package; what breaks them is an InvalidError that names the event.
//
// Leave out what nobody wants to find again: private reasoning, binary data, bookkeeping. Never invent: an unknown time is the
// zero Instant.
//
// # Process
//
// The log is hclog.FromContext(ctx). It must not hold message text, and neither must diagnostics and failures. Standard output
// belongs to the protocol. The memory limit is 200 MiB and the collector is set for throughput, unless GOMEMLIMIT and GOGC say
// otherwise. The process ends with its host.
//
// A host finds Handshake, Plugins and ClientConfig here and the messages in package historyv1.
package sdkplugin
