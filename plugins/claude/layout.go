package claude

import (
	"path/filepath"
	"strings"

	"github.com/agenthistory/ctx/sdkplugin/jsonl"
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
