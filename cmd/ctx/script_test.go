package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// binary is the real program, built once for all scripts: the providers are started from it as a user's ctx would.
var binary string

func TestMain(m *testing.M) {
	if !playPlugin() {
		os.Exit(runWithBinary(m))
	}
}

func runWithBinary(m *testing.M) int {
	dir, err := os.MkdirTemp("", "ctx-script-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	binary = filepath.Join(dir, "ctx")
	if runtime.GOOS == "windows" {
		binary += ".exe"
	}
	build := exec.Command("go", "build", "-o", binary, ".")
	build.Stderr = os.Stderr
	if err := build.Run(); err != nil {
		fmt.Fprintln(os.Stderr, "the program does not build:", err)
		return 1
	}
	return m.Run()
}

func TestScript(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 filepath.Join("testdata", "script"),
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(env *testscript.Env) error {
			home := filepath.Join(env.WorkDir, "home")
			if err := os.MkdirAll(home, 0o755); err != nil {
				return err
			}
			env.Setenv("HOME", home)
			env.Setenv("USERPROFILE", home)
			env.Setenv("CTX_DATA_ROOT", filepath.Join(env.WorkDir, "data"))
			env.Setenv("PATH", filepath.Dir(binary)+string(os.PathListSeparator)+env.Getenv("PATH"))
			env.Setenv("LANG", "C.UTF-8")
			env.Setenv("TZ", "UTC")
			env.Setenv("CTX_DAEMON_AUTOSTART_OFF", "1")    // a script that wants the background process takes this away
			env.Setenv("CTX_LOCAL_USAGE_ENABLED", "false") // reading commands leave the data root as it is
			env.Defer(func() { endDaemon(env) })
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"eventually": eventually, "killdaemon": killDaemon, "daemonpid": daemonPID, "waitgone": waitGone,
			"append": appendFile, "compress": compressFile, "damage": damageNewest, "json": jsonQuery, "plugin": installPlugin, "samefiles": sameFiles, "sqlite": runSQL,
		},
	})
}

// appendFile: append FILE FROM adds the bytes of FROM to FILE; with -n without the last newline.
func appendFile(ts *testscript.TestScript, _ bool, args []string) {
	torn := len(args) == 3 && args[0] == "-n"
	if torn {
		args = args[1:]
	}
	if len(args) != 2 {
		ts.Fatalf("usage: append [-n] file from")
	}
	text := ts.ReadFile(args[1])
	if torn {
		text = strings.TrimSuffix(text, "\n")
	}
	f, err := os.OpenFile(ts.MkAbs(args[0]), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	ts.Check(err)
	_, err = f.WriteString(text)
	ts.Check(err)
	ts.Check(f.Close())
}

// damageNewest: damage GLOB cuts the last 10 bytes off the newest file that matches, as a failing disk would.
func damageNewest(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 1 {
		ts.Fatalf("usage: damage glob")
	}
	found, err := filepath.Glob(ts.MkAbs(args[0]))
	ts.Check(err)
	if len(found) == 0 {
		ts.Fatalf("nothing matches %s", args[0])
	}
	newest := found[len(found)-1] // names of generations ascend with time
	info, err := os.Stat(newest)
	ts.Check(err)
	ts.Check(os.Chmod(newest, 0o600))
	ts.Check(os.Truncate(newest, info.Size()-10))
}

// sameFiles: samefiles save DIR remembers names, sizes and times below DIR; samefiles check DIR compares.
func sameFiles(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: samefiles save|check dir")
	}
	seen := describeTree(ts, ts.MkAbs(args[1]))
	kept := filepath.Join(ts.Getenv("WORK"), ".tree-"+filepath.Base(args[1]))
	if args[0] == "save" {
		ts.Check(os.WriteFile(kept, []byte(seen), 0o644))
		return
	}
	before, err := os.ReadFile(kept)
	ts.Check(err)
	if string(before) != seen {
		ts.Fatalf("%s changed:\nbefore\n%s\nafter\n%s", args[1], before, seen)
	}
}

func describeTree(ts *testscript.TestScript, dir string) string {
	var b strings.Builder
	ts.Check(filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		fmt.Fprintf(&b, "%s %v %d %d\n", path, info.Mode(), info.Size(), info.ModTime().UnixNano())
		return nil
	}))
	return b.String()
}
