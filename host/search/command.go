package search

import "strings"

// commands suggests what to do with a row: read the session, read around the event, search on inside the session.
func (r *run) commands(session, event string) []string {
	program := "ctx "
	if root := r.service.DataRoot; root != "" {
		program += "--data-root " + quoteAlways(root) + " "
	}
	show := program + "show event " + event + " --window 10"
	narrow := program + "search " + r.arguments() + "--session " + session
	if r.events {
		return []string{show, program + "show session " + session, narrow}
	}
	return []string{program + "show session " + session, show, narrow}
}

// arguments repeats the query and what narrows it to a kind of event, each with a trailing space.
func (r *run) arguments() string {
	var b strings.Builder
	for i, text := range r.alternatives {
		if i > 0 || strings.HasPrefix(text, "-") {
			b.WriteString("--term=")
		}
		b.WriteString(QuoteShell(text) + " ")
	}
	for _, f := range []struct{ flag, value string }{{"--file", r.filters.File}, {"--event-type", r.filters.EventType}} {
		if f.value != "" {
			b.WriteString(f.flag + "=" + QuoteShell(f.value) + " ")
		}
	}
	if scope := r.filters.ContentScope; scope != "all" {
		b.WriteString("--content-scope=" + scope + " ")
	}
	return b.String()
}

// QuoteShell quotes a word for a POSIX shell where it needs it.
func QuoteShell(word string) string {
	plain := word != ""
	for i := 0; i < len(word) && plain; i++ {
		c := word[i]
		plain = 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || strings.IndexByte("-_./:@%+,", c) >= 0
	}
	if plain {
		return word
	}
	return quoteAlways(word)
}

func quoteAlways(word string) string { return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'" }
