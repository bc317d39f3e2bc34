package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
)

// program is ctx with a home and a data root.
type program struct{ bin, home, root string }

// exec runs ctx with nothing of the caller's environment that could turn a search.
func (p *program) exec(args ...string) ([]byte, error) {
	cmd := exec.Command(p.bin, args...)
	cmd.Env = []string{"HOME=" + p.home, "USERPROFILE=" + p.home, "CTX_DATA_ROOT=" + p.root, "PATH=" + os.Getenv("PATH"), "LANG=C.UTF-8",
		"TMPDIR=" + os.TempDir(), "CTX_DAEMON_AUTOSTART_OFF=1", "CTX_LOCAL_USAGE_ENABLED=0"}
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("ctx %s: %w: %s", strings.Join(args, " "), err, strings.TrimSpace(errs.String()))
	}
	return out, nil
}

// events lists every event, newest first.
func (p *program) events() ([]*event, error) {
	out, err := p.exec("list", "events", "--content", "text", "--direction", "descending", "--limit", "10000000", "--format", "jsonl")
	if err != nil {
		return nil, err
	}
	var events []*event
	lines := bufio.NewReader(bytes.NewReader(out))
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			break
		}
		var record struct {
			Type  string `json:"record_type"`
			Event struct {
				ID       string `json:"ctx_event_id"`
				Provider string `json:"provider"`
				Session  string `json:"provider_session_id"`
				Text     string `json:"text"`
			} `json:"event"`
		}
		if err := json.Unmarshal(line, &record); err != nil {
			return nil, err
		}
		if e := record.Event; record.Type == "event_range_event" {
			events = append(events, &event{id: e.ID, provider: e.Provider, session: e.Session, text: e.Text})
		}
	}
	if len(events) == 0 {
		return nil, fmt.Errorf("no events below %s", p.home)
	}
	return slices.Clip(events), nil
}

// search returns the events of the rows; a row of a session stands for its best event.
func (p *program) search(c *corpus, text, rows string) ([]*event, error) {
	args := []string{"search", "--limit", strconv.Itoa(depth), "--backend", "lexical", "--refresh", "off", "--format", "json"}
	if rows == "events" {
		args = append(args, "--events")
	}
	out, err := p.exec(append(args, "--", text)...)
	if err != nil {
		return nil, err
	}
	var answer struct {
		Results []struct {
			ID string `json:"ctx_event_id"`
		} `json:"results"`
	}
	if err := json.Unmarshal(out, &answer); err != nil {
		return nil, err
	}
	list := make([]*event, len(answer.Results))
	for i, r := range answer.Results {
		if list[i] = c.byID[r.ID]; list[i] == nil {
			return nil, fmt.Errorf("search found event %s, which list events does not have", r.ID)
		}
	}
	return list, nil
}
