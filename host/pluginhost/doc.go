// Package pluginhost starts history providers and keeps them from doing harm.
//
// Vocabulary. A provider is a subprocess that knows one agent's files; a plugin (Plugin) is such a process while it runs. The
// built-in providers are this program itself, started with `provider serve <name>`; a third-party one is an executable that a
// manifest names. A pin is the SHA-256 of an executable that the user trusted. A failure (Class) is the way in which a plugin
// went wrong.
//
// Nothing that a plugin does may cost more than that plugin. It gets a short environment, no terminal, no standard input, a
// private directory for its socket, and is only ever spoken to over that socket. It must shake hands and describe itself in
// time, must keep talking while it works, and may use so much memory. Its messages are measured before they are decoded, and
// checked before anybody sees them: sizes, ordinals, order, spans, counts. A source that breaks a rule fails alone, as if the
// plugin had said so; a stream that can not be followed any more, a crash, a hang or a greedy process ends the plugin, and
// every call then returns the same *fault.Error. The form of native keys and the rules of content are checked where they are
// used, in package record.
//
// A plugin never outlives its host: it watches the host itself, and the system ends it too (Linux: parent-death signal;
// Windows: a job object). On unix it runs in a process group of its own, which is ended as a whole.
package pluginhost

import (
	"cmp"
	"io"
	"strings"
	"time"

	"github.com/hashicorp/go-hclog"
)

// Limits bound a plugin. A zero field means its default.
type Limits struct {
	Start      time.Duration // from the start of the process to the handshake; 5 s
	Describe   time.Duration // for the description; 2 s
	Resolve    time.Duration // for finding locations; 2 s
	Inactivity time.Duration // without any message while an inventory or scan waits for one; 2 min
	Stop       time.Duration // from the request to exit to the kill; 1 s
	Memory     uint64        // resident bytes of the process and its children; 1 GiB
	Events     uint64        // of one source in one scan; 10 million
	Sessions   uint32        // of one source in one scan; 1,048,576
}

func (l Limits) withDefaults() Limits {
	return Limits{
		Start: cmp.Or(l.Start, 5*time.Second), Describe: cmp.Or(l.Describe, 2*time.Second), Resolve: cmp.Or(l.Resolve, 2*time.Second),
		Inactivity: cmp.Or(l.Inactivity, 2*time.Minute), Stop: cmp.Or(l.Stop, time.Second),
		Memory: cmp.Or(l.Memory, 1<<30), Events: cmp.Or(l.Events, 10_000_000), Sessions: cmp.Or(l.Sessions, 1<<20),
	}
}

// Launcher starts plugins.
type Launcher struct {
	Self    string       // absolute path of the ctx executable, for built-in providers
	Version string       // of ctx, told to plugins
	Log     hclog.Logger // life of the plugins; nil = nothing
	LogFile io.Writer    // what plugins print on stderr, line by line; nil = nothing
	Limits  Limits
}

// Spec names a provider to start.
type Spec struct {
	Name string // for messages and the log; of a built-in provider also the argument of `provider serve`
	// Command is the executable (absolute) and its arguments; nil starts the built-in provider Name.
	Command []string
	// SHA256 pins the executable in hexadecimal; empty only for built-in providers and for programs under test.
	SHA256 string
}

// SecretName tells whether the name of an environment variable looks like that of a secret, which no plugin gets.
func SecretName(name string) bool {
	name = strings.ToUpper(name)
	for _, end := range []string{"_KEY", "_TOKEN", "_SECRET"} {
		if strings.HasSuffix(name, end) {
			return true
		}
	}
	return strings.Contains(name, "PASSWORD")
}
