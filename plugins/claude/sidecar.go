package claude

import (
	"errors"
	"io"
	"strings"

	"github.com/agenthistory/ctx/sdkplugin"
	"github.com/agenthistory/ctx/sdkplugin/canonical"
	"github.com/agenthistory/ctx/sdkplugin/jsonl"
)

// maxSidecar is the longest sidecar that is read.
const maxSidecar = 1 << 20

// sidecars is what the files beside a transcript say.
type sidecars struct {
	agentType   string // the agent's own name of its role
	description string // what the agent was started for
	parentAgent string // agent that started this one, with the prefix of its file name
	customTitle string // given by the user
}

// parent returns the session that started the agent with that key: another agent of the same root, or the root itself.
func (s sidecars) parent(key sessionKey) sessionKey {
	if s.parentAgent == "" || s.parentAgent == key.agent {
		return sessionKey{root: key.root}
	}
	return sessionKey{root: key.root, agent: s.parentAgent}
}

// The kinds of sidecars, as bytes of the observation.
const (
	agentSidecar byte = 'a' // <agent stem>.meta.json
	titleSidecar byte = 't' // <session id>/custom-title.json
)

// sidecarLocator returns where a sidecar of the transcript at a locator lies.
func sidecarLocator(kind byte, transcript string) string {
	stem := strings.TrimSuffix(transcript, transcriptSuffix)
	if kind == titleSidecar {
		return stem + "/" + titleName
	}
	return stem + metaSuffix
}

// observed is the state of a transcript and of its sidecars, in the form that travels to the host.
type observed struct {
	transcript jsonl.Observation
	sidecars   []observedSidecar // ascending by kind
}

type observedSidecar struct {
	kind  byte
	state jsonl.Observation
}

func (o *observed) token() []byte {
	token := o.transcript.Token()
	for _, s := range o.sidecars {
		token = s.state.AppendToken(append(token, s.kind))
	}
	return token
}

var errForeignObservation = errors.New("the observation is none of this provider")

// parseObserved reads a token back.
func parseObserved(token []byte) (observed, error) {
	size := len(jsonl.Observation{}.Token())
	if len(token) < size {
		return observed{}, errForeignObservation
	}
	transcript, ok := jsonl.ParseToken(token[:size])
	o := observed{transcript: transcript}
	for rest := token[size:]; ok && len(rest) > 0; rest = rest[1+size:] {
		if len(rest) < 1+size {
			return observed{}, errForeignObservation
		}
		var s observedSidecar
		s.kind = rest[0]
		s.state, ok = jsonl.ParseToken(rest[1 : 1+size])
		o.sidecars = append(o.sidecars, s)
	}
	if !ok {
		return observed{}, errForeignObservation
	}
	return o, nil
}

// readSidecars reads the sidecars that the inventory saw and notes the state each was read in. One that has gone meanwhile
// says nothing; its absence changes the observation.
func readSidecars(route, transcript string, seen []observedSidecar) (side sidecars, now []observedSidecar) {
	for _, s := range seen {
		content, state, err := readSmall(route, sidecarLocator(s.kind, transcript))
		if err != nil {
			continue
		}
		now = append(now, observedSidecar{s.kind, state})
		side.read(s.kind, content)
	}
	return side, now
}

func (s *sidecars) read(kind byte, content []byte) {
	var doc canonical.Doc
	if doc.Parse(content) != nil {
		return
	}
	root := doc.Root()
	if kind == titleSidecar {
		for _, v := range [...]canonical.Value{root, root.Get("customTitle"), root.Get("title")} {
			if title := oneLine(v.Str()); title != "" {
				s.customTitle = title
			}
		}
		return
	}
	s.agentType = shortText(root.Get("agentType").Str())
	s.description = oneLine(root.Get("description").Str())
	if parent := shortText(root.Get("parentAgentId").Str()); parent != "" {
		s.parentAgent = agentPrefix + strings.TrimPrefix(parent, agentPrefix)
	}
}

// readSmall reads a whole small file under the rules for foreign files.
func readSmall(route, locator string) ([]byte, jsonl.Observation, error) {
	f, err := jsonl.Open(route, locator, nil)
	if err != nil {
		return nil, jsonl.Observation{}, err
	}
	defer f.Close()
	state := f.Observation()
	if state.Size > maxSidecar {
		return nil, state, nil
	}
	content := make([]byte, state.Size)
	if _, err := f.ReadAt(content, 0); err != nil && !errors.Is(err, io.EOF) {
		return nil, state, err
	}
	return content, state, nil
}

// modTimeMS returns the time of a transcript in milliseconds.
func (o *observed) modTimeMS() int64 { return sdkplugin.AtMillis(o.transcript.MtimeNS / 1e6).Millis }
