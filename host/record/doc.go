// Package record is the model of what ctx stores: sessions, events and their activity, with their ids, limits, sizes,
// storage form and JSON rows.
//
// Vocabulary.
//
//   - A source is one unit of provider history, named by an anchor. A session belongs to a source, an event to a session.
//   - A digest is the 32-byte SHA-256 identity of one of the three; its public form is a UUID of version 8.
//   - A typed key is a provider's own identifier in binary form; a native key is a typed key (or several) under a namespace.
//   - A lineage is the 32-byte identity of a catalog root, used where a provider has no native id or a root has a name.
//   - Activity is what a tool call or its result adds to an event: call id, invocation, result and facts.
//   - A capture is a value of an invocation or a result, or the reason why there is none.
//   - A value is stored once. The body and the captured values of an event may be spans of its structured content, the one
//     canonical JSON value that the event carries; they are read through Value.
//   - The projection is the text of an event that search sees.
//   - Admission checks an event against the limits and computes its two sizes, which are kept in the stored record.
//   - A row is the JSON object of an event in an answer: the shown row (show) or the range row (list, query).
//   - Retrieval is an agent's use of ctx itself; such events are stored but excluded from discovery (see Linker).
//
// Every writer appends to a byte slice; nothing here opens a file, logs or keeps global state.
package record
