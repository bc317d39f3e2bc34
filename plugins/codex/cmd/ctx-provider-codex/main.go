// Command ctx-provider-codex serves the Codex provider as an executable of its own.
package main

import (
	"github.com/agenthistory/ctx/plugins/codex"
	"github.com/agenthistory/ctx/sdkplugin"
)

func main() { sdkplugin.Serve(codex.New()) }
