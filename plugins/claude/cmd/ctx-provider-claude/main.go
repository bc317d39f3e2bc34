// Command ctx-provider-claude serves the history of Claude Code to ctx as an executable of its own.
package main

import (
	"github.com/agenthistory/ctx/plugins/claude"
	"github.com/agenthistory/ctx/sdkplugin"
)

func main() { sdkplugin.Serve(claude.New()) }
