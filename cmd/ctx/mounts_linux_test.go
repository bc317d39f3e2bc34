package main

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// What only the system can do to ctx is done in namespaces of this test's own: mounts that are read-only, full, or come and go, and a
// kernel that has no more watches to give. Each case is a shell script in which say checks the output of the command before it.
func TestWhatTheSystemDoes(t *testing.T) {
	namespaces := []string{"--user", "--map-root-user", "--mount"}
	if exec.Command("unshare", append(namespaces, "true")...).Run() != nil {
		t.Skip("this machine gives no namespaces")
	}
	for name, script := range map[string]string{
		"read-only mount": `
mount --bind "$CTX_DATA_ROOT" "$CTX_DATA_ROOT" && mount -o remount,bind,ro "$CTX_DATA_ROOT" || skip
ctx import --all >out; say 'Nothing new'
cat more >>"$session"
ctx search falcon >out; say 'the first falcon'
ctx import --all >out 2>&1 && fail; say 'read-only|cannot be written'
ctx search falcon --refresh wait >out 2>&1 && fail; say 'read-only|cannot be written'
ctx daemon run --force >out 2>&1 && fail; say 'cannot be written'
ctx search falcon >out; say 'the first falcon'`,
		"full disk": `
cp -a "$CTX_DATA_ROOT" kept
mount -t tmpfs -o size=2m none "$CTX_DATA_ROOT" && cp -a kept/. "$CTX_DATA_ROOT" || skip
dd if=/dev/zero of="$CTX_DATA_ROOT/full" bs=1k >/dev/null 2>&1
cat more >>"$session"
ctx import --all >out 2>&1 && fail; say 'no space left|disk'
ctx search falcon >out; say 'the first falcon'
ctx doctor --deep >out || fail
rm "$CTX_DATA_ROOT/full"
ctx import --all >out || fail
ctx search monsoon >out; say 'then a monsoon'`,
		"unmounted and back": `
mount -t tmpfs none "$HOME/.claude/projects" || skip
ctx import --all >out 2>&1
ctx search falcon >out; say 'the first falcon'
umount "$HOME/.claude/projects"
cat more >>"$session"
ctx import --all >out || fail
ctx search monsoon >out; say 'then a monsoon'
ctx status --format json >out; say '"gone": 0'`,
		"no watches left": `
mkdir -p "$HOME/.claude/projects/-a" "$HOME/.claude/projects/-b" "$HOME/.claude/projects/-c"
echo 3 >/proc/sys/user/max_inotify_watches || skip
ctx daemon run --force --loop-interval-seconds 1 >log 2>&1 &
daemon=$!
until ctx daemon status | grep 'refuses to watch' >out; do kill -0 $daemon || fail; sleep 0.1; done
cat more >>"$session"
until ctx search monsoon | grep 'then a monsoon' >out; do kill -0 $daemon || fail; sleep 0.1; done`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			home, data := filepath.Join(dir, "home"), filepath.Join(dir, "data")
			session := filepath.Join(home, ".claude", "projects", "-w", "00000001-0000-4000-8000-000000000000.jsonl")
			for path, text := range map[string]string{session: line(1, 0, "the first falcon"), filepath.Join(dir, "more"): line(1, 1, "then a monsoon")} {
				err := os.MkdirAll(filepath.Dir(path), 0o700)
				if err == nil {
					err = os.WriteFile(path, []byte(text), 0o600)
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			const words = `daemon=
trap 'test -z "$daemon" || { kill $daemon; wait $daemon; }' EXIT
fail() { echo "failed: $(cat out)"; exit 1; }
skip() { echo "not possible here"; exit 0; }
say() { grep -Eqi "$1" out || { echo "no $1"; fail; }; }
ctx index mode manual >out && ctx import --all >out || fail
`
			ctx, cancel := context.WithTimeout(context.Background(), 2*patience)
			defer cancel()
			run := exec.CommandContext(ctx, "unshare", slices.Concat(namespaces, []string{"sh", "-c", words + script})...)
			run.Dir = dir
			run.Env = append(os.Environ(), "HOME="+home, "CTX_DATA_ROOT="+data, "session="+session, "CTX_DAEMON_AUTOSTART_OFF=1",
				"CTX_LOCAL_USAGE_ENABLED=false", "PATH="+filepath.Dir(binary)+string(os.PathListSeparator)+os.Getenv("PATH"))
			out, err := run.CombinedOutput()
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			if bytes.Contains(out, []byte("not possible here")) {
				t.Skip(strings.TrimSpace(string(out)))
			}
		})
	}
}
