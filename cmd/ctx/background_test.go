package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// patience is how long a script waits for the background process, also on a machine with much else to do.
const patience = 60 * time.Second

// eventually repeats a command of the program until its answer says what is wanted; its output is that of the last run.
//
//	eventually 1 exec ctx search word --format json      one result, or one source that is gone
//	eventually running exec ctx daemon status --format json   a member of the answer with that text
//	eventually refresh.status=ready exec ctx status --format json   exactly that member
func eventually(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) < 3 || args[1] != "exec" {
		ts.Fatalf("usage: eventually WANTED exec PROGRAM ...")
	}
	deadline := time.Now().Add(patience)
	for {
		_ = ts.Exec(args[2], args[3:]...)
		text := ts.ReadFile("stdout")
		if says(text, args[0]) {
			return
		}
		if time.Now().After(deadline) {
			ts.Fatalf("%s did not come:\n%s\n%s", args[0], text, ts.ReadFile("stderr"))
		}
		time.Sleep(50 * time.Millisecond)
	}
}

func says(text, wanted string) bool {
	if path, value, ok := strings.Cut(wanted, "="); ok {
		var document any
		if json.Unmarshal([]byte(text), &document) != nil {
			return false
		}
		at, found := descend(document, strings.Split(path, "."))
		return found && spell(at) == value
	}
	if _, err := strconv.Atoi(wanted); err != nil {
		return strings.Contains(text, ": "+strconv.Quote(wanted))
	}
	var answer struct {
		Results []json.RawMessage `json:"results"`
		Sources struct {
			Gone int `json:"gone"`
		} `json:"sources"`
	}
	return json.Unmarshal([]byte(text), &answer) == nil && wanted == strconv.Itoa(len(answer.Results)+answer.Sources.Gone)
}

// endDaemon leaves no background process behind a script, also behind one that failed.
func endDaemon(env *testscript.Env) {
	root := env.Getenv("CTX_DATA_ROOT")
	if _, err := os.Stat(filepath.Join(root, "daemon")); err != nil {
		return
	}
	_ = os.Remove(filepath.Join(root, "config.toml")) // a script may have broken it
	stop := exec.Command(binary, "index", "mode", "manual", "--quiet")
	stop.Env = env.Vars
	_ = stop.Run()
}

// daemonProcess is the process of the background process of a script.
func daemonProcess(ts *testscript.TestScript) *os.Process {
	var state struct {
		PID int `json:"pid"`
	}
	ts.Check(json.Unmarshal([]byte(ts.ReadFile(filepath.Join("data", "daemon", "status.json"))), &state))
	p, err := os.FindProcess(state.PID)
	ts.Check(err)
	return p
}

// killDaemon ends the background process as a power failure would.
func killDaemon(ts *testscript.TestScript, _ bool, _ []string) {
	p := daemonProcess(ts)
	ts.Check(p.Kill())
	waitGone(ts, false, []string{strconv.Itoa(p.Pid)})
}

// daemonPID keeps the number of the background process: daemonpid VARIABLE.
func daemonPID(ts *testscript.TestScript, _ bool, args []string) {
	ts.Setenv(args[0], strconv.Itoa(daemonProcess(ts).Pid))
}

// waitGone waits until a process has ended: waitgone PID.
func waitGone(ts *testscript.TestScript, _ bool, args []string) {
	for deadline := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		state, err := exec.Command("ps", "-o", "stat=", "-p", args[0]).Output()
		if err != nil || strings.HasPrefix(string(state), "Z") {
			return
		}
		if time.Now().After(deadline) {
			ts.Fatalf("process %s does not end", args[0])
		}
	}
}
