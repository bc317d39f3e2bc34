package lexical

import (
	"errors"
	"fmt"
	"path/filepath"
	"runtime/debug"

	"github.com/agenthistory/ctx/host/fault"
)

// corrupt makes the fault for an index file that is missing or damaged. The message names the file without its directory.
//
// A cause that is such a fault already is returned as it is.
func corrupt(cause error, path, what string) error {
	var known *fault.Error
	if errors.As(cause, &known) && known.Code == fault.IndexCorruption {
		return known
	}
	return fault.Wrap(fmt.Errorf("%s: %w", path, cause), fault.IndexCorruption, "the search index file %s %s", filepath.Base(path), what).
		WithHint("run `ctx doctor --deep`, then rebuild with `ctx import --all`")
}

// guard runs fn and turns a panic of the index libraries, which trust what they read, into a fault. Reading a mapped page can also fail
// (the disk, a file cut short): that counts as damage too.
func guard(path string, fn func() error) error {
	return guardCalls(path, new(bool), fn)
}

// guardCalls is guard for a function that calls back into the caller's code and sets outside meanwhile: panics from there go on.
func guardCalls(path string, outside *bool, fn func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if *outside {
			return
		}
		if p := recover(); p != nil {
			err = corrupt(fmt.Errorf("%v", p), path, "is damaged")
		}
	}()
	return fn()
}
