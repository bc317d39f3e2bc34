// Package cursor reads the history of Cursor: of its editor and of its command line.
//
// Vocabulary. Cursor keeps a conversation, a session, in up to three stores. The transcripts are files below a project's
// `agent-transcripts` directory: JSON Lines now, plain text in older versions; the subagents of a session lie beside it. The CLI
// store is a small database a session, `store.db`, whose blobs are JSON messages, listed in order by root blobs. The editor's
// state is one large database, `state.vscdb`, with a head (`composerData`) for each session and one row for each bubble, a
// message or tool call. Databases of the workspaces tell which directory a session of the editor belongs to. A companion is
// what the other stores know of a session whose events come from one of them: a title, a directory, times, a model.
//
// A session is taken from exactly one store; the inventory, which sees all routes at once, decides which: the transcript, unless
// the editor's state holds more prompts, then the CLI store, then the editor's state. The ids of sessions are the same in all
// stores, those of events are not.
//
// Cursor documents none of this. Every field is optional and every vocabulary is open. The databases hold logins as well: only
// the rows of conversations are asked for, by their keys.
package cursor
