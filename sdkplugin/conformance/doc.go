// Package conformance checks that a history provider keeps the contract: any provider, in any language, by running its executable
// as ctx does.
//
// In the tests of a provider written in Go the test binary serves the provider itself, so that nothing needs to be built or
// installed:
//
//	func TestMain(m *testing.M) { conformance.Main(m, acme.New()) }
//
//	func TestConformance(t *testing.T) {
//		conformance.Run(t, conformance.Config{
//			Command: conformance.Self(),
//			Fixture: conformance.Lines{
//				FormatName: "acme_sessions_jsonl_tree",
//				Role:       "acme-sessions",
//				Name:       func(session int) string { return fmt.Sprintf("s%d.jsonl", session) },
//				Line: func(session, record int, text string) []byte {
//					return fmt.Appendf(nil, `{"id":"r%d","text":%q}`, record, text)
//				},
//			},
//		})
//	}
//
// Vocabulary. A check is one promise of the contract; it passes, fails, or is not run, always with a reason. A fixture writes
// histories in the provider's format: it knows how session n with m records looks, and how records get added. Without a fixture
// only the checks run that need none. A sample is a folder of real history, which needs no fixture and proves less. For a
// provider in another language CommandFixture asks an executable. A transcript is what one scan of one source said, independent
// of how it was cut into batches; two scans agree when their transcripts do.
//
// Check returns a Report, which is what `ctx plugins test` prints. Run makes a subtest of every check.
package conformance
