package record

// ContentScope is the class of events that a search looks at.
type ContentScope uint8

// Content scopes.
const (
	ScopeAll ContentScope = iota
	ScopeTranscript
	ScopeCalls
	ScopeOutputs
)

var contentScopeNames = [...]string{"all", "transcript", "calls", "outputs"}

// String returns all, transcript, calls or outputs.
func (s ContentScope) String() string { return name(contentScopeNames[:], uint8(s)) }

// ParseContentScope returns the scope of a name.
func ParseContentScope(text string) (s ContentScope, ok bool) {
	for i, n := range contentScopeNames {
		if n == text {
			return ContentScope(i), true
		}
	}
	return 0, false
}

// weights holds the factor of every event type by its code; zero keeps a type out of the scope.
var weights = func() (w [4][256]float32) {
	for typ := range w[ScopeAll] {
		w[ScopeAll][typ] = 0.8
	}
	outputs := [...]uint8{TypeToolOutput, TypeCommandOutput, TypeCommandFinished}
	w[ScopeAll][TypeMessage] = 1
	w[ScopeAll][TypeSummary] = 0.9
	for _, typ := range outputs {
		w[ScopeAll][typ] = 0.6
		w[ScopeOutputs][typ] = 1
	}
	w[ScopeTranscript][TypeMessage] = 1
	w[ScopeTranscript][TypeSummary] = 0.9
	w[ScopeCalls][TypeToolCall] = 1
	w[ScopeCalls][TypeCommandStarted] = 1
	return w
}()

// ClassWeight returns the factor on the score of an event type in a scope, 0 for a type outside of it.
func ClassWeight(scope ContentScope, typ uint8) float32 {
	if int(scope) >= len(weights) {
		return 0
	}
	return weights[scope][typ]
}

// Weights returns the factors of all types by code. The array is shared and must not be changed.
func Weights(scope ContentScope) *[256]float32 {
	if int(scope) >= len(weights) {
		return new([256]float32)
	}
	return &weights[scope]
}
