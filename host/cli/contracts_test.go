package cli

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/agenthistory/ctx/docs"
	"github.com/agenthistory/ctx/host/history"
	"github.com/agenthistory/ctx/host/integrations"
	"github.com/agenthistory/ctx/host/internal/nullable"
	"github.com/agenthistory/ctx/host/refresh"
	"github.com/agenthistory/ctx/host/retention"
	"github.com/agenthistory/ctx/host/search"
	"github.com/agenthistory/ctx/host/sources"
	"github.com/agenthistory/ctx/host/status"
	localusage "github.com/agenthistory/ctx/host/usage"
)

// documents are the answers that are types, by the command that gives them.
var documents = []struct {
	command string
	types   []any
}{
	{"search", []any{search.Answer{}}},
	{"list sessions", []any{history.SessionList{}}},
	{"locate", []any{history.SessionLocation{}, history.EventLocation{}}},
	{"resume", []any{resumption{}}},
	{"status", []any{status.Report{}}},
	{"index", []any{status.Snapshot{}}},
	{"stats", []any{localusage.Report{}}},
	{"doctor", []any{diagnosis{}}},
	{"setup", []any{setupAnswer{}}},
	{"import", []any{refresh.Document{}, refresh.ProviderRow{}, refresh.PathRow{}, refresh.FailureRow{}, refresh.RejectionRow{}}},
	{"sources", []any{sources.Listing{}, sources.Row{}, sources.PluginRow{}, sources.Issue{}}},
	{"sources add, sources remove", []any{rootEdit{}}},
	{"sources prune", []any{retention.Pruned{}}},
	{"forget", []any{retention.Forgetting{}}},
	{"integrations", []any{integrations.State{}, integrations.Change{}, integrations.SkillState{}}},
	{"docs", []any{docs.Topic{}}},
}

// The tables of the JSON documents are made from the types that are written: go test ./host/cli -run TestContracts -update
func TestContracts(t *testing.T) {
	const path, head = "../../docs/json-contracts.md", "\n## Members\n"
	have, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	before, _, found := strings.Cut(string(have), head)
	if !found {
		t.Fatal("the page has no place for the tables")
	}
	c := &contracts{t: t, packages: map[string]packageComments{}, done: map[reflect.Type]bool{}}
	c.WriteString(before + head + "\nMade from the program itself. A member with `?` is left out when it is unknown, one with `null` is there with null then.\n")
	for _, d := range documents {
		fmt.Fprintf(c, "\n### ctx %s\n", d.command)
		for _, v := range d.types {
			c.queue = append(c.queue, reflect.TypeOf(v))
		}
		for len(c.queue) > 0 {
			next := c.queue[0]
			c.queue = c.queue[1:]
			c.table(next)
		}
	}
	if *update {
		if err := os.WriteFile(path, []byte(c.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if have, err = os.ReadFile(path); err != nil || string(have) != c.String() {
		t.Errorf("docs/json-contracts.md is not what the types say (%v); write it with -update", err)
	}
}

// contracts writes the tables of types, each once.
type contracts struct {
	strings.Builder
	t        *testing.T
	packages map[string]packageComments
	queue    []reflect.Type
	done     map[reflect.Type]bool
}

// packageComments are the comments of the types of a package, and of their fields by Type.Field.
type packageComments map[string]string

func (c *contracts) comments(path string) packageComments {
	if known := c.packages[path]; known != nil {
		return known
	}
	found := packageComments{}
	c.packages[path] = found
	dir := filepath.Join("..", "..", strings.TrimPrefix(path, "github.com/agenthistory/ctx"))
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil || len(files) == 0 {
		c.t.Fatalf("no files of %s: %v", path, err)
	}
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			c.t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			decl, ok := n.(*ast.GenDecl)
			if !ok {
				return true
			}
			for _, spec := range decl.Specs {
				if typ, ok := spec.(*ast.TypeSpec); ok {
					found.add(typ, decl)
				}
			}
			return true
		})
	}
	return found
}

func (p packageComments) add(typ *ast.TypeSpec, decl *ast.GenDecl) {
	p[typ.Name.Name] = plainComment(typ.Doc, decl.Doc)
	fields, ok := typ.Type.(*ast.StructType)
	if !ok {
		return
	}
	for _, field := range fields.Fields.List {
		for _, name := range field.Names {
			p[typ.Name.Name+"."+name.Name] = plainComment(field.Comment, field.Doc)
		}
	}
}

func plainComment(groups ...*ast.CommentGroup) string {
	for _, g := range groups {
		if text := strings.Join(strings.Fields(g.Text()), " "); text != "" {
			return strings.ReplaceAll(text, "|", `\|`)
		}
	}
	return ""
}

func (c *contracts) table(typ reflect.Type) {
	if c.done[typ] {
		return
	}
	c.done[typ] = true
	comments := c.comments(typ.PkgPath())
	fmt.Fprintf(c, "\n**%s**%s\n\n| member | value | |\n| --- | --- | --- |\n", typ.Name(), strings.TrimPrefix(comments[typ.Name()], typ.Name()))
	c.members(typ)
}

func (c *contracts) members(typ reflect.Type) {
	for i := range typ.NumField() {
		field := typ.Field(i)
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		if inner := indirect(field.Type); field.Anonymous && name == "" && inner.Kind() == reflect.Struct {
			c.members(inner)
			continue
		}
		if name == "-" || name == "" {
			continue
		}
		value := c.value(field.Type)
		switch {
		case strings.Contains(options, "omit"):
			name += "?"
		case field.Type.Kind() == reflect.Pointer || field.Type.Kind() == reflect.Interface || field.Type == reflect.TypeFor[nullable.Text]():
			value += " or null"
		}
		fmt.Fprintf(c, "| `%s` | %s | %s |\n", name, value, c.comments(typ.PkgPath())[typ.Name()+"."+field.Name])
	}
}

func indirect(typ reflect.Type) reflect.Type {
	if typ.Kind() == reflect.Pointer {
		return typ.Elem()
	}
	return typ
}

// value names what a type is in JSON; structs get a table of their own.
func (c *contracts) value(typ reflect.Type) string {
	typ = indirect(typ)
	marshals := typ.Implements(reflect.TypeFor[json.Marshaler]())
	switch kind := typ.Kind(); {
	case kind == reflect.String:
		return "string"
	case kind == reflect.Bool:
		return "true or false"
	case kind == reflect.Float32, kind == reflect.Float64:
		return "number"
	case kind >= reflect.Int && kind <= reflect.Uint64:
		return "integer"
	case kind == reflect.Interface, marshals:
		return "any"
	case kind == reflect.Slice:
		return "list of " + c.value(typ.Elem())
	case kind == reflect.Map:
		return "object of " + c.value(typ.Elem())
	}
	if typ.Name() == "" { // a few members that nobody else has
		var members []string
		for i := range typ.NumField() {
			name, _, _ := strings.Cut(typ.Field(i).Tag.Get("json"), ",")
			members = append(members, "`"+name+"` ("+c.value(typ.Field(i).Type)+")")
		}
		return strings.TrimSpace("object " + strings.Join(members, ", "))
	}
	if !c.done[typ] {
		c.queue = append(c.queue, typ)
	}
	return "object " + typ.Name()
}
