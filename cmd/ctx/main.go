// Command ctx searches and reads the history of coding agents. See the package comment of host/cli for the command line and
// sdkplugin for the providers, which this one file also serves.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/agenthistory/ctx/host/cli"
	"github.com/agenthistory/ctx/plugins/claude"
	"github.com/agenthistory/ctx/plugins/codex"
	"github.com/agenthistory/ctx/plugins/cursor"
	"github.com/agenthistory/ctx/sdkplugin"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	// A reader that closes our stdout is a write error that the command handles, not a signal that kills it.
	signal.Ignore(brokenPipe...)
	self, err := os.Executable()
	if err != nil {
		self = os.Args[0]
	}
	app := &cli.App{
		Stdout: os.Stdout, Stderr: os.Stderr, Getenv: os.Getenv, LookupEnv: os.LookupEnv, Self: self, CountUsage: true,
		Providers: []cli.Provider{
			{Name: "claude", Serve: func() { sdkplugin.Serve(claude.New()) }},
			{Name: "codex", Serve: func() { sdkplugin.Serve(codex.New()) }},
			{Name: "cursor", Serve: func() { sdkplugin.Serve(cursor.New()) }},
		},
	}
	os.Exit(app.Run(ctx, os.Args[1:]))
}
