//go:build unix

package main

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// Whatever the mask of the user's shell is, nobody else can look into the data root: after the commands that write there, every
// directory and every file is for its owner alone.
func TestDataRootIsPrivate(t *testing.T) {
	r := newReader(t)
	for _, line := range []string{
		"ctx search idempotency", "ctx show session <session>", "ctx sources add more --provider codex --root /srv/codex-work", "ctx import --all",
		"ctx index mode manual", "ctx status --usage enable", "ctx stats", "ctx plugins list", "ctx forget <session>", "ctx doctor --deep",
	} {
		words := splitWords(strings.TrimPrefix(r.put.Replace(line), "ctx "))
		cmd := exec.Command("sh", append([]string{"-c", `umask 0; exec "$0" "$@"`, binary}, words...)...)
		cmd.Dir, cmd.Env = r.home, append(r.env, "CTX_LOCAL_USAGE_ENABLED=true")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", line, err, out)
		}
	}
	seen := 0
	err := filepath.WalkDir(filepath.Join(r.home, "data"), func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := os.Lstat(path)
		if err != nil {
			return err
		}
		seen++
		if mode := info.Mode().Perm(); mode&0o077 != 0 || info.IsDir() && mode != 0o700 {
			t.Errorf("%s has mode %v", path, info.Mode())
		}
		if owner, ok := info.Sys().(*syscall.Stat_t); ok && int(owner.Uid) != os.Getuid() {
			t.Errorf("%s belongs to %d", path, owner.Uid)
		}
		return nil
	})
	if err != nil || seen < 10 {
		t.Fatalf("%d entries, %v", seen, err)
	}
}
