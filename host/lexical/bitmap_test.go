package lexical

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/RoaringBitmap/roaring"
)

// bitmapCases are ascending lists that need every kind of container and header.
func bitmapCases() map[string][]uint32 {
	every := func(from, to, step uint32) (out []uint32) {
		for n := from; n < to; n += step {
			out = append(out, n)
		}
		return out
	}
	return map[string][]uint32{
		"one":                   {0},
		"one high":              {1 << 20},
		"few":                   {3, 4, 9, 65_535, 65_536},
		"array at its limit":    every(0, 2*arrayMaxNumbers, 2),
		"bits":                  every(0, 2*arrayMaxNumbers+2, 2),
		"full container":        every(0, 65_536, 1),
		"one run":               every(100, 9000, 1),
		"two numbers in a row":  {8, 9},
		"runs and gaps":         slices.Concat(every(0, 5000, 1), every(6000, 8000, 3), every(70_000, 140_000, 1)),
		"three plain, unevenly": slices.Concat(every(0, 65_536, 3), every(65_536, 131_072, 50), every(131_072, 131_100, 7)),
		"four containers":       every(0, 4*65_536, 1000),
		"five mixed":            slices.Concat(every(0, 65_536, 3), every(70_000, 130_000, 1), every(140_000, 330_000, 777)),
	}
}

func checkBitmap(t *testing.T, numbers []uint32) {
	t.Helper()
	data, _ := appendBitmap([]byte("before"), numbers, nil)
	data = data[len("before"):]
	bitmap := roaring.New()
	if n, err := bitmap.FromBuffer(slices.Clone(data)); err != nil || n != int64(len(data)) {
		t.Fatalf("read %d of %d bytes: %v", n, len(data), err)
	}
	if !slices.Equal(bitmap.ToArray(), numbers) {
		t.Fatal("roaring reads other numbers")
	}
	bitmap.RunOptimize()
	if best := bitmap.GetSerializedSizeInBytes(); uint64(len(data)) > best {
		t.Errorf("%d bytes, roaring needs %d", len(data), best)
	}
}

func TestBitmap(t *testing.T) {
	t.Parallel()
	for name, numbers := range bitmapCases() {
		t.Run(name, func(t *testing.T) { checkBitmap(t, numbers) })
	}
	r := rand.New(rand.NewPCG(5, 5))
	for range 200 {
		var numbers []uint32
		n := uint32(r.IntN(1000))
		for step := uint32(1 + r.IntN(1+r.IntN(5000))); len(numbers) < 1+r.IntN(6000); n += 1 + r.Uint32N(step) {
			numbers = append(numbers, n)
		}
		checkBitmap(t, numbers)
	}
}
