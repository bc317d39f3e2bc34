package claude

import (
	"path/filepath"
	"strings"
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

// form is what the path of a route is.
type form uint8

const (
	containerForm form = iota // holds project directories
	projectForm               // is one project directory
	homeForm                  // holds the projects container
)

// depth returns how many components of a locator stand before the name of a main transcript.
func (f form) depth() int { return [...]int{containerForm: 1, projectForm: 0, homeForm: 2}[f] }

// placed is the meaning of a transcript's place.
type placed struct {
	key sessionKey
	// flat: an agent beside the main transcripts; its root stands in its content and key.root is not set.
	flat bool
	// below is the directory of an agent under `subagents`, "" for that directory itself.
	below string
}

// place reads the meaning of a locator. ok is false for everything that is no transcript.
func place(f form, locator string) (p placed, ok bool) {
	stem, isTranscript := strings.CutSuffix(locator, transcriptSuffix)
	if !isTranscript {
		return placed{}, false
	}
	parts := strings.Split(stem, "/")
	if f == homeForm && parts[0] != projectsDir {
		return placed{}, false
	}
	if len(parts) <= f.depth() {
		return placed{}, false
	}
	return placeParts(parts[f.depth():])
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
	if locator == "" {
		for i := len(parts) - 2; i >= 2; i-- {
			if parts[i] == subagentsDir {
				above = i - 2
				break
			}
		}
	} else {
		first := len(parts) - 1 - strings.Count(locator, "/")
		for i := max(first, 2); i < len(parts)-1; i++ {
			if parts[i] == subagentsDir {
				above = i - 2
				break
			}
		}
	}
	if above < 0 {
		return ""
	}
	return parts[above]
}

// formOf finds out what a route is from the files below it. A project directory has a transcript of its own, or agents two
// levels down; a container has either one level deeper. A home is known before the walk.
func formOf(locators []string) form {
	f := containerForm
	for _, locator := range locators {
		parts := strings.Split(locator, "/")
		switch {
		case len(parts) == 2, len(parts) > 3 && parts[2] == subagentsDir:
			return containerForm
		case len(parts) == 1, len(parts) > 2 && parts[1] == subagentsDir:
			f = projectForm
		}
	}
	return f
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
			switch parts[1] {
			case "tool-results", "memory", workflowsDir:
				return false
			}
			return true
		}
		return parts[1] == subagentsDir || parts[2] == subagentsDir
	}
}
