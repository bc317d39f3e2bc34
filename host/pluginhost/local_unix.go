//go:build unix

package pluginhost

// localPart has nothing to add on unix: every name is an ordinary one.
func localPart(string) bool { return true }
