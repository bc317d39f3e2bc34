package sdkplugin

import (
	"sync"

	"google.golang.org/grpc/encoding"
	_ "google.golang.org/grpc/encoding/proto" // registers the codec that is wrapped
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"
)

// encodedBatch is a Batch that is encoded already. The codec hands its bytes
// to the transport as they are: marshalling a generated message of the same
// content would cost a walk by reflection and one more copy of every body.
type encodedBatch struct{ batch *[]byte }

// wireCodec is the usual protobuf codec, which also knows encodedBatch.
type wireCodec struct{ encoding.CodecV2 }

func newWireCodec() encoding.CodecV2 { return wireCodec{encoding.GetCodecV2("proto")} }

func (c wireCodec) Marshal(v any) (mem.BufferSlice, error) {
	b, ok := v.(*encodedBatch)
	if !ok {
		return c.CodecV2.Marshal(v)
	}
	head := protowire.AppendTag(make([]byte, 0, 8), 2, protowire.BytesType) // ScanMessage.batch
	head = protowire.AppendVarint(head, uint64(len(*b.batch)))
	return mem.BufferSlice{mem.SliceBuffer(head), mem.NewBuffer(b.batch, &batches)}, nil
}

// batchPool keeps batch buffers. Those that a huge event has grown are left to
// the collector, so that one of them does not stay in memory for good.
type batchPool struct{ pool sync.Pool }

var batches batchPool

const batchCapacity = flushBytes + 64<<10

func (p *batchPool) get() *[]byte {
	if b, ok := p.pool.Get().(*[]byte); ok {
		return b
	}
	b := make([]byte, 0, batchCapacity)
	return &b
}

func (p *batchPool) put(b *[]byte) {
	if cap(*b) > 4*flushBytes {
		return
	}
	*b = (*b)[:0]
	p.pool.Put(b)
}

// Get and Put make it a mem.BufferPool; the transport only calls Put.
func (p *batchPool) Get(length int) *[]byte {
	b := make([]byte, length)
	return &b
}

func (p *batchPool) Put(b *[]byte) { p.put(b) }
