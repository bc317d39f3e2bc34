package sources

import "testing"

func TestFileSystems(t *testing.T) {
	t.Parallel()
	const tmpfs, overlay, ext4 = 0x01021994, 0x794c7630, 0xef53
	for _, c := range []struct {
		magic                 uint32
		automatic, configured bool
	}{
		{tmpfs, true, true}, {overlay, true, true}, {ext4, true, true},
		{0x6969, false, true}, {0xff534d42, false, true}, {0xfe534d42, false, true}, {0x65735546, false, true}, {0x01021997, false, true},
		{0x9fa0, false, false}, {0x62656572, false, false},
	} {
		kind := kindOfMagic(c.magic)
		if kind.refused(false) == "" != c.automatic || kind.refused(true) == "" != c.configured {
			t.Errorf("%#x: %q, named %q", c.magic, kind.refused(false), kind.refused(true))
		}
	}
}
