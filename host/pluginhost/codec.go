package pluginhost

import (
	"sync"
	"sync/atomic"

	"google.golang.org/grpc/encoding"
	_ "google.golang.org/grpc/encoding/proto" // registers the codec that is wrapped
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/agenthistory/ctx/sdkplugin/historyv1"
)

// Bounds of one message. Two bytes on the wire can stand for a message of several hundred bytes in memory, so a message within
// the size cap could still fill the host: parts are counted before anything is decoded.
const (
	mostParts      = 400_000 // messages inside a message
	mostValues     = 4 << 20 // strings and byte strings, messages included
	deepestMessage = 32
)

// codec decodes what a plugin sends. It is made for one plugin and remembers that it had to refuse something: grpc turns its
// errors into texts.
type codec struct {
	encoding.CodecV2
	broken atomic.Pointer[error]
}

func newCodec() *codec { return &codec{CodecV2: encoding.GetCodecV2("proto")} }

// Unmarshal measures and then decodes. Unknown fields are dropped.
func (c *codec) Unmarshal(data mem.BufferSlice, v any) error {
	message, ok := v.(proto.Message)
	if !ok {
		return brokenf("no protobuf message")
	}
	buffer := data.MaterializeToBuffer(mem.DefaultBufferPool())
	defer buffer.Free()
	bytes := buffer.ReadOnlyData()
	m := measure{}
	err := m.message(shapes()[message.ProtoReflect().Descriptor().FullName()], bytes, 0)
	if err == nil {
		err = proto.UnmarshalOptions{DiscardUnknown: true}.Unmarshal(bytes, message)
	}
	if err != nil {
		c.broken.CompareAndSwap(nil, &err)
	}
	return err
}

// shape knows which fields of a message are messages themselves, and their shapes.
type shape map[protowire.Number]shape

// shapes has those of all messages of the contract, by name.
var shapes = sync.OnceValue(func() map[protoreflect.FullName]shape {
	known := map[protoreflect.FullName]shape{}
	messages := historyv1.File_history_proto.Messages()
	for i := range messages.Len() {
		addShape(known, messages.Get(i))
	}
	return known
})

func addShape(known map[protoreflect.FullName]shape, d protoreflect.MessageDescriptor) shape {
	if s := known[d.FullName()]; s != nil {
		return s
	}
	s := shape{}
	known[d.FullName()] = s // before the fields: messages may contain themselves
	for i := range d.Fields().Len() {
		if f := d.Fields().Get(i); f.Kind() == protoreflect.MessageKind {
			s[f.Number()] = addShape(known, f.Message())
		}
	}
	return s
}

// measure counts the parts of a message on the wire.
type measure struct{ parts, values int }

func (m *measure) message(s shape, b []byte, depth int) error {
	if m.parts++; m.parts > mostParts {
		return brokenf("a message of more than %d parts", mostParts)
	}
	if depth > deepestMessage {
		return brokenf("messages nested deeper than %d", deepestMessage)
	}
	for len(b) > 0 {
		number, kind, n := protowire.ConsumeTag(b)
		if n < 0 {
			return brokenf("bytes that are no message")
		}
		b = b[n:]
		if kind != protowire.BytesType {
			if n = protowire.ConsumeFieldValue(number, kind, b); n < 0 {
				return brokenf("bytes that are no message")
			}
			b = b[n:]
			continue
		}
		value, n := protowire.ConsumeBytes(b)
		if n < 0 {
			return brokenf("bytes that are no message")
		}
		b = b[n:]
		if m.values++; m.values > mostValues {
			return brokenf("a message of more than %d values", mostValues)
		}
		if inner := s[number]; inner != nil {
			if err := m.message(inner, value, depth+1); err != nil {
				return err
			}
		}
	}
	return nil
}
