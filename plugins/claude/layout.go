package claude

import (
	"io"
	"path/filepath"
	"strings"

	"github.com/agenthistory/ctx/sdkplugin"
	"github.com/agenthistory/ctx/sdkplugin/canonical"
	"github.com/agenthistory/ctx/sdkplugin/jsonl"
	"github.com/agenthistory/ctx/sdkplugin/texts"
)

// Names of the layout below a projects container.
const (
	transcriptSuffix = ".jsonl"
	metaSuffix       = ".meta.json"
	titleName        = "custom-title.json"
	agentPrefix      = "agent-"
	subagentsDir     = "subagents"
	workflowsDir     = "workflows"
	projectsDir      = "projects"
)

// What the path of a route is, by the number of components of a locator before the name of a main transcript.
const (
	projectDepth   = 0 // one project directory
	containerDepth = 1 // holds project directories
	homeDepth      = 2 // holds the projects container
)

// placed is the meaning of a transcript's place.
type placed struct {
	key sessionKey
	// flat: an agent beside the main transcripts; its root stands in its content and key.root is not set.
	flat bool
	// below is the directory of an agent under `subagents`, "" for that directory itself.
	below string
}

// place reads the meaning of a locator. ok is false for everything that is no transcript.
func place(depth int, locator string) (p placed, ok bool) {
	stem, isTranscript := strings.CutSuffix(locator, transcriptSuffix)
	parts := strings.Split(stem, "/")
	if !isTranscript || len(parts) <= depth || depth == homeDepth && parts[0] != projectsDir {
		return placed{}, false
	}
	return placeParts(parts[depth:])
}

// placeParts reads the components from the main transcript's level on, the last without its suffix.
func placeParts(parts []string) (p placed, ok bool) {
	stem := parts[len(parts)-1]
	if stem == "" || strings.Contains(stem, ".") {
		return placed{}, false
	}
	agent := len(stem) > len(agentPrefix) && strings.HasPrefix(stem, agentPrefix)
	if len(parts) == 1 {
		if agent {
			return placed{key: sessionKey{agent: stem}, flat: true}, true
		}
		return placed{key: sessionKey{root: stem}}, true
	}
	if !agent || len(parts) < 3 || parts[1] != subagentsDir || parts[0] == "" {
		return placed{}, false
	}
	p.key = sessionKey{root: parts[0], agent: stem}
	between := parts[2 : len(parts)-1]
	if len(between) == 2 && between[0] == workflowsDir {
		p.key.run = between[1]
		return p, true
	}
	p.below = strings.Join(between, "/")
	return p, true
}

// placeFile reads the meaning of an exact file from its whole path.
func placeFile(path string) (p placed, ok bool) {
	stem, isTranscript := strings.CutSuffix(filepath.ToSlash(path), transcriptSuffix)
	if !isTranscript {
		return placed{}, false
	}
	parts := strings.Split(stem, "/")
	for i := len(parts) - 2; i > 0; i-- {
		if parts[i] == subagentsDir && parts[i-1] != "" {
			return placeParts(parts[i-1:])
		}
	}
	return placeParts(parts[len(parts)-1:])
}

// slugOf returns the name of the project directory that a transcript lies in: its own directory, or for agents the one that
// holds the directory of their session.
func slugOf(route, locator string) string {
	parts := strings.Split(strings.Trim(filepath.ToSlash(route)+"/"+locator, "/"), "/")
	above := len(parts) - 2
	first := 2
	if locator != "" {
		first = max(first, len(parts)-1-strings.Count(locator, "/"))
	}
	for i := first; i < len(parts)-1; i++ {
		if parts[i] == subagentsDir {
			above = i - 2
			if locator != "" {
				break
			}
		}
	}
	if above < 0 {
		return ""
	}
	return parts[above]
}

// depthOf finds out what a route is from the files below it. A project directory has a transcript of its own, or agents two
// levels down; a container has either one level deeper. A home is known before the walk.
func depthOf(entries []jsonl.Entry) int {
	depth := containerDepth
	for i := range entries {
		parts := strings.Split(entries[i].Locator, "/")
		switch {
		case !strings.HasSuffix(entries[i].Locator, transcriptSuffix):
		case len(parts) == 2, len(parts) > 3 && parts[2] == subagentsDir:
			return containerDepth
		case len(parts) == 1, len(parts) > 2 && parts[1] == subagentsDir:
			depth = projectDepth
		}
	}
	return depth
}

// wanted tells whether a file may matter, wherever it lies.
func wanted(locator string) bool {
	return strings.HasSuffix(locator, transcriptSuffix) || strings.HasSuffix(locator, metaSuffix) ||
		locator == titleName || strings.HasSuffix(locator, "/"+titleName)
}

// entered tells whether a directory may hold transcripts or sidecars. Below the directory of a session only agents do.
func entered(home bool) func(locator string) bool {
	return func(locator string) bool {
		parts := strings.Split(locator, "/")
		if home {
			if parts[0] != projectsDir {
				return false
			}
			parts = parts[1:]
		}
		switch {
		case len(parts) <= 1:
			return true
		case len(parts) == 2:
			return parts[1] != "tool-results" && parts[1] != "memory" && parts[1] != workflowsDir
		}
		return parts[1] == subagentsDir || parts[2] == subagentsDir
	}
}

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
	s.agentType = texts.Short(root.Get("agentType").Str(), maxField)
	s.description = texts.OneLine(root.Get("description").Str())
	if parent := texts.Short(root.Get("parentAgentId").Str(), maxField); parent != "" {
		s.parentAgent = agentPrefix + strings.TrimPrefix(parent, agentPrefix)
	}
}
