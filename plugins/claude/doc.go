// Package claude reads the history of Claude Code.
//
// Vocabulary. The projects container is the directory `projects` of a Claude home; each directory in it holds the sessions of
// one project and is named after the encoded working directory, the slug. A transcript is one `.jsonl` file: the main session
// of a root id, or an agent of that root (a subagent, or a workflow subagent that belongs to a run). A record is one JSON
// object of a transcript, normally one line. Chain records (user, assistant, system, attachment, progress) carry the
// conversation; bookkeeping records carry titles, modes and other state. A block is one element of message.content.
// A sidecar is a small file beside a transcript: the description of an agent (`agent-<id>.meta.json`), the title of a session
// (`<session id>/custom-title.json`).
//
// Claude Code publishes no contract for these files. Every field is optional here and every vocabulary is open: what is
// unknown and carries text becomes a notice, what is unknown and carries none is ignored.
//
// One line is parsed once, into one reusable document. Text that a structured value holds travels as a span of that value;
// client-side copies of results (whole files before and after an edit) are passed over without being touched.
package claude
