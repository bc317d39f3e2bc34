package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/agenthistory/ctx/host/core"
	"github.com/agenthistory/ctx/host/fault"
	"github.com/agenthistory/ctx/host/refresh"
	"github.com/agenthistory/ctx/host/status"
)

// diagnosis is the JSON object of doctor.
type diagnosis struct {
	SchemaVersion int             `json:"schema_version"`
	OK            bool            `json:"ok"`
	Findings      []string        `json:"findings"`
	SourceEpoch   *status.Report  `json:"source_epoch"`
	Daemon        status.Daemon   `json:"daemon"`
	Upgrade       *status.Upgrade `json:"upgrade"`
	Deep          *deepCheck      `json:"deep,omitempty"`

	found   []status.Finding
	skipped []*refresh.RejectionRow
	short   func(path string) string
}

// deepCheck says what --deep has read.
type deepCheck struct {
	Checks   []core.VerifyCheck `json:"checks"`
	Problems []string           `json:"problems"`
}

func (a *App) doctorCommand() *cobra.Command {
	var deep bool
	cmd := reporting(a, &cobra.Command{
		Use:   "doctor",
		Short: "Check the installation and the index",
		Long: `Check the installation and the index. With --deep every digest, every record and every key of the active generation is
read again, and the answer says what was checked.`,
		Args: noArguments,
	}, func(cmd *cobra.Command, s *session, _ []string) (*diagnosis, error) {
		report, err := s.observe(cmd.Context())
		if err != nil {
			return nil, err
		}
		d := &diagnosis{SchemaVersion: 1, Findings: []string{}, SourceEpoch: report, Daemon: report.Daemon, Upgrade: report.Upgrade,
			found: report.Findings(), short: s.shortPath}
		if report.Initialized && positive(report.Refresh.RejectedRecordTotal) != "" {
			if d.skipped, err = s.skipped(cmd.Context()); err != nil {
				d.found = append(d.found, status.Finding{Text: fault.From(err).Message})
			}
		}
		if deep && report.Lexical.Reason != "generation_not_published" {
			if d.Deep, err = s.deepCheck(cmd); err != nil {
				return nil, err
			}
			for _, problem := range d.Deep.Problems {
				d.found = append(d.found, status.Finding{Text: problem})
			}
		}
		for _, finding := range d.found {
			d.Findings = append(d.Findings, finding.String())
		}
		d.OK = len(d.Findings) == 0
		return d, nil
	}, printDiagnosis)
	cmd.Flags().BoolVar(&deep, "deep", false, "read everything again: digests, records and keys")
	return cmd
}

// deepCheck verifies the active generation. What it finds wrong is a result, not a failure of the command.
func (s *session) deepCheck(cmd *cobra.Command) (*deepCheck, error) {
	report, err := s.store.Verify(cmd.Context(), true, nil)
	if err != nil {
		return nil, err
	}
	check := &deepCheck{Checks: report.Checks, Problems: []string{}}
	for i := range report.Checks {
		c := &report.Checks[i]
		if c.Failed > 0 {
			check.Problems = append(check.Problems, fmt.Sprintf("%s: %d of %d are wrong", c.Name, c.Failed, max(c.Checked, c.Failed)))
		}
		check.Problems = append(check.Problems, c.Problems...)
	}
	return check, nil
}

func printDiagnosis(p *page, d *diagnosis) {
	if d.OK {
		p.outcome(markDone, "No problem found")
	} else {
		p.outcome(markWarning, "%s", plural(len(d.Findings), "finding"))
		for _, finding := range d.found {
			p.diagnostic(finding.Text, finding.Command)
		}
	}
	if d.Deep != nil {
		var fields []field
		for _, c := range d.Deep.Checks {
			fields = append(fields, field{c.Name, joinNonEmpty("  ", count(c.Checked), c.Detail)})
		}
		p.section("Checked", fields...)
	}
	printSkipped(p, d.short, d.skipped)
	r := d.SourceEpoch
	p.section("Configuration", field{"Root", r.DataRoot}, field{"Config", r.ConfigPath}, field{"Index", r.Lexical.Status},
		field{"Generation", r.Lexical.GenerationID}, field{"Program", version})
}
