// Package historyv1 is the wire contract between ctx and a history provider:
// history.proto, which documents every message, and the Go generated from it.
//
// Providers in Go use package sdkplugin, which wraps this one. Import it
// directly to write a host, a test of the wire, or a provider in the
// generated types. `make proto` regenerates it (generate.sh).
package historyv1

//go:generate ./generate.sh
