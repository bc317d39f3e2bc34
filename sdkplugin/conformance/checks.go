package conformance

// checks in the order in which they run: what needs least comes first, what
// may kill the provider last.
var checks = []check{
	{"manual_start", "started by hand it says so and exits at once", nothing, (*kit).manualStart},
	{"handshake", "it starts and speaks the protocol within 5 s", nothing, (*kit).handshake},
	{"describe", "the description is complete, quick, and the same in every process", nothing, (*kit).describe},
	{"missing_route", "a route that does not exist is reported, never taken for an empty one", description, (*kit).missingRoute},
	{"empty_route", "an empty directory is a complete inventory without sources", description, (*kit).emptyRoute},
	{"missing_source", "a source that does not exist fails alone", description, (*kit).missingSource},
	{"cancelled_call", "a cancelled call leaves the provider usable", description, (*kit).cancelledCall},

	{"inventory_complete", "every session is listed, with valid keys, locators and tokens, in the same order each time", fixture, (*kit).inventoryComplete},
	{"scan_complete", "every record arrives, counted and certified", fixture, (*kit).scanComplete},
	{"events_valid", "keys, text, JSON, spans, sizes, order and references are valid", fixture, (*kit).eventsValid},
	{"scan_twice", "the same bytes give the same events, in any process", fixture, (*kit).scanTwice},
	{"append_equals_full", "reading on gives what a full read gives", fixture, (*kit).appendEqualsFull},
	{"observation_changes", "the observation changes when the source does, and only then", fixture, (*kit).observationChanges},
	{"changed_file", "asked about one file that changed, it gives what a list would, or lists everything", fixture, (*kit).changedFile},

	{"certified_digest", "the digest is the SHA-256 of the certified bytes", lineFixture, (*kit).certifiedDigest},
	{"torn_tail", "an unfinished record waits and is read once it is complete", lineFixture, (*kit).tornTail},
	{"damaged_record", "a damaged record is rejected and its neighbours are kept", lineFixture, (*kit).damagedRecord},
	{"long_line", "a record of 20 MiB is rejected and its neighbours are kept", lineFixture, (*kit).longLine},
	{"rewritten_prefix", "after a rewrite an append is answered with a full read", lineFixture, (*kit).rewrittenPrefix},
	{"vanished_file", "a file that is gone fails as vanished, alone", lineFixture, (*kit).vanishedFile},
	{"unreadable_file", "a file that cannot be read fails, alone", lineFixture, (*kit).unreadableFile},
	{"links_and_pipes", "links below the route are not followed, pipes are not opened", lineFixture, (*kit).linksAndPipes},
	{"cancelled_scan", "a cancelled scan stops within 100 ms", lineFixture, (*kit).cancelledScan},

	{"sample_scan", "what the sample lists and holds is valid, and the same when read twice", sample, (*kit).sampleScan},
	{"sample_append", "reading on in cut files of the sample gives what a full read gives", sample, (*kit).sampleAppend},

	{"many_sources", "thousands of sources are listed and read in one go", fixture, (*kit).manySources},
	{"host_gone", "it exits when its host goes away", nothing, (*kit).hostGone},
}
