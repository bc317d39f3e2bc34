package leftover

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
)

func TestSweepTakesOnlyWhatIsLeftOver(t *testing.T) {
	t.Parallel()
	parent := t.TempDir()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dead := exec.Command(self, "-test.run=^$")
	if err := dead.Run(); err != nil {
		t.Fatal(err)
	}
	own, err := Mkdir(parent, "ctx-x-")
	if err != nil {
		t.Fatal(err)
	}
	ended := strconv.FormatInt(int64(dead.Process.Pid), base)
	left := filepath.Join(parent, "ctx-x-"+ended+"-1")
	keep := []string{own}
	for _, name := range []string{"ctx-x-1", "ctx-x--1", "ctx-x-!!-1", "ctx-x-" + ended + "-a", "ctx-x-" + ended, "other-" + ended + "-1"} {
		keep = append(keep, filepath.Join(parent, name))
	}
	for _, dir := range append(keep, left) {
		if err := os.MkdirAll(filepath.Join(dir, "inside"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	_ = os.Symlink(own, filepath.Join(parent, "ctx-x-"+ended+"-2")) // where this user can
	Sweep(parent, "ctx-x-")
	for _, dir := range keep {
		if _, err := os.Stat(filepath.Join(dir, "inside")); err != nil {
			t.Errorf("%s was taken", dir)
		}
	}
	if _, err := os.Stat(left); err == nil {
		t.Errorf("%s was left", left)
	}
}
