package pluginhost

import (
	"path/filepath"
	"strings"
)

// localPart refuses backslashes, drive letters, data streams and reserved device names.
func localPart(part string) bool { return !strings.ContainsAny(part, `\:`) && filepath.IsLocal(part) }
