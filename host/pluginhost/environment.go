package pluginhost

import (
	"os"
	"runtime"
	"strconv"

	"github.com/hashicorp/go-hclog"

	"github.com/agenthistory/ctx/sdkplugin"
)

// passed lists the variables of the host that a plugin gets: what a program needs to find its libraries, its home and its
// language. Everything that says where histories lie was resolved by the host before.
var passed = map[bool][]string{
	false: {"HOME", "USER", "LOGNAME", "PATH", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "TMPDIR", "GOMAXPROCS"},
	true: {
		"SystemRoot", "SystemDrive", "windir", "ComSpec", "PATH", "PATHEXT", "TEMP", "TMP", "USERNAME", "USERPROFILE", "HOMEDRIVE", "HOMEPATH",
		"APPDATA", "LOCALAPPDATA", "ProgramData", "NUMBER_OF_PROCESSORS", "GOMAXPROCS",
	},
}

// environment is the whole environment of a plugin, except what the handshake adds.
func (l *Launcher) environment() []string {
	var env []string
	for _, name := range passed[runtime.GOOS == "windows"] {
		if value, set := os.LookupEnv(name); set {
			env = append(env, name+"="+value)
		}
	}
	env = append(env, sdkplugin.HostPIDEnv+"="+strconv.Itoa(os.Getpid()))
	if level := l.log().GetLevel(); level != hclog.NoLevel && level != hclog.Off {
		env = append(env, sdkplugin.LogLevelEnv+"="+level.String())
	}
	return env
}
