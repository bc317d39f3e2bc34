package conformance

import "fmt"

func makePipe(string) error { return fmt.Errorf("named pipes in directories: %w", errNotHere) }

func makeUnreadable(string) error { return fmt.Errorf("taking permissions away: %w", errNotHere) }
