package sources

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"google.golang.org/protobuf/proto"

	"github.com/agenthistory/ctx/host/config"
	"github.com/agenthistory/ctx/host/durable"
	"github.com/agenthistory/ctx/host/fault"
	"github.com/agenthistory/ctx/host/pluginhost"
	"github.com/agenthistory/ctx/sdkplugin/historyv1"
)

// Describer asks a delivered provider for its description, normally by starting it.
type Describer func(ctx context.Context, provider string) (*historyv1.DescribeResponse, error)

// Described is the description of one provider, or the reason why there is none.
type Described struct {
	Name        string // as the provider is started, for example claude
	Description *historyv1.DescribeResponse
	Err         error
	fresh       bool // asked for just now
}

// id is the provider's id: as it says, or as it is known.
func (d *Described) id(c *config.Config) string {
	if d.Description != nil {
		return d.Description.GetId()
	}
	for _, i := range c.Installed {
		if i.Name == d.Name {
			return i.Provider.ID
		}
	}
	if p, ok := config.ProviderNamed(d.Name); ok {
		return p.ID
	}
	return d.Name
}

// keptSchema numbers the layout of the file of kept descriptions. A file of another layout is ignored and replaced.
const keptSchema = 1

// kept is the content of <data root>/plugins/descriptors.json. A description is static for one build of the program, and a
// build is recognised by the size and the modification time of its executable.
type kept struct {
	build
	Descriptions map[string][]byte `json:"descriptions"` // wire form
}

type build struct {
	SchemaVersion int    `json:"schema_version"`
	Executable    string `json:"executable"`
	Size          int64  `json:"size"`
	ModifiedNS    int64  `json:"modified_ns"`
}

// Describe returns the descriptions of the named delivered providers, in that order. Descriptions kept from an earlier run of
// the same executable are used; the others are asked for, all at once, and kept when the data root exists (see Keep). A provider
// that does not answer has Err set and costs nothing else; one that crashed is asked once more, alone. Failing to read or write the
// kept file is no error: it only costs time.
func Describe(ctx context.Context, c *config.Config, executable string, names []string, ask Describer) []Described {
	var have map[string][]byte
	if build, ok := identify(executable); ok {
		have = readKept(keptFile(c), build)
	}
	all := make([]Described, len(names))
	oneCrash(ctx, len(names), func(i int) error {
		d := &all[i]
		d.Name = names[i]
		if wire := have[keyOf(c, d.Name)]; wire != nil {
			known := new(historyv1.DescribeResponse)
			if proto.Unmarshal(wire, known) == nil {
				d.Description = known
				return nil
			}
		}
		d.fresh = true
		d.Description, d.Err = ask(ctx, d.Name)
		return d.Err
	})
	seen := map[string]bool{}
	for i := range all {
		d := &all[i]
		if id := d.Description.GetId(); id != "" && seen[id] {
			d.Description, d.Err = nil, fault.New(fault.InvalidRequest, "another provider has the id that %s gives itself", d.Name)
		}
		seen[d.Description.GetId()] = true
	}
	Keep(c, executable, all)
	return all
}

// maxParallel bounds the providers that are asked at once.
const maxParallel = 16

// oneCrash asks n providers side by side, and one that crashed once more, alone.
func oneCrash(ctx context.Context, n int, ask func(i int) error) {
	crashed := make([]bool, n)
	slots := make(chan struct{}, maxParallel)
	var wait sync.WaitGroup
	for i := range n {
		slots <- struct{}{}
		wait.Go(func() {
			defer func() { <-slots }()
			crashed[i] = pluginhost.ClassOf(ask(i)) == pluginhost.Crashed
		})
	}
	wait.Wait()
	for i := range n {
		if crashed[i] && ctx.Err() == nil {
			_ = ask(i)
		}
	}
}

// keyOf tells the descriptions of two builds of a plugin apart; nothing is kept of one that is not trusted. Built-in providers
// change with the program itself.
func keyOf(c *config.Config, name string) string {
	for _, i := range c.Installed {
		if i.Name == name && !i.Trusted {
			return ""
		} else if i.Name == name {
			return name + "@" + i.SHA256
		}
	}
	return name
}

// Keep stores descriptions when one of them was asked for just now and the data root exists. Whoever creates the data root after
// Describe calls it once more, so that the next run starts no provider.
func Keep(c *config.Config, executable string, all []Described) {
	now, ok := identify(executable)
	if !ok || !slices.ContainsFunc(all, func(d Described) bool { return d.fresh }) || !isKind(c.DataRoot, historyv1.PathKind_PATH_KIND_DIRECTORY) {
		return
	}
	k := kept{now, map[string][]byte{}}
	for _, d := range all {
		if d.Description == nil || keyOf(c, d.Name) == "" {
			continue
		}
		wire, err := proto.MarshalOptions{Deterministic: true}.Marshal(d.Description)
		if err != nil {
			return
		}
		k.Descriptions[keyOf(c, d.Name)] = wire
	}
	text, err := json.Marshal(k)
	file := keptFile(c)
	if made := os.Mkdir(filepath.Dir(file), 0o700); err == nil && (made == nil || errors.Is(made, fs.ErrExist)) {
		_ = durable.Replace(file, append(text, '\n'), 0o600)
	}
}

func keptFile(c *config.Config) string {
	return filepath.Join(c.DataRoot, "plugins", "descriptors.json")
}

const maxKept = 64 << 20

func identify(executable string) (build, bool) {
	info, err := os.Stat(executable)
	if err != nil {
		return build{}, false
	}
	return build{keptSchema, executable, info.Size(), info.ModTime().UnixNano()}, true
}

func readKept(file string, now build) map[string][]byte {
	var k kept
	text, err := durable.ReadFile(file, maxKept)
	if err != nil || json.Unmarshal(text, &k) != nil || k.build != now {
		return nil
	}
	return k.Descriptions
}
