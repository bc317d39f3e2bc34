package pluginhost

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/agenthistory/ctx/host/fault"
	"github.com/agenthistory/ctx/sdkplugin/historyv1"
)

// logBuffer is a log that tests can read while it is written.
type logBuffer struct {
	mutex sync.Mutex
	bytes.Buffer
}

func (l *logBuffer) Write(p []byte) (int, error) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return l.Buffer.Write(p)
}

func (l *logBuffer) String() string {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return l.Buffer.String()
}

// await waits until the log holds a text.
func (l *logBuffer) await(t *testing.T, text string) {
	t.Helper()
	for end := time.Now().Add(generous); !strings.Contains(l.String(), text); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("the log has no %q: %q", text, l.String())
		}
	}
}

func executable(t *testing.T) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return self
}

// generous is for what must come, however busy the machine is; what must not come gets a short limit.
const generous = 30 * time.Second

// launch starts a plugin that is wrong in some way. Limits that are not given are generous.
func launch(t *testing.T, mode string, limits Limits) (*Plugin, *logBuffer, error) {
	t.Helper()
	limits.Start, limits.Describe = cmp.Or(limits.Start, generous), cmp.Or(limits.Describe, generous)
	limits.Resolve, limits.Inactivity = cmp.Or(limits.Resolve, generous), cmp.Or(limits.Inactivity, generous)
	log := &logBuffer{}
	l := &Launcher{Self: executable(t), LogFile: log, Limits: limits}
	p, err := l.Start(context.Background(), Spec{Name: "wrong", Command: []string{executable(t), "plugin", mode}})
	if err == nil {
		t.Cleanup(p.Close)
	}
	return p, log, err
}

func started(t *testing.T, mode string, limits Limits) (*Plugin, *logBuffer) {
	t.Helper()
	p, log, err := launch(t, mode, limits)
	if err != nil {
		t.Fatal(err, log)
	}
	return p, log
}

// wantFault checks that err is one fault of a class whose message says nothing that the plugin said.
func wantFault(t *testing.T, err error, class Class) {
	t.Helper()
	var f *fault.Error
	if !errors.As(err, &f) || f.Code != Failed || ClassOf(err) != class {
		t.Fatalf("got %v (%s), want class %s", err, ClassOf(err), class)
	}
	if strings.Contains(f.Message, "message\n") || strings.Contains(f.Message, "secret") || strings.Contains(f.Message, "somebody") {
		t.Errorf("the message quotes the plugin: %s", f.Message)
	}
}

func gone(p *Plugin) bool {
	select {
	case <-p.process.exited:
		return true
	case <-time.After(generous):
		return false
	}
}

func TestBuiltInProvider(t *testing.T) {
	t.Parallel()
	log := &logBuffer{}
	l := &Launcher{Self: executable(t), LogFile: log, Version: "9.9.9", Limits: Limits{Start: generous, Describe: generous, Resolve: generous, Stop: generous}}
	p, err := l.Start(context.Background(), Spec{Name: "acme"})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if p.Descriptor().GetId() != "acme" || !p.Descriptor().GetResolves() {
		t.Errorf("description %v", p.Descriptor())
	}
	resolved, err := p.Resolve(context.Background(), &historyv1.ResolveRequest{
		Environment: map[string]string{"ACME_HOME": "/acme", "ACME_API_KEY": "/secret", "OTHER": "/other"},
	})
	if err != nil || len(resolved.GetCandidates()) != 1 || resolved.GetCandidates()[0].GetPath() != "/acme" {
		t.Errorf("resolved %v, %v", resolved, err)
	}
	var sources []*historyv1.Source
	request := &historyv1.InventoryRequest{Routes: []*historyv1.Route{{Path: "/one"}, {Path: "/two"}}}
	ending, err := p.Inventory(context.Background(), request, func(s *historyv1.Source) error {
		sources = append(sources, s)
		return nil
	})
	if err != nil || len(sources) != 6 || !ending.GetComplete() {
		t.Fatalf("%d sources, %v, %v", len(sources), ending, err)
	}
	tally := scanAll(t, p, sources)
	if tally.err != nil || tally.begins != 6 || tally.ends != 6 || tally.events != 600 || tally.failures != 0 {
		t.Errorf("scan: %+v", tally)
	}
	log.await(t, "acme: printed by the provider's own code") // output travels beside the calls, in its own time
	p.Close()
	if how, ended := p.process.ended(0); !ended || how != "exit status 0" {
		t.Errorf("the process was not asked to exit: %s", how)
	}
	if _, err := os.Stat(p.process.dir); err == nil {
		t.Error("the private directory was left")
	}
	_, err = p.Resolve(context.Background(), &historyv1.ResolveRequest{})
	wantFault(t, err, Cancelled)
}

type tally struct {
	begins, ends, failures, events int
	err                            error
}

// scanAll scans sources and counts messages.
func scanAll(t *testing.T, p *Plugin, sources []*historyv1.Source) (sum tally) {
	t.Helper()
	n := 0
	sum.err = p.Scan(context.Background(), func() (*historyv1.ScanSource, bool) {
		if n == len(sources) {
			return nil, false
		}
		n++
		return &historyv1.ScanSource{Ordinal: uint32(n - 1), RoutePath: "/one", Source: sources[n-1], Mode: historyv1.Mode_MODE_FULL}, true
	}, func(m *historyv1.ScanMessage) error {
		switch m := m.GetMessage().(type) {
		case *historyv1.ScanMessage_Begin:
			sum.begins++
		case *historyv1.ScanMessage_End:
			sum.ends++
		case *historyv1.ScanMessage_Failure:
			sum.failures++
		case *historyv1.ScanMessage_Batch:
			sum.events += len(m.Batch.GetEvents())
		}
		return nil
	})
	return sum
}

func three() []*historyv1.Source { return []*historyv1.Source{source(), source(), source()} }

func TestPluginsThatDoNotStart(t *testing.T) {
	t.Parallel()
	patient, fast, deaf := Limits{}, Limits{Start: 400 * time.Millisecond}, Limits{Describe: 300 * time.Millisecond}
	for _, tt := range []struct {
		mode   string
		class  Class
		limits Limits
	}{
		{"exit", Crashed, patient}, {"silent", TimedOut, fast}, {"closes-stdout", Handshake, patient}, {"garbage", Handshake, patient},
		{"endless-garbage", Handshake, patient}, {"other-version", Incompatible, patient}, {"foreign-socket", Handshake, patient},
		{"foreign-port", Handshake, patient}, {"describe-hang", TimedOut, deaf},
		{"deaf", TimedOut, deaf}, {"describe-crash", Crashed, patient},
		{"describe-error", Refused, patient}, {"describe-huge", Oversized, patient}, {"describe-bad-id", Malformed, patient},
	} {
		t.Run(tt.mode, func(t *testing.T) {
			t.Parallel()
			_, _, err := launch(t, tt.mode, tt.limits)
			wantFault(t, err, tt.class)
			if !strings.Contains(err.Error(), "provider wrong: ") || fault.From(err).Hint == "" {
				t.Errorf("message %q, hint %q", err, fault.From(err).Hint)
			}
		})
	}
}

func TestSpecsThatAreRefused(t *testing.T) {
	t.Parallel()
	self := executable(t)
	text := filepath.Join(t.TempDir(), "text")
	if err := os.WriteFile(text, []byte("no program"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		spec  Spec
		class Class
	}{
		"relative":     {Spec{Command: []string{"plugin"}}, NotStarted},
		"missing":      {Spec{Command: []string{filepath.Join(t.TempDir(), "nothing")}}, NotStarted},
		"no program":   {Spec{Command: []string{text}}, NotStarted},
		"other pin":    {Spec{Command: []string{self, "plugin", "environment"}, SHA256: strings.Repeat("ab", 32)}, NotTrusted},
		"bad pin":      {Spec{Command: []string{self, "plugin", "environment"}, SHA256: "xyz"}, NotTrusted},
		"missing, pin": {Spec{Command: []string{text + "x"}, SHA256: strings.Repeat("ab", 32)}, NotStarted},
	} {
		tt.spec.Name = "third"
		_, err := (&Launcher{}).Start(context.Background(), tt.spec)
		if ClassOf(err) != tt.class {
			t.Errorf("%s: %v (%s), want %s", name, err, ClassOf(err), tt.class)
		}
	}
}

func TestPinAndEnvironment(t *testing.T) {
	t.Setenv("SOMEBODYS_SECRET", "hidden")
	t.Setenv("CLAUDE_CONFIG_DIR", "/resolved/by/the/host")
	self := executable(t)
	program, err := os.ReadFile(self)
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(program)
	l := &Launcher{Limits: Limits{Start: generous, Describe: generous}}
	p, err := l.Start(context.Background(), Spec{
		Name: "third", Command: []string{self, "plugin", "environment"}, SHA256: hex.EncodeToString(sum[:]),
	})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	allowed := map[string]bool{"CTX_PROVIDER_HOST_PID": true, "CTX_HISTORY_PROVIDER": true}
	for _, names := range passed {
		for _, name := range names {
			allowed[name] = true
		}
	}
	for _, v := range p.Descriptor().GetAliases() {
		name, _, _ := strings.Cut(v, "=")
		if !allowed[name] && !strings.HasPrefix(name, "PLUGIN_") && name != "PWD" {
			t.Errorf("the plugin sees %s", name)
		}
	}
	if len(p.Descriptor().GetAliases()) == 0 {
		t.Error("the plugin saw nothing at all")
	}
}

func TestPluginsThatFailInACall(t *testing.T) {
	t.Parallel()
	quick := Limits{Inactivity: 400 * time.Millisecond, Resolve: 300 * time.Millisecond, Stop: 100 * time.Millisecond}
	patient, greedy := Limits{}, Limits{Memory: 150 << 20}
	resolve := func(_ *testing.T, p *Plugin) error {
		_, err := p.Resolve(context.Background(), &historyv1.ResolveRequest{})
		return err
	}
	inventory := func(_ *testing.T, p *Plugin) error {
		_, err := p.Inventory(context.Background(), &historyv1.InventoryRequest{Routes: []*historyv1.Route{{}}}, func(*historyv1.Source) error { return nil })
		return err
	}
	scan := func(t *testing.T, p *Plugin) error { return scanAll(t, p, three()).err }
	for _, tt := range []struct {
		mode   string
		call   func(*testing.T, *Plugin) error
		class  Class
		limits Limits
	}{
		{"resolve-hang", resolve, TimedOut, quick}, {"resolve-lie", resolve, Malformed, patient},
		{"inventory-hang", inventory, TimedOut, quick}, {"inventory-crash", inventory, Crashed, patient}, {"inventory-no-end", inventory, Malformed, patient},
		{"inventory-parts", inventory, Malformed, patient}, {"inventory-lie", inventory, Malformed, patient},
		{"scan-crash", scan, Crashed, patient}, {"scan-hang", scan, TimedOut, quick}, {"scan-memory", scan, Memory, greedy},
		{"scan-oversized", scan, Oversized, patient}, {"scan-foreign-source", scan, Malformed, patient},
		{"scan-after-end", scan, Malformed, patient}, {"scan-no-end", scan, Malformed, patient}, {"scan-empty", scan, Malformed, patient},
		{"scan-parts", scan, Malformed, patient}, {"scan-never-returns", scan, TimedOut, quick}, {"scan-never-reads", scan, TimedOut, quick},
	} {
		t.Run(tt.mode, func(t *testing.T) {
			t.Parallel()
			p, _ := started(t, tt.mode, tt.limits)
			err := tt.call(t, p)
			wantFault(t, err, tt.class)
			if !gone(p) {
				t.Error("the process is still there")
			}
			if again := inventory(t, p); fault.From(again) != fault.From(err) {
				t.Errorf("the next call fails with %v, not with the first fault", again)
			}
		})
	}
}

// What one source does wrong costs this source only.
func TestALyingSourceFailsAlone(t *testing.T) {
	t.Parallel()
	p, _ := started(t, "scan-bad-span", Limits{})
	sum := scanAll(t, p, three())
	if sum.err != nil || sum.begins != 3 || sum.ends != 2 || sum.failures != 1 || sum.events != 2 {
		t.Errorf("%+v", sum)
	}
	if sum := scanAll(t, p, three()[:1]); sum.err != nil || sum.ends != 1 {
		t.Errorf("the plugin is of no use afterwards: %+v", sum)
	}
}

// The time in which the host is busy, or the plugin owes nothing, is not held against the plugin.
func TestASlowHostIsNoInactivity(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := &Plugin{name: "acme", log: hclog.NewNullLogger(), limits: Limits{}.withDefaults(), process: newProcess([]string{"/x"}, nil, "", nil)}
		p.life, p.doom = context.WithCancelCause(t.Context())
		limit := p.limits.Inactivity
		call, w := p.watch(t.Context(), "the scan")
		for _, busy := range []func(bool){w.wait, w.expect} {
			w.wait(true)
			time.Sleep(limit - 1)
			busy(false)
			time.Sleep(10 * limit)
			busy(true)
			time.Sleep(limit - 1)
			w.wait(false)
			if p.doomed() != nil {
				t.Fatalf("held against the plugin: %v", p.doomed())
			}
		}
		w.wait(true)
		time.Sleep(limit + 1)
		<-call.Done()
		wantFault(t, p.doomed(), TimedOut)
		w.stop()
	})
}

func TestCallersErrorsAndCancellation(t *testing.T) {
	t.Parallel()
	p, _ := started(t, "scan-hang", Limits{})
	stop := errors.New("stop")
	next := func() func() (*historyv1.ScanSource, bool) {
		n := 0
		return func() (*historyv1.ScanSource, bool) {
			n++
			return &historyv1.ScanSource{Ordinal: uint32(n - 1), Source: source(), Mode: historyv1.Mode_MODE_FULL}, n <= 3
		}
	}
	err := p.Scan(context.Background(), next(), func(*historyv1.ScanMessage) error { return stop })
	if !errors.Is(err, stop) {
		t.Errorf("the caller's error came back as %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	err = p.Scan(ctx, next(), func(m *historyv1.ScanMessage) error {
		if m.GetEnd() != nil {
			cancel()
		}
		return nil
	})
	wantFault(t, err, Cancelled)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("%v does not wrap the context's error", fault.From(err).Detail())
	}
	same := func() (*historyv1.ScanSource, bool) {
		return &historyv1.ScanSource{Source: source(), Mode: historyv1.Mode_MODE_FULL}, true
	}
	if err := p.Scan(context.Background(), same, func(*historyv1.ScanMessage) error { return nil }); ClassOf(err) != Refused {
		t.Errorf("one ordinal twice: %v", err)
	}
	if p.doomed() != nil {
		t.Errorf("the plugin was ended for it: %v", p.doomed())
	}
}

func TestCancelledStart(t *testing.T) {
	t.Parallel()
	l := &Launcher{Limits: Limits{Start: time.Hour}}
	spec := Spec{Name: "slow", Command: []string{executable(t), "plugin", "silent"}}
	ctx, cancel := context.WithTimeout(context.Background(), 200*time.Millisecond)
	defer cancel()
	_, err := l.Start(ctx, spec)
	wantFault(t, err, Cancelled)
	_, err = l.Start(ctx, spec)
	wantFault(t, err, Cancelled)
}

func TestStderrIsLoggedWithinBounds(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	s := &stderrLog{name: "acme", out: &out}
	fmt.Fprint(s, "one", " line\nbell\a\n", strings.Repeat("x", 5000), "\n\n")
	for i := range 1000 {
		fmt.Fprintln(s, "line", i)
	}
	fmt.Fprint(s, "late")
	s.close()
	lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
	if !strings.HasSuffix(lines[0], "[PLUGIN] acme: one line") || !strings.HasSuffix(lines[1], "bell ") {
		t.Errorf("lines %q", lines[:2])
	}
	if len(lines[2]) > stderrLine+80 || !strings.HasSuffix(lines[2], "x [...]") {
		t.Errorf("a long line of %d bytes", len(lines[2]))
	}
	if last := lines[len(lines)-1]; !strings.HasSuffix(last, "further output is left out") || len(lines) > stderrLines {
		t.Errorf("%d lines, the last is %q", len(lines), last)
	}
}
