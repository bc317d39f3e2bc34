// Package core stores history: it builds, verifies, publishes and reads generations.
//
// Vocabulary:
//
//   - generation: one immutable state of the whole archive in a directory of its own. A published directory is never written again.
//   - pointer: the small file that names the active and the previous generation. Replacing it atomically is the publication.
//   - pin: a reader's hold on one generation. It ends with Close or with the process, never by a timeout.
//   - lease: the lock file of a generation; every pin holds a shared lock on it, so the collector knows what is in use.
//   - candidate: the next generation while one writer builds it. Leftovers of a crashed writer are collected by the next one.
//   - source: one provider file or database row set. It owns its sessions; a session owns its events.
//   - certificate: what is proven about a source: how much of it was read, its digest, its counts.
//   - observation: the provider's opaque token "looks unchanged". It is no content, so it is no part of a generation's identity.
//   - frontier: the provider's private state at the end of a source, from which an append continues.
//   - segment: a group of events that live together: postings and columns (package lexical) and one table of records.
//   - record: one event in storage form, found by segment and document number.
//   - ordinal: the small number that stands for a session or a source inside keys and columns. Never reused in an archive.
//   - run: a sorted batch of secondary keys of one refresh, kept in memory or spilled to disk until they are merged into a table.
//   - merge: rewriting segments from records, without their deleted events, as a generation of its own.
//
// It is the only package that knows the record store (pebble).
package core
