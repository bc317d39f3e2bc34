package refresh

import (
	"context"
	"fmt"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/agenthistory/ctx/host/config"
	"github.com/agenthistory/ctx/host/core"
	"github.com/agenthistory/ctx/host/pluginhost"
)

type realPlugins struct{ l *pluginhost.Launcher }

func (realPlugins) Names() []string { return []string{"claude"} }
func (p realPlugins) Start(ctx context.Context, n string) (Plugin, error) {
	return p.l.Start(ctx, pluginhost.Spec{Name: n})
}

func TestZZProf(t *testing.T) {
	home := os.Getenv("PROF_HOME")
	if home == "" {
		t.Skip()
	}
	data := os.Getenv("PROF_DATA")
	if data == "" {
		data = t.TempDir()
	}
	env := config.NewEnvironment(config.Linux, home, home, 0, func(string) (string, bool) { return "", false })
	c, err := config.Load(data, env)
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		l := &pluginhost.Launcher{Self: "/tmp/ctx", Version: "x"}
		t0 := time.Now()
		rep, err := Run(context.Background(), Request{Config: c, Store: core.Open(data+"/core", core.Options{}), Plugins: realPlugins{l}, Executable: "/tmp/ctx", All: true})
		if err != nil {
			t.Fatal(err)
		}
		var self, kids syscall.Rusage
		syscall.Getrusage(syscall.RUSAGE_SELF, &self)
		syscall.Getrusage(syscall.RUSAGE_CHILDREN, &kids)
		fmt.Println(time.Since(t0), rep.Outcome, rep.Totals.Change, rep.Totals.ImportedEvents, rep.Totals.SourceBytes, "self cpu", self.Utime.Nano()/1e6, self.Stime.Nano()/1e6, "kids", kids.Utime.Nano()/1e6, kids.Stime.Nano()/1e6, "rss", self.Maxrss, "kidrss", kids.Maxrss, fmt.Sprintf("%+v", rep.Receipt.Timings))
	}
}
