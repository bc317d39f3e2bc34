// Package lexical is the full-text half of a generation: it turns text into tokens, writes immutable index segments and answers
// queries over them. It is the only package that knows the search engine (bluge), which opens the segments through a plugin for our format.
//
// Vocabulary:
//
//   - token: one searchable piece of text. Indexing and queries use the same tokenizer (Tokens).
//   - document: one stored event. Inside a segment documents are numbered from 0 in the order in which they were added; a Doc names a
//     document by segment id and number, and lives as long as the segment.
//   - segment: an immutable group of documents in two files, <id>.seg (postings) and <id>.col (columns).
//     A Builder writes both.
//   - posting: one entry "this term occurs n times in this document" of a segment.
//   - term: a token of the body, or the whole value of a keyword Field (event type, role, facts).
//   - columns: fixed-width values of every document (time, sequence, session ...), for filters and ordering without reading records.
//   - snapshot: the file that lists the segments of a generation and their deleted documents.
//   - live: not deleted. Only live documents count in term statistics, so deletions never change the score of what is left.
//   - searchable: live and added with text, that is, eligible for ranked discovery.
//   - group: several terms that count and score as one (the words that begin alike).
//   - set: documents chosen by filters, one bit a document (Set).
//   - coverage: the number of distinct query tokens that a document contains. The score is multiplied by the covered part of the
//     query, and in short queries the documents that contain everything stand first (whole).
//
// A published segment or snapshot is never written again, so readers of one generation need no lock and may be used by many goroutines.
package lexical
