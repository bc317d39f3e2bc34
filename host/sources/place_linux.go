package sources

import "golang.org/x/sys/unix"

// File system magics of statfs(2).
const (
	magicProc  = 0x9fa0
	magicSysfs = 0x62656572
	magicNFS   = 0x6969
	magicCIFS  = 0xff534d42
	magicSMB2  = 0xfe534d42
	magicFUSE  = 0x65735546
	magic9P    = 0x01021997
)

func fileSystem(path string) (fsKind, error) {
	var st unix.Statfs_t
	if err := unix.Statfs(path, &st); err != nil {
		return fsLocal, err
	}
	return kindOfMagic(uint32(st.Type)), nil
}

func kindOfMagic(magic uint32) fsKind {
	switch magic {
	case magicProc, magicSysfs:
		return fsKernel
	case magicNFS, magicCIFS, magicSMB2, magicFUSE, magic9P:
		return fsRemote
	}
	return fsLocal
}
