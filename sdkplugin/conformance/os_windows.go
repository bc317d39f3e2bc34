package conformance

import "errors"

func makePipe(string) error { return errors.New("no named pipes in directories") }

func makeUnreadable(string) error { return notRun{"permissions are not taken away in this way here"} }
