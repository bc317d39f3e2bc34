// Package codex reads the history of Codex CLI.
//
// Vocabulary. The home is the directory that Codex keeps everything in. A thread is one conversation, named by a UUID; a rollout
// is the file of a thread, raw JSON Lines or compressed with Zstandard, below `sessions` or, once archived, in
// `archived_sessions`. A home may hold several copies of one rollout; one of them is read. The owner of a file is the thread it
// belongs to: its own session_meta line says so, lines of other threads come with a history that was copied in.
//
// A line is an envelope: a time, a type and a payload. A terminal record is any record that ends a tool call; the first one of a
// call id carries the body of its result. A pending call is one whose result has not come. The inherited prefix is the history
// of the parent that a fork or resumed thread begins with; what equals the parent line by line is a copy of it. A wrapper is text
// that Codex itself puts into the user's place. The prompt log (history.jsonl) has one row for every prompt of every thread and
// counts only where no rollout exists.
package codex
