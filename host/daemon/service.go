package daemon

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/xml"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/agenthistory/ctx/host/durable"
	"github.com/agenthistory/ctx/host/fault"
	"github.com/agenthistory/ctx/host/status"
)

// unit is the registration of the daemon with the service manager of the user: a systemd user unit or a launchd agent. It is made
// on request only, and everything else works without it.
type unit struct {
	kind, name, file, text string
	install, remove        [][]string // commands after the file was written, or before it is removed
}

// managerWait bounds a command of the service manager.
const managerWait = 20 * time.Second

// unit describes the registration for this platform; ok is false where there is none.
func (c *Control) unit(goos string) (u unit, ok bool) {
	home, root := c.Config.Environment.Home, c.Config.DataRoot
	if home == "" {
		return u, false
	}
	suffix := ""
	if root != filepath.Join(home, ".ctx") { // one name for each data root
		sum := sha256.Sum256([]byte(root))
		suffix = "-" + hex.EncodeToString(sum[:4])
	}
	run := []string{c.Executable, "--data-root", root, "daemon", "run", "--trigger", service}
	switch goos {
	case "linux":
		u = unit{kind: "systemd", name: "ctx" + suffix + ".service"}
		u.file = filepath.Join(c.Config.Environment.Dirs.Config, "systemd", "user", u.name)
		if strings.ContainsAny(c.Executable, "\"'\\$") { // as an argument systemd takes what it refuses as the name of a program
			run = append([]string{"/bin/sh", "-c", `exec "$0" "$@"`}, run...)
		}
		u.text = "[Unit]\nDescription=ctx keeps the index of agent histories current\n\n[Service]\nExecStart=" + systemdWords(run) +
			"\nRestart=on-failure\nRestartSec=10\n\n[Install]\nWantedBy=default.target\n"
		u.install = [][]string{{"systemctl", "--user", "daemon-reload"}, {"systemctl", "--user", "enable", "--now", u.name}}
		u.remove = [][]string{{"systemctl", "--user", "disable", "--now", u.name}}
	case "darwin":
		u = unit{kind: "launchd", name: "io.github.agenthistory.ctx" + suffix}
		u.file = filepath.Join(home, "Library", "LaunchAgents", u.name+".plist")
		u.text = launchdText(u.name, run)
		domain := "gui/" + strconv.Itoa(os.Getuid())
		u.install = [][]string{{"launchctl", "bootstrap", domain, u.file}}
		u.remove = [][]string{{"launchctl", "bootout", domain + "/" + u.name}}
	default:
		return u, false
	}
	return u, true
}

// systemdWords quotes a command line for a unit file.
func systemdWords(words []string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "%", "%%", "$", "$$").Replace(w) + `"`
	}
	return strings.Join(quoted, " ")
}

func launchdText(name string, words []string) string {
	var b strings.Builder
	element := func(text string) {
		b.WriteString("<string>")
		_ = xml.EscapeText(&b, []byte(text))
		b.WriteString("</string>")
	}
	b.WriteString(xml.Header + `<plist version="1.0"><dict><key>Label</key>`)
	element(name)
	b.WriteString("<key>ProgramArguments</key><array>")
	for _, w := range words {
		element(w)
	}
	b.WriteString("</array><key>RunAtLoad</key><true/><key>KeepAlive</key><dict><key>SuccessfulExit</key><false/></dict></dict></plist>\n")
	return b.String()
}

// supervisor describes the registration.
func (c *Control) supervisor() status.Supervisor {
	u, ok := c.unit(runtime.GOOS)
	if !ok {
		return status.Supervisor{Status: "fallback", Limitation: "no service manager is used on this platform"}
	}
	s := status.Supervisor{Kind: u.kind, Status: "fallback", Limitation: "started by commands, not by " + u.kind}
	if text, err := os.ReadFile(u.file); err == nil {
		s.Status, s.RegistrationVerified, s.Limitation = "installed", string(text) == u.text, ""
		if !s.RegistrationVerified {
			s.Limitation = "the registration is of another installation; run ctx index mode auto --install-service"
		}
	}
	return s
}

// InstallService registers the daemon with the service manager, which starts it now and at every login.
func (c *Control) InstallService(ctx context.Context) error {
	u, ok := c.unit(runtime.GOOS)
	if !ok {
		return fault.New("not_supported", "there is no service to install on %s", runtime.GOOS).
			WithHint("start ctx daemon run at login; on Windows with: schtasks /create /sc onlogon /tn ctx /tr \"ctx daemon run\"")
	}
	if err := c.Stop(ctx); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(u.file), 0o755); err != nil {
		return fault.Wrap(err, fault.ResourceUnavailable, "the directory of the service cannot be made: %v", err)
	}
	if err := durable.Replace(u.file, []byte(u.text), 0o644); err != nil {
		return fault.Wrap(err, fault.ResourceUnavailable, "the service cannot be written: %v", err)
	}
	if err := manage(ctx, u.install); err != nil {
		return errors.Join(fault.Wrap(err, "manager_unavailable", "%s does not take the service: %v", u.kind, err).
			WithHint("ctx index mode auto, without --install-service, needs no service manager"), os.Remove(u.file))
	}
	for deadline := time.Now().Add(managerWait); ; time.Sleep(20 * time.Millisecond) {
		if h, _ := c.Health(ctx); h != nil {
			return nil
		}
		if time.Now().After(deadline) || ctx.Err() != nil {
			return fault.New(Unavailable, "%s took the service, but it does not answer: %s", u.kind, u.name).WithHint("ctx daemon status")
		}
	}
}

// RemoveService undoes InstallService; without a registration it does nothing.
func (c *Control) RemoveService(ctx context.Context) error {
	u, ok := c.unit(runtime.GOOS)
	if !ok {
		return nil
	}
	if _, err := os.Stat(u.file); errors.Is(err, os.ErrNotExist) {
		return nil
	}
	err := manage(ctx, u.remove)
	if removed := os.Remove(u.file); removed != nil {
		return fault.Wrap(errors.Join(err, removed), fault.ResourceUnavailable, "the service cannot be removed: %v", removed)
	}
	return nil // a manager that does not know it any more is what we want
}

func manage(ctx context.Context, commands [][]string) error {
	ctx, cancel := context.WithTimeout(ctx, managerWait)
	defer cancel()
	for _, words := range commands {
		cmd := exec.CommandContext(ctx, words[0], words[1:]...)
		cmd.WaitDelay = time.Second // for what it started in its turn and that keeps its output
		out, err := cmd.CombinedOutput()
		if err != nil && !errors.Is(err, exec.ErrWaitDelay) {
			line, _, _ := strings.Cut(strings.TrimSpace(string(out)), "\n")
			return fmt.Errorf("%s: %w %s", strings.Join(words, " "), err, line)
		}
	}
	return nil
}
