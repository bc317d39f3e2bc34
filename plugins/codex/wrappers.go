package codex

import "bytes"

// Wrappers: what Codex puts into the user's place, from its opening to its closing tag.
var wrapperTags = []struct{ open, close []byte }{
	tag("environment_context"), tag("user_instructions"), tag("INSTRUCTIONS"), tag("user_shell_command"), tag("turn_aborted"),
	tag("subagent_notification"), tag("skill"), tag("permissions instructions"),
}

var (
	agentsHeading = []byte("# AGENTS.md instructions for ")
	instructions  = tag("INSTRUCTIONS")
)

func tag(name string) struct{ open, close []byte } {
	return struct{ open, close []byte }{[]byte("<" + name + ">"), []byte("</" + name + ">")}
}

// wrapperOnly tells whether a text consists of wrappers and white space only.
func wrapperOnly(text []byte) bool {
	text = bytes.TrimSpace(text)
	if len(text) == 0 || text[0] != '<' && text[0] != '#' {
		return false
	}
	for len(text) > 0 {
		rest, ok := behindWrapper(text)
		if !ok {
			return false
		}
		text = bytes.TrimSpace(rest)
	}
	return true
}

// behindWrapper returns what follows the wrapper that a text begins with.
func behindWrapper(text []byte) (rest []byte, ok bool) {
	if bytes.HasPrefix(text, agentsHeading) {
		_, block, _ := bytes.Cut(text, []byte("\n"))
		block = bytes.TrimSpace(block)
		if !bytes.HasPrefix(block, instructions.open) {
			return nil, true // the instructions take the rest of the text
		}
		_, rest, _ = bytes.Cut(block, instructions.close)
		return rest, true
	}
	for _, t := range wrapperTags {
		if inside, found := bytes.CutPrefix(text, t.open); found {
			_, rest, found = bytes.Cut(inside, t.close)
			return rest, found
		}
	}
	return nil, false
}
