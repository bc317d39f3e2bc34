// Package redact replaces secrets in recorded text by placeholders such as [redacted:aws-access-token], for what is given out. What is
// stored stays as it is.
//
// The rules are those of the gitleaks project: a name, a regular expression around the secret, a least entropy, and exceptions. Rules
// that ask for the name of a file are left out, because recorded text has none.
//
// Vocabulary:
//
//   - run: at least ten letters, digits, underscores and hyphens in a row, among them a digit, or at least twenty. Every secret has one,
//     most text has none, so looking for runs is what a text without secrets costs.
//   - keyword: a word that belongs to a rule. Only a run with a keyword in it or shortly before it is worth a regular expression, and
//     only then the expression is compiled.
//   - finding: the bytes of one secret, and the rule that found it.
//
// In JSON the text between two quotes is replaced, never a quote, so it stays JSON. Ids, cursors, times and counts are not looked at.
package redact
