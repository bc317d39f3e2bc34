// Provider-notes is a complete history provider for ctx, small enough to read in one go. It reads the history of an invented
// agent that keeps notes: see README.md for its format and for how to install the provider.
package main

import "github.com/agenthistory/ctx/sdkplugin"

func main() { sdkplugin.Serve(provider{}) }
