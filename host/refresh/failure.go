package refresh

import (
	"strings"
	"unicode"
)

// Classes of source failures.
const (
	classUnreadable  = "unreadable"
	classVanished    = "vanished"
	classChanged     = "changed"
	classMalformed   = "malformed_source"
	classUnsupported = "unsupported_schema"
	classInternal    = "internal"
)

// maxDetail bounds a sentence of a provider in bytes.
const maxDetail = 512

// failure is one source, route or provider that could not be read.
type failure struct {
	provider string
	identity string // uuid of a source, id of a route, or the provider
	path     string
	class    string
	detail   string
	carried  bool // records of an earlier run stay
}

func knownClass(class string) string {
	switch class {
	case classUnreadable, classVanished, classChanged, classMalformed, classUnsupported:
		return class
	}
	return classInternal
}

// failed makes the provider as a whole a failure.
func (p *provider) failed(detail string) {
	p.failure = &failure{provider: p.id, identity: p.id, class: classInternal, detail: detail}
}

// abandon fails a source: what this run stored of it is dropped, what was stored before stays.
func (r *run) abandon(s *scan, class, detail string) {
	if detail == "" {
		detail = "the source could not be read"
	}
	s.failure = &failure{
		provider: s.provider.id, identity: s.source.String(), path: s.path(), class: class, detail: detail, carried: s.item.cert != nil,
	}
	r.meter.read(s)
	if s.writer != nil {
		r.finishing.Go(s.writer.Abort)
	}
}

// oneLine makes a sentence of a provider fit for a report: one line, bounded, valid text.
func oneLine(text string) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	text = strings.TrimSpace(strings.Map(func(c rune) rune {
		if unicode.IsControl(c) {
			return ' '
		}
		return c
	}, text))
	for len(text) > maxDetail {
		cut := maxDetail
		for cut > 0 && text[cut]&0xc0 == 0x80 {
			cut--
		}
		text = text[:cut]
	}
	return text
}
