package host_test

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"testing"
)

const module = "github.com/agenthistory/ctx/"

// layer is the height of a host package: a package may import only packages of a lower layer. Packages of one layer do not
// know each other, except where siblings lists the pair.
var layer = map[string]int{
	"host/fault":        0,
	"host/durable":      0,
	"host/logfile":      1,
	"host/record":       1,
	"host/config":       1,
	"host/lexical":      2,
	"host/pluginhost":   2,
	"host/core":         3,
	"host/lineage":      4,
	"host/redact":       4,
	"host/sources":      4,
	"host/retention":    4,
	"host/usage":        4,
	"host/htmlpage":     4,
	"host/integrations": 4,
	"host/history":      5,
	"host/refresh":      5,
	"host/search":       6,
	"host/status":       6,
	"host/daemon":       7,
	"host/mcp":          8,
	"host/cli":          9,
}

// onlyIn names the packages that may import a library directly. Everybody else goes through them, so that the library can be
// replaced in one place.
var onlyIn = map[string][]string{
	"github.com/blugelabs/":                {"host/lexical"},
	"github.com/blevesearch/vellum":        {"host/lexical"},
	"github.com/RoaringBitmap/roaring":     {"host/lexical", "host/core"},
	"github.com/cockroachdb/pebble":        {"host/core"},
	"github.com/hashicorp/go-plugin":       {"sdkplugin", "host/pluginhost"},
	"github.com/spf13/cobra":               {"host/cli"},
	"github.com/pelletier/go-toml":         {"host/config", "host/integrations", "host/redact"},
	"github.com/zricethezav/gitleaks":      {"host/redact"},
	"github.com/tailscale/hujson":          {"host/integrations"},
	"github.com/yuin/goldmark":             {"host/htmlpage"},
	"go.yaml.in/yaml":                      {"host/integrations"},
	"github.com/blevesearch/mmap-go":       {"host/lexical"},
	"golang.org/x/term":                    {"host/cli"},
	"github.com/fsnotify/fsnotify":         {"host/daemon"},
	"modernc.org/sqlite":                   {"host/usage", "sdkplugin/sqlitesnap"},
	"github.com/rivo/uniseg":               {"host/search", "host/cli"},
	"github.com/rogpeppe/go-internal":      {"cmd/ctx"},
	"google.golang.org/grpc":               {"sdkplugin", "sdkplugin/historyv1", "host/pluginhost"},
	"github.com/modelcontextprotocol/":     {"host/mcp"},
	"github.com/agenthistory/ctx/host/cli": {"cmd/ctx"},
}

// notNamed lists package names that say nothing about the domain.
var notNamed = []string{"util", "utils", "common", "helper", "helpers", "types", "misc", "manager", "json", "strings", "time", "sort", "errors", "log"}

type listedPackage struct {
	ImportPath   string
	Imports      []string
	TestImports  []string
	XTestImports []string
}

func listPackages(t *testing.T) []listedPackage {
	t.Helper()
	cmd := exec.Command("go", "list", "-e", "-json=ImportPath,Imports,TestImports,XTestImports", module+"...")
	cmd.Dir = ".."
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	var all []listedPackage
	for dec := json.NewDecoder(bytes.NewReader(out)); dec.More(); {
		var p listedPackage
		if err := dec.Decode(&p); err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
	if len(all) < 10 {
		t.Fatalf("go list named only %d packages", len(all))
	}
	return all
}

func TestDependencyRule(t *testing.T) {
	for _, p := range listPackages(t) {
		from := strings.TrimPrefix(p.ImportPath, module)
		for _, imported := range p.Imports {
			checkLibrary(t, from, imported)
			if to, ok := strings.CutPrefix(imported, module); ok {
				checkInner(t, from, to)
			}
		}
	}
}

func checkLibrary(t *testing.T, from, imported string) {
	t.Helper()
	for prefix, allowed := range onlyIn {
		if !strings.HasPrefix(imported, prefix) || within(from, "bench") {
			continue
		}
		ok := false
		for _, a := range allowed {
			ok = ok || within(from, a)
		}
		if !ok {
			t.Errorf("%s imports %s; only %s may", from, imported, strings.Join(allowed, ", "))
		}
	}
}

func checkInner(t *testing.T, from, to string) {
	t.Helper()
	switch {
	case within(from, "sdkplugin") && !within(to, "sdkplugin"):
		t.Errorf("%s imports %s; the SDK imports nothing else of the project", from, to)
	case within(from, "plugins") && !within(to, "sdkplugin") && !within(to, ownPlugin(from)):
		t.Errorf("%s imports %s; a provider imports the SDK only", from, to)
	case within(from, "host") && within(to, "plugins"):
		t.Errorf("%s imports %s; the host meets providers as processes only", from, to)
	case within(from, "host") && within(to, "host"):
		checkLayer(t, from, to)
	}
}

func checkLayer(t *testing.T, from, to string) {
	t.Helper()
	if strings.Contains(from, "/internal/") || strings.Contains(to, "/internal/") {
		return
	}
	f, okFrom := layer[from]
	o, okTo := layer[to]
	if !okFrom || !okTo {
		t.Errorf("%s -> %s: give both a layer in this test", from, to)
		return
	}
	if o >= f {
		t.Errorf("%s (layer %d) imports %s (layer %d)", from, f, to, o)
	}
}

// ownPlugin returns "plugins/claude" for any package below it.
func ownPlugin(pkg string) string {
	parts := strings.SplitN(pkg, "/", 3)
	if len(parts) < 2 {
		return pkg
	}
	return parts[0] + "/" + parts[1]
}

func within(pkg, dir string) bool { return pkg == dir || strings.HasPrefix(pkg, dir+"/") }

func TestPackageNames(t *testing.T) {
	for _, p := range listPackages(t) {
		name := path.Base(p.ImportPath)
		for _, bad := range notNamed {
			if name == bad {
				t.Errorf("%s: the name says nothing about the domain or shadows the standard library", p.ImportPath)
			}
		}
	}
}

// The example is a module of its own, which go test ./... leaves out: with the versions of this one it must still compile as it lies.
func TestExampleProviderCompiles(t *testing.T) {
	t.Parallel()
	vet := exec.Command("go", "vet", ".")
	vet.Dir = filepath.Join("..", "examples", "provider-notes")
	vet.Env = append(os.Environ(), "GOFLAGS=-mod=readonly", "GOPROXY=off", "GOWORK=off")
	if out, err := vet.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
