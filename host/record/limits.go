package record

// Limits of one event, in bytes unless said otherwise.
const (
	MaxContent  = 16 << 20  // body + structured content + activity as canonical JSON; each of the first two alone as well
	MaxRecord   = 64 << 20  // canonical JSON of the whole Core record
	MaxText     = 64 << 10  // metadata strings, fact values
	MaxFileFact = 16 << 10  // value of a fact of kind file
	MaxFacts    = 4096      // number of facts
	MaxObserved = 1<<53 - 1 // observed size of an omitted value; the largest integer that every JSON reader keeps
)
