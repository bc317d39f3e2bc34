package integrations

import "io/fs"

func oursToReplace(fs.FileInfo) bool { return true }
