//go:build !unix

package codex

import "time"

func cpuTime() time.Duration { return time.Duration(time.Now().UnixNano()) }
