package record

import "unsafe"

// stringBytes views a string as bytes. The bytes must not be changed; every use here only reads or copies them.
func stringBytes(s string) []byte { return unsafe.Slice(unsafe.StringData(s), len(s)) }
