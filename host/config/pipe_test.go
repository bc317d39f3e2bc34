//go:build unix

package config

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/agenthistory/ctx/host/fault"
)

// A pipe in place of a file is refused; nobody waits for its writer.
func TestPipes(t *testing.T) {
	t.Parallel()
	data, _ := world(t)
	if err := os.MkdirAll(filepath.Dir(installedFile(data)), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{filepath.Join(data, FileName), installedFile(data)} {
		if err := syscall.Mkfifo(name, 0o600); err != nil {
			t.Skip("no pipes here")
		}
	}
	if _, err := Load(data, testEnvironment("/h")); fault.Code(err) != fault.ConfigMalformed {
		t.Errorf("a pipe in place of the file: %v", err)
	}
	if all, err := readInstalled(data); all != nil || fault.Code(err) != fault.ResourceUnavailable {
		t.Errorf("%+v, %v", all, err)
	}
}
