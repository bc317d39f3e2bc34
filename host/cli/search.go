package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/agenthistory/ctx/host/daemon"
	"github.com/agenthistory/ctx/host/fault"
	"github.com/agenthistory/ctx/host/refresh"
	"github.com/agenthistory/ctx/host/search"
)

type searchFlags struct {
	req                    search.Request
	backend                string
	weight                 float64
	refresh                string
	verbose, includeCaller bool
}

func (a *App) searchCommand() *cobra.Command {
	f := &searchFlags{}
	cmd := &cobra.Command{
		Use:   "search [QUERY]",
		Short: "Search the indexed history",
		Long: `Search the indexed history: every word of the query counts, events that match more different words come first.
Results of tools are searched like any other text. A query, a --term or --file is needed.

"exact words", a NEAR b, -word, begin* and file: cmd: tool: role: provider: branch: narrow a query; 'ctx docs show search' tells
how. Any other text is plain words.`,
		Example: "  ctx search \"retry timeout\"\n  ctx search --file pay/client.go\n  ctx search '\"connection reset\" -proxy tool:Bash'\n  ctx search panic --content-scope outputs --since 14d",
		Args:    atMostOne("query"),
		PreRunE: func(cmd *cobra.Command, _ []string) error {
			for _, pair := range [][]string{{"content-scope", "event-type"}, {"session", "exclude-session"}} {
				if err := exclusive(cmd, pair...); err != nil {
					return err
				}
			}
			return refuseBlank(cmd, fault.InvalidRequest)
		},
	}
	cmd.RunE = a.opened(func(cmd *cobra.Command, s *session, args []string) error { return a.runSearch(cmd, s, f, args) })
	flags := cmd.Flags()
	flags.StringArrayVar(&f.req.Terms, "term", nil, "OR alternative `text` (repeatable, at most 32)")
	boundedFlag(cmd, &f.req.Limit, "limit", search.DefaultLimit, 1, search.MaxLimit, "most results")
	searchFilters(flags, &f.req)
	flags.BoolVar(&f.req.Events, "events", false, "one row an event instead of one a session")
	choiceFlag(flags, &f.backend, "backend", "", "retrieval", "hybrid", "semantic", "lexical")
	f.weight = search.DefaultWeight
	flags.Var(fraction(&f.weight), "semantic-weight", "weight of the semantic part, 0.0 to 1.0")
	choiceFlag(flags, &f.refresh, "refresh", "background", "bring the index up to date: wake the background process, do nothing, or wait for it", "background", "off", "wait")
	flags.BoolVar(&f.includeCaller, "include-current-session", false, "do not leave out the session that runs this command")
	flags.BoolVar(&f.req.Explain, "explain", false, "tell how the query was read and what every score is made of")
	flags.BoolVar(&f.verbose, "verbose", false, "more about every result")
	redactFlag(cmd)
	return a.formats(cmd, "text", "json")
}

func (a *App) runSearch(cmd *cobra.Command, s *session, f *searchFlags, args []string) (err error) {
	req := f.request(cmd, s, args)
	service := s.search()
	if err := service.Check(req); err != nil {
		return err
	}
	if req.Freshness, err = a.refreshFirst(cmd, s, f.refresh); err != nil {
		return err
	}
	answer, err := service.Search(cmd.Context(), req)
	if err != nil {
		return err
	}
	a.deliveredSearch(answer.Results)
	return a.answer(answer, func(p *page) {
		var together []string
		if r := answer.Coverage.Relaxations; r != nil && len(*r) == 0 {
			together = hiddenBy(cmd, service, req)
		}
		a.printAnswer(p, answer, f.verbose, together)
	})
}

// searchFilters adds the flags that narrow a search.
func searchFilters(flags *pflag.FlagSet, req *search.Request) {
	flags.StringVar(&req.Provider, "provider", "", "only this `provider`")
	flags.StringArrayVar(&req.SourceRoots, "source-root", nil, "only the root of this `name` (repeatable)")
	flags.StringArrayVar(&req.SourceGroups, "source-group", nil, "only this `group` of named roots (repeatable)")
	flags.StringVar(&req.HistorySource, "history-source", "", "only this custom source, as `key/id`")
	flags.StringVar(&req.ProviderKey, "provider-key", "", "only this custom provider `key`")
	flags.StringVar(&req.SourceID, "source-id", "", "only this custom source `id`")
	flags.StringVar(&req.SourceFormat, "source-format", "", "only this source `format`")
	flags.StringVar(&req.Session, "session", "", "only this session (`id` or prefix); shows events")
	flags.StringVar(&req.Workspace, "workspace", "", "only sessions in directories that contain this `text`")
	flags.StringVar(&req.File, "file", "", "only events about files whose path contains this `text`")
	choiceFlag(flags, &req.ContentScope, "content-scope", "all", "part of the history to search", "all", "transcript", "calls", "outputs")
	choiceFlag(flags, &req.EventType, "event-type", "", "only events of this type", search.EventTypes...)
	flags.StringArrayVar(&req.Exclude, "exclude-session", nil, "leave out the session with this `id` (repeatable)")
	flags.BoolVar(&req.PrimaryOnly, "primary-only", false, "leave the work of subagents out")
	flags.StringVar(&req.Since, "since", "", "only events since this `time`: 7d for seven days back, or RFC 3339")
}

// hiddenBy names the filters that hide every match together, where no single one does: the search without any filter is narrowed by
// one filter after the other, and those under which nothing is left are to be dropped.
func hiddenBy(cmd *cobra.Command, service *search.Service, req search.Request) (flags []string) {
	open := search.Request{Query: req.Query, Terms: req.Terms, Limit: 1, Backend: search.Lexical, IncludeCurrent: true}
	if req.Query == "" && len(req.Terms) == 0 {
		open.File = req.File
	}
	finds := func(r search.Request) bool {
		answer, err := service.Search(cmd.Context(), r)
		return err == nil && len(answer.Results) > 0
	}
	if !finds(open) {
		return nil
	}
	var narrowed search.Request
	filters := pflag.NewFlagSet("", pflag.ContinueOnError)
	filters.SortFlags = false
	searchFilters(filters, &narrowed)
	narrowed = open
	filters.VisitAll(func(f *pflag.Flag) {
		given := cmd.Flags().Lookup(f.Name)
		if !given.Changed {
			return
		}
		var err error
		if list, ok := given.Value.(pflag.SliceValue); ok {
			err = f.Value.(pflag.SliceValue).Replace(list.GetSlice())
		} else {
			err = f.Value.Set(given.Value.String())
		}
		if err == nil && finds(narrowed) {
			open = narrowed
			return
		}
		narrowed = open
		flags = append(flags, "--"+f.Name)
	})
	return flags
}

func (f *searchFlags) request(cmd *cobra.Command, s *session, args []string) search.Request {
	req := f.req
	if len(args) == 1 {
		req.Query = args[0]
	}
	if !cmd.Flags().Changed("content-scope") && req.EventType != "" {
		req.ContentScope = ""
	}
	req.Backend = search.Backend(f.backend)
	if cmd.Flags().Changed("semantic-weight") {
		req.Weight = &f.weight
	}
	req.IncludeCurrent = f.includeCaller
	req.Environment = s.lookupEnv
	req.ShortIDs = s.app.format == "text"
	return req
}

// refreshFirst does what --refresh asks for. wait publishes what is new before the search and fails instead of falling back;
// background wakes the background process and goes on with the generation that is there.
func (a *App) refreshFirst(cmd *cobra.Command, s *session, mode string) (search.Freshness, error) {
	freshness := search.Freshness{Mode: mode, Status: "existing_generation"}
	switch mode {
	case "background":
		c := s.control()
		if c.Ensure(cmd.Context(), "search") {
			freshness.Status = "daemon_background"
		} else if c.Automatic() {
			freshness.Status = daemon.Unavailable
		}
	case "wait":
		r := s.control().NewRequest("search")
		r.All = true
		report, err := s.bring(cmd.Context(), r, false, nil)
		if err != nil {
			return freshness, err
		}
		if report.Outcome == refresh.Failure {
			return freshness, fault.New("source_refresh_failed", "the refresh failed: %s", firstFailure(report)).WithHint("ctx sources")
		}
		freshness.Status = "completed"
	}
	return freshness, nil
}

func (a *App) printAnswer(p *page, answer *search.Answer, verbose bool, together []string) {
	if len(answer.Results) == 0 {
		printNoHits(p, answer, together)
	} else {
		unit, order := "result", "best first"
		if answer.Query == "" {
			order = "newest first"
		}
		scope := "primary and subagent sessions"
		if answer.Filters.PrimaryOnly {
			scope = "primary sessions only"
		}
		p.outcome(markDone, "%s, %s, %s", plural(len(answer.Results), unit), order, scope)
		for i := range answer.Results {
			printHit(p, &answer.Results[i], verbose)
			if answer.Explain != nil {
				p.fields(3, 8, []field{{"Score", scoreText(&answer.Explain.Hits[i])}})
			}
		}
	}
	printReading(p, answer)
	printAnswerNotes(a, p, answer)
}

func printHit(p *page, row *search.Row, verbose bool) {
	p.gap()
	first, rest := snippetLines(row)
	for i, piece := range p.wrap(strings.ReplaceAll(p.style.safe(first), "\t", " "), 4) {
		if i == 0 {
			p.printf("%d. %s\n", row.Rank, p.style.bold(piece))
			continue
		}
		p.printf("   %s\n", p.style.bold(piece))
	}
	if rest != "" {
		p.body(3, rest)
	}
	fields := []field{
		{"Session", sessionLabel(row.ShortSession, row.SessionTitle, row.SourceState)},
		{"Project", row.CWD},
		{"Agent", agentLabel(row)},
		{"Event", joinNonEmpty(" · ", row.ShortEvent, row.Timestamp)},
	}
	if row.MoreMatches != nil && *row.MoreMatches > 0 {
		fields = append(fields, field{"More", plural(*row.MoreMatches, "more hit") + " in this session"})
	}
	if row.Relationship != "" && row.Relationship != "root" {
		fields = append(fields, field{"Lineage", row.Relationship})
	}
	if row.Copy != nil {
		fields = append(fields, field{"Copied", "from " + row.Copy.Session + " (" + row.Copy.Proof + ")"})
	}
	if verbose {
		fields = append(fields, verboseFields(row)...)
	}
	if len(row.ShortCommands) > 0 {
		fields = append(fields, field{"Inspect", row.ShortCommands[0]})
	}
	p.fields(3, 8, fields)
	if verbose && len(row.ShortCommands) > 1 {
		p.printf("   %s\n", p.style.dim("Next"))
		for _, command := range row.ShortCommands[1:] {
			p.printf("     %s\n", command)
		}
	}
}

func verboseFields(row *search.Row) []field {
	return []field{
		{"Type", joinNonEmpty(" ", row.Role, row.Type)},
		{"Event", row.EventID},
		{"Ctx session", row.SessionID},
		{"Provider session", row.ProviderSession},
		{"Source", row.SourceFormat},
		{"Sequence", fmt.Sprint(row.EventSeq)},
		{"Relationship", row.Relationship},
		{"Parent", row.Parent},
		{"Root", row.Root},
		{"Matched", strings.Join(row.Why, ", ")},
		{"Rank", fmt.Sprint(row.Rank)},
		{"Retrieval score", fmt.Sprintf("%.4g", float32(row.Score))},
	}
}

// snippetLines splits the snippet into the headline of a hit and what follows it.
func snippetLines(row *search.Row) (first, rest string) {
	text := strings.TrimSpace(row.Readable)
	if text == "" {
		return row.Title, ""
	}
	first, rest, _ = strings.Cut(text, "\n")
	return strings.TrimSpace(first), strings.TrimRight(rest, "\n ")
}

func agentLabel(row *search.Row) string {
	label := row.Provider
	if row.AgentScope == "subagent" {
		label += " subagent"
	}
	return label
}

func printNoHits(p *page, answer *search.Answer, together []string) {
	switch {
	case answer.Query != "":
		p.outcome(markWarning, "Nothing found for %s", quoteWord(answer.Query))
	default:
		p.outcome(markWarning, "Nothing found for the file %s", quoteWord(answer.Filters.File))
	}
	c := &answer.Coverage
	line := fmt.Sprintf("Searched %s, %s, %s", plural(c.Sources, "source"), plural(c.Sessions, "session"), plural(c.Events, "event"))
	for _, part := range []struct {
		n    *int
		what string
	}{{c.SourcesStale, "sources stale"}, {c.SourcesFailed, "sources failed"}, {&c.SourcesUnselected, "sources left out by filters"}} {
		if part.n != nil && *part.n > 0 {
			line += fmt.Sprintf("; %s %s", count(*part.n), part.what)
		}
	}
	if c.Relaxations != nil {
		for _, r := range *c.Relaxations {
			line += fmt.Sprintf("; without %s: %s", flagOfFilter(r.Drop), plural(r.WouldMatch, "event"))
		}
	}
	p.printf("%s\n", line)
	switch {
	case c.Relaxations != nil && len(*c.Relaxations) > 0:
		p.printf("The same search without %s finds something.\n", flagOfFilter((*c.Relaxations)[0].Drop))
	case len(together) > 0:
		p.printf("The filters hide every match together; the same search without %s finds something.\n", strings.Join(together, " and "))
	case c.Sources == 0 && c.SourcesUnselected == 0:
		p.printf("No history is indexed.\n")
	case answer.Query != "":
		p.printf("Try fewer or other words.\n")
	}
	if c.Sources == 0 {
		p.next("ctx sources --all")
		return
	}
	p.next("ctx status")
}

// flagOfFilter names the flag behind a filter of the coverage report.
func flagOfFilter(name string) string {
	switch name {
	case "source_selection":
		return "--source-root and --source-group"
	case "current_session":
		return "leaving out the current session (--include-current-session)"
	}
	return "--" + strings.ReplaceAll(name, "_", "-")
}

// printReading tells what a query was turned into where it was not taken word by word.
func printReading(p *page, answer *search.Answer) {
	lines := answer.Notes()
	if e := answer.Explain; e != nil {
		for i := range e.Readings {
			lines = append(lines, "Read as "+e.Readings[i].String())
		}
		for _, t := range e.Terms {
			lines = append(lines, fmt.Sprintf("  %s: in %s, idf %.4g", t.Term, plural(int(t.Documents), "event"), float32(t.IDF)))
		}
	}
	if len(lines) > 0 {
		p.gap()
	}
	for _, line := range lines {
		p.printf("%s\n", p.style.safe(line))
	}
}

// scoreText writes a score as the calculation that it is.
func scoreText(h *search.HitReport) string {
	var terms []string
	for _, t := range h.Terms {
		terms = append(terms, fmt.Sprintf("%s %.4g x %.4g", t.Term, float32(t.IDF), float32(t.TF)))
	}
	if len(terms) == 0 {
		return fmt.Sprintf("%.4g", float32(h.Score))
	}
	more := ""
	if h.Near > 1 {
		more = fmt.Sprintf(" x neighbours %.4g", float32(h.Near))
	}
	if h.Whole {
		more += ", whole"
	}
	return fmt.Sprintf("%.4g = (%s) x class %.4g x coverage %.4g%s", float32(h.Score), strings.Join(terms, " + "), float32(h.Weight), float32(h.Share), more)
}

func printAnswerNotes(a *App, p *page, answer *search.Answer) {
	if n := answer.Coverage.UnknownWorkspace; n != nil && *n > 0 {
		p.gap()
		p.printf("%s left out because their directory is unknown\n", plural(*n, "matching session"))
	}
	if answer.Truncation.CandidatePoolTruncated {
		p.gap()
		p.diagnostic("Very many events match: only the best "+count(answer.Truncation.CandidatePool)+" were looked at", "add a word or a filter")
	}
	if code := answer.Retrieval.FallbackCode; code != "" {
		a.complain(markWarning, "semantic search is not available ("+code+"); these are lexical results")
	}
	if answer.Window.MoreAvailable {
		p.gap()
		p.printf("More results exist; raise --limit or add a word\n")
	}
}
