package claude

import (
	"github.com/agenthistory/ctx/sdkplugin"
	"github.com/agenthistory/ctx/sdkplugin/canonical"
	"github.com/agenthistory/ctx/sdkplugin/texts"
	"github.com/agenthistory/ctx/sdkplugin/transcript"
)

const tooManyEvents = "more events than one line may give"

// system maps a system record by its subtype. Only text that a person could read becomes an event.
func (m *mapper) system() (transcript.Outcome, error) {
	text := m.joined()
	switch subtype := m.rec.root.Get("subtype").Str(); string(subtype) {
	case "compact_boundary", "microcompact_boundary":
		return m.rowWith(nativeNotice, sdkplugin.Summary, sdkplugin.RoleSystem, text, func() {
			if metadata := m.rec.root.Get("compactMetadata"); !metadata.IsNull() {
				m.raw = append(m.raw[:0], `{"compactMetadata":`...)
				m.raw = append(canonical.AppendValue(m.raw, metadata), '}')
				if len(m.raw)+len(text) <= m.maxText {
					m.Event.Structured = m.raw
				}
			}
		})
	case "local_command":
		typ, role := sdkplugin.Notice, sdkplugin.RoleSystem
		switch classOf(text, text) {
		case commandText:
			typ, role = sdkplugin.Message, sdkplugin.RoleUser
		case commandOutput, shellOutput:
			typ, role = sdkplugin.CommandOutput, sdkplugin.RoleTool
		}
		return m.row(nativeNotice, typ, role, text)
	case "api_error":
		if message := apiErrorText(m.rec.root.Get("error")); message != nil {
			text = message
		}
	case "away_summary":
		return m.row(nativeNotice, sdkplugin.Summary, sdkplugin.RoleSystem, text)
	case "stop_hook_summary", "turn_duration":
		return transcript.Outcome{}, nil
	}
	return m.row(nativeNotice, sdkplugin.Notice, sdkplugin.RoleSystem, text)
}

// apiErrorText returns the message of a failed request, nil if there is none.
func apiErrorText(e canonical.Value) []byte {
	for _, v := range [...]canonical.Value{e.Get("message"), e.Get("error").Get("error").Get("message")} {
		if text := v.Str(); !texts.Blank(text) {
			return text
		}
	}
	return nil
}

// attachment maps the one attachment that is the only copy of something typed: a prompt entered while the model was working.
func (m *mapper) attachment() (transcript.Outcome, error) {
	a := m.rec.root.Get("attachment")
	if !a.Get("type").StrEquals("queued_command") {
		return transcript.Outcome{}, nil
	}
	if mode := a.Get("commandMode"); !mode.IsNull() && !mode.StrEquals("prompt") {
		return transcript.Outcome{}, nil
	}
	for _, origin := range [...]canonical.Value{a.Get("origin"), m.rec.origin} {
		if string(originKind(origin)) == "task-notification" {
			return transcript.Outcome{}, nil
		}
	}
	prompt := a.Get("prompt")
	if prompt.IsString() {
		return m.row(nativeNotice, sdkplugin.Message, sdkplugin.RoleUser, prompt.Str())
	}
	m.parts = m.parts[:0]
	for element := range prompt.Elems {
		if text := element.Get("text"); element.Get("type").StrEquals("text") && !texts.Blank(text.Str()) {
			m.parts = append(m.parts, text)
		}
	}
	return m.row(nativeNotice, sdkplugin.Message, sdkplugin.RoleUser, m.Join(m.parts))
}

// pullRequest maps the link to a pull request; the client writes it again on every resume.
func (m *mapper) pullRequest() (transcript.Outcome, error) {
	url := m.rec.root.Get("prUrl").Str()
	link := fingerprintOf(url)
	if m.state.Links[link] {
		return transcript.Outcome{}, nil
	}
	return m.rowWith(nativeNotice, sdkplugin.VCSChange, sdkplugin.RoleSystem, url, func() {
		m.state.Links[link] = true
		m.walk.Add(sdkplugin.FactURL, url)
		m.walk.Add(sdkplugin.FactPullRequest, number(m.rec.root.Get("prNumber")))
		m.walk.Add(sdkplugin.FactProject, m.rec.root.Get("prRepository").Str())
	})
}

// conversation maps a record of a user or of the model.
func (m *mapper) conversation() (transcript.Outcome, error) {
	r, o := &m.rec, &m.outline
	results := len(o.results)
	clientOnly := results == 0 && !r.toolUseResult.IsNull()
	if clientOnly {
		results = 1
	}
	total := results + len(o.calls) + len(o.serverResults)
	if len(o.texts) > 0 {
		total++
	}
	switch {
	case total == 0:
		return transcript.Outcome{}, nil
	case m.onLine+total > m.maxLine:
		return transcript.Reject(tooManyEvents)
	}
	idx := 0
	give := func(err error) error { idx++; return err }
	var err error
	if clientOnly {
		err = give(m.clientResult(idx))
	}
	for i := 0; i < len(o.results) && err == nil; i++ {
		err = give(m.toolResult(&o.results[i], idx, i == 0))
	}
	if len(o.texts) > 0 && err == nil {
		err = give(m.textRow(idx, results > 0))
	}
	for i := 0; i < len(o.calls) && err == nil; i++ {
		err = give(m.toolCall(&o.calls[i], idx))
	}
	for i := 0; i < len(o.serverResults) && err == nil; i++ {
		err = give(m.serverResult(&o.serverResults[i], idx))
	}
	return transcript.Retained, err
}

// textRow gives the text of a record as one event, also when calls stand between its parts, and takes a prompt as a title.
func (m *mapper) textRow(idx int, isResult bool) error {
	whole, first := m.joined(), m.outline.texts[0].Str()
	typ, role := reclassify(&m.rec, m.rec.nativeRole(), classOf(first, whole), first)
	if m.typed(typ, role, isResult) {
		m.state.Titles.addTyped(whole)
	}
	m.draft(nativeMessage, typ, role)
	m.Event.Body = sdkplugin.Inline(whole)
	return m.give(idx)
}

// typed tells whether a row of the user holds what a person typed to this session.
func (m *mapper) typed(typ, role string, isResult bool) bool {
	r := &m.rec
	origin := string(originKind(r.origin))
	return r.family == userRecord && !isResult && typ == sdkplugin.Message && role == sdkplugin.RoleUser &&
		!(r.sidechain && m.key.main()) && (origin == "" || origin == "human")
}
