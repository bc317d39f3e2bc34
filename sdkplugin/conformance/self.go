package conformance

import (
	"os"
	"testing"

	"github.com/agenthistory/ctx/sdkplugin"
)

// selfEnv tells the test binary to be the provider.
const selfEnv = "CTX_CONFORMANCE_SERVE"

// Main is the body of TestMain of a provider's tests: it runs them, or, in the
// process that Self starts, serves the provider.
func Main(m *testing.M, p sdkplugin.Provider) {
	if os.Getenv(selfEnv) != "" {
		sdkplugin.Serve(p)
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// Self is the command that starts this test binary as the provider.
func Self() []string {
	path, err := os.Executable()
	if err != nil {
		path = os.Args[0]
	}
	return []string{path, "-test.run=^$"}
}
