package pluginhost

import (
	"sync/atomic"

	"google.golang.org/grpc/encoding"
	_ "google.golang.org/grpc/encoding/proto" // registers the codec that is wrapped
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
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
	err := m.message(message.ProtoReflect().Descriptor().Fields(), bytes, 0)
	if err == nil {
		err = proto.UnmarshalOptions{DiscardUnknown: true}.Unmarshal(bytes, message)
	}
	if err != nil {
		c.broken.CompareAndSwap(nil, &err)
	}
	return err
}

// measure counts the parts of a message on the wire.
type measure struct{ parts, values int }

func (m *measure) message(fields protoreflect.FieldDescriptors, b []byte, depth int) error {
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
		if f := fields.ByNumber(number); f != nil && f.Kind() == protoreflect.MessageKind {
			if err := m.message(f.Message().Fields(), value, depth+1); err != nil {
				return err
			}
		}
	}
	return nil
}
