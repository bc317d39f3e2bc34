package main

import "os"

// Windows has no such signal; an empty list would mean all signals, so one that is never sent stands here.
var brokenPipe = []os.Signal{os.Kill}
