package mcp

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/agenthistory/ctx/host/internal/onscreen"
)

// object reads members of a JSON object by path.
type object map[string]any

func (o object) at(path string) any {
	var here any = map[string]any(o)
	for name := range strings.SplitSeq(path, ".") {
		members, ok := here.(map[string]any)
		if !ok {
			return nil
		}
		here = members[name]
	}
	switch v := here.(type) {
	case nil, map[string]any, []any:
		return nil
	default:
		return v
	}
}

// group is one line of several members: the name of the line, and name=path pairs.
type group struct {
	name  string
	parts []string
}

// statusLines are the lines of the status text, in order. One part without a name is the value of the line.
var statusLines = []group{
	{"initialized", []string{"initialized"}}, {"data_root", []string{"data_root"}}, {"indexed_items", []string{"indexed_items"}},
	{"indexed_sessions", []string{"indexed_sessions"}}, {"indexed_events", []string{"indexed_events"}}, {"indexed_sources", []string{"indexed_sources"}},
	{"history_epoch", []string{"status=history_epoch.status", "reason=history_epoch.reason"}},
	{"lexical", []string{"status=lexical.status", "reason=lexical.reason"}},
	{"lexical_path", []string{"lexical.path"}}, {"lexical_generation", []string{"lexical.generation_id"}},
	{"lexical_policy_hash", []string{"lexical.policy.current_hash"}},
	{"source_refresh", []string{"status=refresh.status", "reason=refresh.reason"}},
	{"source_refresh_metrics", []string{"sources=refresh.source_count", "certified_sources=refresh.certified_source_count", "certified_bytes=refresh.certified_source_bytes"}},
	{"read_only", []string{"read_only"}}, {"local_only", []string{"local_only"}},
	{"semantic", []string{"status=semantic.status", "enabled=semantic.enabled", "reason=semantic.reason"}},
	{"flat_f32", []string{"status=semantic.flat_f32.status", "reason=semantic.flat_f32.reason"}}, {"semantic_path", []string{"semantic.flat_f32.path"}},
	{"daemon", []string{"enabled=daemon.enabled", "status=daemon.status", "running=daemon.running", "mode=daemon.mode", "pid=daemon.pid",
		"start_mode=daemon.start_mode", "trigger_command=daemon.trigger_command", "trigger_provenance=daemon.trigger_provenance"}},
	{"daemon_lock", []string{"daemon.lock_path"}}, {"daemon_endpoint", []string{"daemon.endpoint"}},
	{"daemon_jobs", []string{"core_refresh=daemon.jobs.core_refresh.status"}},
}

func statusText(structured []byte) string {
	s := &summary{}
	s.line("ctx status")
	report, err := decode(structured)
	if err != nil {
		return s.String() // reports are our own
	}
	for _, g := range statusLines {
		var parts []string
		for _, part := range g.parts {
			name, path, named := strings.Cut(part, "=")
			if !named {
				path = name
			}
			value := report.at(path)
			switch {
			case value == nil:
			case named:
				parts = append(parts, fmt.Sprintf("%s=%v", name, value))
			default:
				parts = append(parts, fmt.Sprint(value))
			}
		}
		s.field(0, g.name, strings.Join(parts, ", "))
	}
	return s.String()
}

func decode(raw []byte) (object, error) {
	dec := json.NewDecoder(strings.NewReader(string(raw)))
	dec.UseNumber()
	var o object
	err := dec.Decode(&o)
	return o, err
}

func sourcesText(rows []json.RawMessage) string {
	s := &summary{}
	s.line("ctx sources")
	var all []object
	available, importable := 0, 0
	for _, raw := range rows {
		row, err := decode(raw)
		if err != nil {
			continue // rows are our own
		}
		if row.at("status") == "available" {
			available++
		}
		if row.at("importable") == true {
			importable++
		}
		all = append(all, row)
	}
	s.line("sources: %d", len(rows))
	s.line("available: %d", available)
	s.line("importable: %d", importable)
	slices.SortStableFunc(all, func(a, b object) int { return strings.Compare(sourceOrder(a), sourceOrder(b)) })
	if len(all) > 0 {
		s.line("\n| provider | status | import | source |\n| --- | --- | --- | --- |")
	}
	for _, row := range all[:min(maxSourceRows, len(all))] {
		s.line("| %s | %s | %s | %s |", cell(row.at("provider")), cell(row.at("status")), cell(row.at("import_support")), cell(sourceLabel(row)))
	}
	s.more(len(all)-maxSourceRows, "sources")
	return s.String()
}

// sourceOrder puts available rows first, then importable ones, then goes by provider and label.
func sourceOrder(row object) string {
	first, second := "1", "1"
	if row.at("status") == "available" {
		first = "0"
	}
	if row.at("importable") == true {
		second = "0"
	}
	return fmt.Sprint(first, second, row.at("provider"), "\x00", sourceLabel(row))
}

func sourceLabel(row object) any {
	for _, name := range []string{"selection.root", "path", "plugin", "name", "source_format"} {
		if label := row.at(name); label != nil {
			return label
		}
	}
	return ""
}

func cell(value any) string {
	if value == nil {
		return "-"
	}
	return strings.ReplaceAll(onscreen.Line(clip(fmt.Sprint(value), maxCell)), "|", `\|`)
}
