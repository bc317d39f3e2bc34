package core

import (
	"encoding/binary"

	"github.com/agenthistory/ctx/host/record"
)

// Certificate returns the certificate of a source with its newest sighting; nil, nil when the source is unknown.
func (g *Generation) Certificate(source record.Digest) (*Certificate, error) {
	b, ok, err := g.get(nil, digestKey(keyCertificate, source))
	if err != nil || !ok {
		return nil, err
	}
	c := new(Certificate)
	if err := c.decode(b); err != nil {
		return nil, corruption(err, "the certificate of source %s cannot be read", source)
	}
	g.observations.apply(c)
	return c, nil
}

// Source returns the certificate of the source with an ordinal, as found in columns.
func (g *Generation) Source(ordinal uint32) (*Certificate, error) {
	b, ok, err := g.get(nil, ordinalKey(keySourceOrdinal, ordinal))
	if err != nil {
		return nil, err
	}
	var c *Certificate
	if ok && len(b) == 32 {
		if c, err = g.Certificate(record.Digest(b)); err != nil {
			return nil, err
		}
	}
	if c == nil {
		return nil, corruption(nil, "source %d of the index is missing", ordinal)
	}
	return c, nil
}

// SourceSessions returns the ordinals of the sessions of a source, ascending.
func (g *Generation) SourceSessions(ordinal uint32) ([]uint32, error) {
	var out []uint32
	err := g.scan(ordinalKey(keySourceSession, ordinal), func(k, _ []byte) error {
		out = append(out, binary.BigEndian.Uint32(k[5:]))
		return nil
	})
	return out, err
}

// Certificates calls visit with every certificate, by source digest, until it returns an error. The certificate is reused between
// calls; its byte slices may be kept.
func (g *Generation) Certificates(visit func(*Certificate) error) error {
	var c Certificate
	return g.scan([]byte{keyCertificate}, func(k, v []byte) error {
		if err := c.decode(v); err != nil {
			return corruption(err, "the certificate of source %s cannot be read", record.Digest(k[1:]))
		}
		g.observations.apply(&c)
		return visit(&c)
	})
}

// Frontier returns the append frontier of a source, nil when it has none.
func (g *Generation) Frontier(source record.Digest) ([]byte, error) {
	b, ok, err := g.get(nil, digestKey(keyFrontier, source))
	if !ok {
		b = nil
	}
	return b, err
}
