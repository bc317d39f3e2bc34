package core

import (
	"bytes"
	"crypto/sha256"
	"maps"
	"os"
	"slices"

	"github.com/agenthistory/ctx/host/internal/stored"
	"github.com/agenthistory/ctx/host/record"
)

// What a refresh sees of an unchanged source (a new modification time, another place) or of an absent route is worth keeping, or the
// next refresh would look again. But it is no content: it must not make a new generation, and the files of the active one never
// change. So it is kept in a file of its own beside the generations, named after the directory it belongs to, and moves into the
// certificates with the next real publication. Losing it costs one look at each source.
type observations struct {
	sightings  map[record.Digest]Sighting // by source
	deliveries Deliveries                 // of all sources, with the sightings
	absent     map[string]uint32          // by route identity
}

const observationMagic = "ctx.observations.v2\x00"

func (o observations) empty() bool { return len(o.sightings) == 0 && len(o.absent) == 0 }

// apply puts the newest sighting into a certificate.
func (o observations) apply(c *Certificate) {
	if s, ok := o.sightings[c.Source]; ok {
		c.Sighting = s
	}
}

// merged returns o with the entries of newer on top.
func (o observations) merged(newer observations) observations {
	m := observations{sightings: maps.Clone(o.sightings), deliveries: newer.deliveries, absent: maps.Clone(o.absent)}
	if m.sightings == nil {
		m.sightings = map[record.Digest]Sighting{}
	}
	if m.absent == nil {
		m.absent = map[string]uint32{}
	}
	maps.Copy(m.sightings, newer.sightings)
	maps.Copy(m.absent, newer.absent)
	return m
}

// encode gives the file content: magic, entries sorted by key, SHA-256 of all that.
func (o observations) encode() []byte {
	k := stored.Coder{B: []byte(observationMagic)}
	sources := slices.SortedFunc(maps.Keys(o.sightings), func(a, b record.Digest) int { return bytes.Compare(a[:], b[:]) })
	k.Count(len(sources), 0)
	for _, id := range sources {
		s := o.sightings[id]
		k.Fixed(id[:])
		s.fields(&k)
	}
	k.Count(len(o.deliveries), 0)
	for i := range o.deliveries {
		o.deliveries[i].fields(&k)
	}
	routes := slices.Sorted(maps.Keys(o.absent))
	k.Count(len(routes), 0)
	for _, id := range routes {
		n := o.absent[id]
		k.Text(&id)
		k.Uint32(&n)
	}
	sum := sha256.Sum256(k.B)
	return append(k.B, sum[:]...)
}

func decodeObservations(b []byte) (observations, error) {
	o := observations{}.merged(observations{})
	body := len(b) - sha256.Size
	if body < len(observationMagic) || !bytes.HasPrefix(b, []byte(observationMagic)) {
		return observations{}, stored.Malformed("bad observations")
	}
	if sum := sha256.Sum256(b[:body]); !bytes.Equal(sum[:], b[body:]) {
		return observations{}, stored.Malformed("bad observations")
	}
	k := stored.Coder{B: b[len(observationMagic):body], Reading: true}
	for n := k.Count(0, len(k.B)); n > 0 && k.Err == nil; n-- {
		var id record.Digest
		var s Sighting
		k.Fixed(id[:])
		s.fields(&k)
		o.sightings[id] = s
	}
	for n := k.Count(0, len(k.B)); n > 0 && k.Err == nil; n-- {
		var d Delivery
		d.fields(&k)
		o.deliveries = append(o.deliveries, d)
	}
	for n := k.Count(0, len(k.B)); n > 0 && k.Err == nil; n-- {
		var id string
		var absent uint32
		k.Text(&id)
		k.Uint32(&absent)
		o.absent[id] = absent
	}
	return o, k.End()
}

func (d *Delivery) fields(k *stored.Coder) {
	k.Text(&d.Provider)
	k.Text(&d.Route)
	k.Uint(&d.Sources)
}

// readObservations returns the observations kept for a generation directory. A missing or damaged file counts as none: then sources
// are looked at again. Verify reports a damaged one.
func (s *Store) readObservations(directory string) observations {
	b, err := os.ReadFile(s.observationPath(directory))
	if err == nil {
		if o, err := decodeObservations(b); err == nil {
			return o
		}
	}
	return observations{}
}

func (s *Store) writeObservations(directory string, o observations) error {
	return s.replace(s.observationPath(directory), o.encode(), StepObserve)
}
