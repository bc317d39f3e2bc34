package core

import (
	"github.com/agenthistory/ctx/host/record"
)

// The methods of this file are called with the candidate's lock held, unless they say otherwise.

// certificate returns the certificate of a source as the candidate has it; nil, nil when it has none.
func (c *Candidate) certificate(source record.Digest) (*Certificate, error) {
	b, changed := c.certificates[source]
	if !changed {
		if c.base == nil {
			return nil, nil
		}
		cert, err := c.base.Certificate(source)
		if cert != nil {
			c.seen.apply(cert)
		}
		return cert, err
	}
	if b == nil {
		return nil, nil
	}
	cert := new(Certificate)
	if err := cert.decode(b); err != nil {
		return nil, err
	}
	c.seen.apply(cert)
	return cert, nil
}

// setCertificate replaces old (nil: none) by next (nil: the source goes).
func (c *Candidate) setCertificate(old, next *Certificate) {
	if old != nil {
		c.manifest.Stats.count(old, -1)
	}
	if next == nil {
		c.certificates[old.Source] = nil
		c.facts[bucketCertificates][old.Source] = factsChange{gone: true}
		delete(c.seen.sightings, old.Source)
		return
	}
	c.manifest.Stats.count(next, 1)
	c.certificates[next.Source] = next.encode()
	c.facts[bucketCertificates][next.Source] = factsChange{facts: next.facts()}
	delete(c.seen.sightings, next.Source)
}

// count adds or, with n = -1, takes away what one source contributes.
func (s *Statistics) count(c *Certificate, n int64) {
	add := func(to *uint64, v uint64) { *to += uint64(n) * v }
	add(&s.Sources, 1)
	if c.State == Gone {
		add(&s.GoneSources, 1)
	}
	if c.HasFrontier {
		add(&s.Frontiers, 1)
	}
	add(&s.CertifiedBytes, c.CertifiedBytes)
	add(&s.Complete, c.Counts.Complete)
	add(&s.Retained, c.Counts.Retained)
	add(&s.Rejected, c.Counts.Rejected)
	add(&s.Ignored, c.Counts.Ignored)
}

// setRow keeps a small key until publication; a nil value deletes the key.
func (c *Candidate) setRow(key, value []byte) {
	c.rows[string(key)] = value
	c.rowBytes += len(key) + len(value) + 64
}

// setSession stores a session that belongs to a source.
func (c *Candidate) setSession(source uint32, s *record.Session, stats SessionStats, known bool) {
	facts := sessionFacts(s, stats)
	c.setRow(ordinalKey(keySession, s.Ordinal), encodeSession(s, stats))
	c.setRow(digestKey(keySessionID, s.ID), sessionRef{ordinal: s.Ordinal, facts: facts}.encode())
	c.facts[bucketSessions][s.ID] = factsChange{facts: facts}
	if s.ProviderSessionID != "" {
		c.setRow(providerSessionKey(s.Provider, s.ProviderSessionID, s.Ordinal), []byte{})
	}
	if !known {
		c.setRow(sourceSessionKey(source, s.Ordinal), []byte{})
		c.manifest.Stats.Sessions++
	}
}

// dropSession deletes what is stored of a session, apart from its events.
func (c *Candidate) dropSession(source uint32, s *record.Session) {
	c.setRow(ordinalKey(keySession, s.Ordinal), nil)
	c.setRow(digestKey(keySessionID, s.ID), nil)
	c.facts[bucketSessions][s.ID] = factsChange{gone: true}
	c.dropProviderSession(s)
	c.setRow(sourceSessionKey(source, s.Ordinal), nil)
	c.manifest.Stats.Sessions--
}

func (c *Candidate) dropProviderSession(s *record.Session) {
	if s.ProviderSessionID != "" {
		c.setRow(providerSessionKey(s.Provider, s.ProviderSessionID, s.Ordinal), nil)
	}
}
