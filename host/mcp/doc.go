// Package mcp serves the stored history to agents over the Model Context Protocol: one JSON-RPC message a line on stdin, one answer a
// line on stdout, nothing else.
//
// The official SDK dispatches requests; it is given tickets instead of the requests themselves. What the contract promises about
// bytes (line limits, exact ids, exact values, the size of an answer, cancellation) is kept by the wire around it:
//
//	line -> envelope -> call -> SDK -> tool -> answer -> line, written, flushed, counted
//
// Vocabulary:
//
//   - wire: the connection. It reads lines, refuses malformed ones, hands requests over in order of arrival and writes whole answers.
//   - call: one request that waits for its answer. Tool calls run concurrently, a bounded number at once.
//   - frame: what surrounds a result on its line, and how many bytes the line may have.
//   - answer: the text and the structured content of a tool result, with what usage accounting wants to know of it.
//   - archive: the generations that are kept open between calls.
//
// The server never writes history and never writes derived state. All it gives out is private local history.
package mcp
