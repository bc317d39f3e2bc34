package cli

import (
	"context"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/agenthistory/ctx/host/history"
	"github.com/agenthistory/ctx/host/search"
)

// sampleSearch stands where the history gives no better one.
const sampleSearch = `ctx search "why did the test fail"`

// Bounds of the searches that are suggested.
const (
	searchesShown  = 3
	openingsRead   = 40
	wordsOfSearch  = 4
	longestWord    = 30 // what is longer is a token more often than a word
	consonantsMost = 5  // in a row, in a word of Latin letters
)

// suggestions are search commands made from how the newest sessions begin.
func (s *session) suggestions(ctx context.Context) []string {
	var openings []string
	_ = s.reading(ctx, func(view *history.View) (err error) { // the outcome tells what is wrong with the index
		openings, err = view.Openings(ctx, openingsRead)
		return err
	})
	var commands []string
	for _, text := range openings {
		words := tellingWords(text)
		if len(words) < 2 {
			continue
		}
		command := "ctx search " + search.QuoteShell(strings.Join(words, " "))
		if !slices.Contains(commands, command) {
			commands = append(commands, command)
		}
		if len(commands) == searchesShown {
			break
		}
	}
	if commands == nil {
		return []string{sampleSearch}
	}
	return commands
}

// tellingWords returns the first words of a text that are worth a search, in lower case. A text that speaks of a secret gives none:
// nothing tells a plain word from a password.
func tellingWords(text string) []string {
	var words []string
	for _, field := range strings.Fields(text) {
		word := strings.ToLower(strings.TrimFunc(field, func(r rune) bool { return unicode.IsPunct(r) || unicode.IsSymbol(r) }))
		if slices.ContainsFunc(secretive, func(part string) bool { return strings.Contains(strings.ToLower(field), part) }) {
			return nil
		}
		if len(words) < wordsOfSearch && !slices.Contains(words, word) && telling(word) && plainlyWritten(field) {
			words = append(words, word)
		}
	}
	return words
}

// plainlyWritten tells words from names of programs, paths, addresses and tokens: capitals stand at the beginning only.
func plainlyWritten(field string) bool {
	for i, r := range strings.TrimLeftFunc(field, func(r rune) bool { return !unicode.IsLetter(r) }) {
		if i > 0 && unicode.IsUpper(r) {
			return false
		}
	}
	return true
}

// telling reports whether a word in lower case is one, and says what a text is about.
func telling(word string) bool {
	n := utf8.RuneCountInString(word)
	if n > longestWord || n < 2 || slices.Contains(empty, word) {
		return false
	}
	consonants, latin := 0, true
	for _, r := range word {
		switch {
		case !unicode.IsLetter(r) && !unicode.IsMark(r):
			return false
		case r >= utf8.RuneSelf:
			latin, consonants = false, 0
		case strings.ContainsRune("aeiouy", r):
			consonants = 0
		default:
			consonants++
		}
		if consonants > consonantsMost {
			return false
		}
	}
	return !latin || n >= 4
}

// secretive are parts of words after which a secret may stand.
var secretive = []string{"password", "passwd", "passphrase", "secret", "token", "credential", "bearer", "apikey", "api_key", "api-key", "private"}

// empty are words that tell nothing about a text.
var empty = strings.Fields(`about above after again also although always another anyone anything around because been before being
	below best better between both bring cannot caveat change check code come could create does doing done down each either else even
	every everything find first following from full further generated give given going good great have having hello help here into
	itself just keep know last later least left less like likely local look made make many maybe messages might more most much
	must name need needs never next nothing once only other over own please put read really right same says seem several shall should
	show some someone something still such sure take task tell than that their them then there these they thing things think
	this those though through time today together under until update upon used user using very want wants well were what what's when
	where whether which while will with within without work would write wrote year your yours`)
