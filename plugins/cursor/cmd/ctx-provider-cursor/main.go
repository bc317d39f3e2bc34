// Command ctx-provider-cursor serves the history of Cursor to ctx as an executable of its own.
package main

import (
	"github.com/agenthistory/ctx/plugins/cursor"
	"github.com/agenthistory/ctx/sdkplugin"
)

func main() { sdkplugin.Serve(cursor.New()) }
