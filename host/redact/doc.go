// Package redact replaces secrets in recorded text by placeholders such as [redacted:aws-access-token], for what is given out. What is
// stored stays as it is.
//
// The rules are those of the gitleaks project, and a few of our own for passwords in URLs, headers, options and assignments: a name, a
// regular expression around the secret, a least entropy, and exceptions. Rules that ask for the name of a file are left out, because
// recorded text has none.
//
// Vocabulary:
//
//   - keyword: a word that belongs to a rule. One pass over the text looks for all of them; a rule is only tried around its keywords.
//   - alphabet, least: the bytes that the secret of a rule consists of, and how many there are at least. Where no such run is near a
//     keyword, the expression is not tried; elsewhere the whole of it is, on the text around the keyword.
//   - look: a cheap test of the bytes around a keyword for what every secret of a rule needs, before its expression is even read.
//   - finding: the bytes of one secret, and the rule that found it.
//
// In JSON the text between two quotes is replaced, never a quote, so it stays JSON. Ids, cursors, times and counts are not looked at.
package redact
