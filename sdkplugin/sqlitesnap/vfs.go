package sqlitesnap

import (
	"sync"
	"unsafe"

	"modernc.org/libc"
	sqlitelib "modernc.org/sqlite/lib"
)

// The engine creates an empty log beside a database whose head asks for one, and deletes logs and journals that it takes for
// left over, also where a database is opened for reading. Databases of others are therefore reached through a file system of
// our own: the engine's, which creates nothing, deletes nothing and opens every file for reading only.
const readOnlySystem = "ctx-readonly"

var (
	engineSystem uintptr
	engineOpen   openFunc
	readOnly     sqlitelib.Tsqlite3_vfs
)

type openFunc func(tls *libc.TLS, system, name, file uintptr, flags int32, opened uintptr) int32

// registerReadOnly makes the file system known to the engine.
var registerReadOnly = sync.OnceValue(func() bool {
	tls := libc.NewTLS()
	defer tls.Close()
	name, err := libc.CString(readOnlySystem) // the engine keeps it
	engineSystem = sqlitelib.Xsqlite3_vfs_find(tls, 0)
	if err != nil || engineSystem == 0 {
		return false
	}
	readOnly = **(**sqlitelib.Tsqlite3_vfs)(unsafe.Pointer(&engineSystem))
	open := readOnly.FxOpen
	engineOpen = *(*openFunc)(unsafe.Pointer(&open))
	readOnly.FzName, readOnly.FpNext = name, 0
	readOnly.FxOpen, readOnly.FxDelete = pointerTo(openReadOnly), pointerTo(deleteNothing)
	return sqlitelib.Xsqlite3_vfs_register(tls, uintptr(unsafe.Pointer(&readOnly)), 0) == sqlitelib.SQLITE_OK
})

// pointerTo is a declared function as the engine keeps it.
func pointerTo[F any](f F) uintptr { return *(*uintptr)(unsafe.Pointer(&f)) }

func openReadOnly(tls *libc.TLS, _, name, file uintptr, flags int32, opened uintptr) int32 {
	flags = flags&^(sqlitelib.SQLITE_OPEN_READWRITE|sqlitelib.SQLITE_OPEN_CREATE) | sqlitelib.SQLITE_OPEN_READONLY
	return engineOpen(tls, engineSystem, name, file, flags, opened)
}

func deleteNothing(*libc.TLS, uintptr, uintptr, int32) int32 { return sqlitelib.SQLITE_READONLY }
