//go:build unix

package pluginhost

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/agenthistory/ctx/sdkplugin/leftover"
)

// ends tells whether a process disappears. A zombie that nobody waits for counts as gone.
func ends(pid int) bool {
	for deadline := time.Now().Add(generous); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if syscall.Kill(pid, 0) == syscall.ESRCH {
			return true
		}
		if stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid)); err == nil && strings.Contains(string(stat), ") Z ") {
			return true
		}
	}
	return false
}

// A host that is killed leaves no plugin behind, be it one of the SDK or one that watches nothing.
func TestNoPluginOutlivesItsHost(t *testing.T) {
	t.Parallel()
	modes := []string{"built-in"}
	if runtime.GOOS == "linux" { // elsewhere only the plugin itself can notice
		modes = append(modes, "correct")
	}
	for _, mode := range modes {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			host := exec.Command(executable(t), "host", mode)
			out, err := host.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := host.Start(); err != nil {
				t.Fatal(err)
			}
			defer host.Process.Kill()
			line, err := bufio.NewReader(out).ReadString('\n')
			word, dir, _ := strings.Cut(strings.TrimSpace(line), " ")
			pid, convErr := strconv.Atoi(word)
			if err != nil || convErr != nil {
				t.Fatalf("the host says %q, %v", line, err)
			}
			t.Cleanup(func() { os.RemoveAll(dir) })
			if !strings.Contains(filepath.Base(dir), directoryName+strconv.FormatInt(int64(host.Process.Pid), 36)) {
				t.Errorf("directory %s does not name its host", dir)
			}
			if syscall.Kill(pid, 0) != nil {
				t.Fatal("the plugin does not run")
			}
			if err := host.Process.Signal(syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
			if !ends(pid) {
				_ = syscall.Kill(pid, syscall.SIGKILL)
				t.Error("the plugin is an orphan")
			}
			_ = host.Wait()
			leftover.Sweep(filepath.Dir(dir), directoryName)
			if _, err := os.Stat(dir); err == nil {
				t.Error("the next host leaves the directory of the killed one")
			}
		})
	}
}

// What a plugin has started ends with it.
func TestTheWholeGroupEnds(t *testing.T) {
	t.Parallel()
	_, log, err := launch(t, "deaf-with-child", Limits{Describe: 300 * time.Millisecond})
	wantFault(t, err, TimedOut)
	match := regexp.MustCompile(`child (\d+)`).FindStringSubmatch(log.String())
	if match == nil {
		t.Fatalf("log %q", log)
	}
	child, _ := strconv.Atoi(match[1])
	if !ends(child) {
		_ = syscall.Kill(child, syscall.SIGKILL)
		t.Error("the child is still there")
	}
}
