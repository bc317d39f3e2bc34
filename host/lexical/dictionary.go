package lexical

import "encoding/binary"

// Dictionaries are finite state transducers in the version 1 format as read by blevesearch/vellum: they map terms to numbers by adding up
// the outputs on a term's path. A node is written after the nodes it leads to and is read backwards from its last byte, its address.
//
//	one transition, not final:  [output] [distance] sizes [input] 0x80 | 0x40 (leads to the node just before, no sizes) | common input
//	otherwise:                  [final output] [outputs] [distances] inputs sizes [count] 0x40 (final) | count, transitions in reverse
//
// sizes holds the bytes of a distance in its upper and of an output in its lower half. Address 0 is the final node without transitions.
//
// Vellum's own builder looks for equal subtrees to share. Our terms lead to different numbers, so it finds next to none (0.5 % of the
// file) and spends half of all indexing time doing so. This writer only shares prefixes.
const (
	fstVersion     = 1
	fstHeader      = 16
	fstEmptyAddr   = 0
	fstOneBit      = 0x80
	fstNextBit     = 0x40
	fstFinalBit    = 0x40
	fstInlineCount = 63 // larger counts take a byte of their own
)

// fstCommon are the inputs that a node with one transition stores in its last byte, by rank.
const fstCommon = "te/oasripcnw.hlm-du012g=:bf3y5&_4v9678k%?xCDASFIBEjPTzRNM+LOqHG"

var fstRank = func() (rank [256]byte) {
	for i := range len(fstCommon) {
		rank[fstCommon[i]] = byte(i + 1)
	}
	return rank
}()

// dictionaryWriter writes one dictionary into memory. Terms must be inserted in ascending byte order, each once, none empty.
//
// The nodes on the path that the last term shares with the term before it are open; the rest of the last term waits as bytes, since most
// terms end in a chain that nothing shares. The transitions of all open nodes form one stack: those of a node end where those of the next
// deeper node begin.
type dictionaryWriter struct {
	out         []byte
	last        []byte     // last term; its bytes lead from one open node to the next
	lastValue   uint64     // of the last term
	nodes       []openNode // by depth
	transitions []transition
	count       uint64
	lastAddr    int // of the node written last
}

type openNode struct {
	first int // its first transition
	final bool
	value uint64 // when final
}

// transition leads to a written node. low is the smallest value below it: the output is what low exceeds that of the whole node by.
type transition struct {
	addr int
	low  uint64
	in   byte
}

func (d *dictionaryWriter) reset() {
	d.out = binary.LittleEndian.AppendUint64(d.out[:0], fstVersion)
	d.out = binary.LittleEndian.AppendUint64(d.out, 0)
	d.last = d.last[:0]
	d.nodes = append(d.nodes[:0], openNode{})
	d.transitions = d.transitions[:0]
	d.count = 0
	d.lastAddr = -1
}

func (d *dictionaryWriter) insert(term []byte, value uint64) {
	shared := 0
	for shared < len(term) && shared < len(d.last) && term[shared] == d.last[shared] {
		shared++
	}
	if d.count > 0 {
		d.settle(shared)
	}
	d.last = append(d.last[:shared], term[shared:]...)
	d.lastValue = value
	d.count++
}

// settle files the last term and leaves exactly the nodes down to a depth open.
func (d *dictionaryWriter) settle(depth int) {
	open := len(d.nodes) - 1
	if depth <= open {
		d.fileRest(open)
		d.closeTo(depth)
		return
	}
	for range depth - open {
		d.nodes = append(d.nodes, openNode{first: len(d.transitions)})
	}
	if depth == len(d.last) {
		d.nodes[depth].final, d.nodes[depth].value = true, d.lastValue
		return
	}
	d.fileRest(depth)
}

// fileRest writes the last term from the deepest open node on as a chain.
func (d *dictionaryWriter) fileRest(depth int) {
	addr := d.writeChain(d.last[depth+1:])
	d.transitions = append(d.transitions, transition{addr: addr, low: d.lastValue, in: d.last[depth]})
}

// closeTo writes the open nodes below a depth.
func (d *dictionaryWriter) closeTo(depth int) {
	for at := len(d.nodes) - 1; at > depth; at-- {
		node := d.nodes[at]
		below := d.transitions[node.first:]
		low := node.value
		if !node.final {
			low = below[0].low
		}
		for _, t := range below {
			low = min(low, t.low)
		}
		addr := d.write(node, below, low)
		d.nodes = d.nodes[:at]
		d.transitions = append(d.transitions[:node.first], transition{addr: addr, low: low, in: d.last[at-1]})
	}
}

// finish writes the rest and returns the dictionary, which is valid until the next reset.
func (d *dictionaryWriter) finish() []byte {
	if d.count > 0 {
		d.settle(0)
	}
	root := d.write(d.nodes[0], d.transitions, 0)
	d.out = binary.LittleEndian.AppendUint64(d.out, d.count)
	d.out = binary.LittleEndian.AppendUint64(d.out, uint64(root))
	return d.out
}

// writeChain writes nodes with one transition each that spell out a suffix, and returns the address of the first.
func (d *dictionaryWriter) writeChain(suffix []byte) int {
	if len(suffix) == 0 {
		return fstEmptyAddr
	}
	const sizes = 0 // no output, and distance 0 to the empty node
	d.out = append(d.out, sizes)
	next := byte(0)
	for i := len(suffix) - 1; i >= 0; i-- {
		rank := fstRank[suffix[i]]
		if rank == 0 {
			d.out = append(d.out, suffix[i])
		}
		d.out = append(d.out, fstOneBit|next|rank)
		next = fstNextBit
	}
	d.lastAddr = len(d.out) - 1
	return d.lastAddr
}

// write appends a node and returns its address. low is taken off all outputs: the transition to the node carries it.
func (d *dictionaryWriter) write(node openNode, transitions []transition, low uint64) int {
	switch {
	case node.final && len(transitions) == 0:
		return fstEmptyAddr
	case !node.final && len(transitions) == 1:
		d.writeOne(transitions[0], low)
	default:
		d.writeMany(node, transitions, low)
	}
	d.lastAddr = len(d.out) - 1
	return d.lastAddr
}

func (d *dictionaryWriter) writeOne(t transition, low uint64) {
	head := byte(fstOneBit) | fstRank[t.in]
	if t.addr == d.lastAddr && t.low == low {
		head |= fstNextBit
	} else {
		distance, output := d.distance(t, len(d.out)), t.low-low
		distanceSize, outputSize := packedSize(distance), packedSize(output)
		d.out = appendPacked(d.out, output, outputSize)
		d.out = appendPacked(d.out, distance, distanceSize)
		d.out = append(d.out, byte(distanceSize<<4|outputSize))
	}
	if fstRank[t.in] == 0 {
		d.out = append(d.out, t.in)
	}
	d.out = append(d.out, head)
}

func (d *dictionaryWriter) writeMany(node openNode, transitions []transition, low uint64) {
	start := len(d.out)
	distanceSize, outputSize := 0, 0
	if node.final {
		outputSize = packedSize(node.value - low)
	}
	for _, t := range transitions {
		distanceSize = max(distanceSize, packedSize(d.distance(t, start)))
		outputSize = max(outputSize, packedSize(t.low-low))
	}
	if node.final && outputSize > 0 {
		d.out = appendPacked(d.out, node.value-low, outputSize)
	}
	for i := len(transitions) - 1; i >= 0; i-- {
		d.out = appendPacked(d.out, transitions[i].low-low, outputSize)
	}
	for i := len(transitions) - 1; i >= 0; i-- {
		d.out = appendPacked(d.out, d.distance(transitions[i], start), distanceSize)
	}
	for i := len(transitions) - 1; i >= 0; i-- {
		d.out = append(d.out, transitions[i].in)
	}
	d.out = append(d.out, byte(distanceSize<<4|outputSize))
	head := byte(0)
	switch n := len(transitions); {
	case n == 0 || n == 256: // stored as 0 and 1: a single transition never gets here without fitting into the head
		d.out = append(d.out, byte(n>>8))
	case n > fstInlineCount:
		d.out = append(d.out, byte(n))
	default:
		head = byte(n)
	}
	if node.final {
		head |= fstFinalBit
	}
	d.out = append(d.out, head)
}

// distance returns how far back the target of a transition lies from a node that starts at start; 0 stands for the empty node.
func (d *dictionaryWriter) distance(t transition, start int) uint64 {
	if t.addr == fstEmptyAddr {
		return 0
	}
	return uint64(start - t.addr)
}

// packedSize returns the bytes that hold v; none for 0.
func packedSize(v uint64) int {
	size := 0
	for ; v != 0; v >>= 8 {
		size++
	}
	return size
}

func appendPacked(dst []byte, v uint64, size int) []byte {
	for ; size > 0; size-- {
		dst = append(dst, byte(v))
		v >>= 8
	}
	return dst
}
