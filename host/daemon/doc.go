// Package daemon keeps the index of one data root current in the background, and lets other processes reach the one that does.
//
// Vocabulary:
//
//   - daemon: the one process that may refresh in automatic mode. It holds the daemon lock; the lock, not a process number, says who lives.
//   - endpoint: the local socket of the daemon. One connection carries one call, as lines of JSON.
//   - wake: a call without content that means "somebody is about to search". It starts nothing that is not due.
//   - request: a refresh that somebody asked for. It is kept in a file until it is answered, so that a crash does not lose it.
//   - attempt: one run of the refresh. Requests for the same scope share the next attempt that starts; a request that arrives while an
//     attempt runs follows its progress and is answered by exactly one successor, because what it is about may have been written
//     after the running attempt took its inventory.
//   - mark: a provider below whose routes something changed. Marks are taken when an attempt starts; what changes later marks again.
//   - route: a place that is read (see package sources). It is watched, or polled where watching is not possible.
//   - reconcile: a look at everything, because changes may have been missed.
//
// A query never writes history: it sends at most a wake and answers from the generation that is there. All waiting is measured with
// the monotonic clock; times of day are only told, never compared, so a clock that is set back changes nothing.
package daemon
