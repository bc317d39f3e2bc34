package claude

import (
	"io"
	"strings"

	"github.com/agenthistory/ctx/sdkplugin"
	"github.com/agenthistory/ctx/sdkplugin/canonical"
	"github.com/agenthistory/ctx/sdkplugin/jsonl"
	"github.com/agenthistory/ctx/sdkplugin/texts"
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

// parent returns the session that started the agent with that key: another agent of the same root, or the root itself, as for
// all agents of a workflow.
func (s sidecars) parent(key sessionKey) sessionKey {
	if key.main() || key.run != "" || s.parentAgent == key.agent {
		return sessionKey{root: key.root}
	}
	return sessionKey{root: key.root, agent: s.parentAgent}
}

// sidecarOf returns where the sidecar of a transcript lies: the description of an agent, the title of a main session.
func sidecarOf(key sessionKey, transcript string) string {
	stem := strings.TrimSuffix(transcript, transcriptSuffix)
	if key.main() {
		return stem + "/" + titleName
	}
	return stem + metaSuffix
}

// observed is the state of a transcript and of its sidecar, if it has one.
type observed struct {
	transcript, sidecar jsonl.Observation
	hasSidecar          bool
}

// token is the form that travels to the host.
func (o *observed) token() []byte {
	token := o.transcript.Token()
	if o.hasSidecar {
		token = o.sidecar.AppendToken(token)
	}
	return token
}

// modTimeMS returns the time of a transcript in milliseconds.
func (o *observed) modTimeMS() int64 { return sdkplugin.AtMillis(o.transcript.MtimeNS / 1e6).Millis }

// readSidecar reads the sidecar of a transcript and notes the state it was read in. One that cannot be read says nothing.
func (o *observed) readSidecar(key sessionKey, route, transcript string) (side sidecars) {
	f, err := jsonl.Open(route, sidecarOf(key, transcript), nil)
	if err != nil {
		return side
	}
	defer f.Close()
	o.sidecar, o.hasSidecar = f.Observation(), true
	if o.sidecar.Size > maxSidecar {
		return side
	}
	content, err := io.ReadAll(io.NewSectionReader(f, 0, int64(o.sidecar.Size)))
	if o.hasSidecar = err == nil; err == nil {
		side.read(key, content)
	}
	return side
}

func (s *sidecars) read(key sessionKey, content []byte) {
	var doc canonical.Doc
	if doc.Parse(content) != nil {
		return
	}
	root := doc.Root()
	if key.main() {
		for _, v := range [...]canonical.Value{root, root.Get("customTitle"), root.Get("title")} {
			if title := texts.OneLine(v.Str()); title != "" {
				s.customTitle = title
			}
		}
		return
	}
	s.agentType = shortText(root.Get("agentType").Str())
	s.description = texts.OneLine(root.Get("description").Str())
	if parent := shortText(root.Get("parentAgentId").Str()); parent != "" {
		s.parentAgent = agentPrefix + strings.TrimPrefix(parent, agentPrefix)
	}
}
