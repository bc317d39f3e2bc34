package claude

import (
	"bytes"

	"github.com/agenthistory/ctx/sdkplugin/canonical"
)

// blockKind says what a block of message.content gives.
type blockKind uint8

const (
	silentBlock  blockKind = iota // thinking, images, documents and unknown ones: no event, never copied
	textBlock                     // a part of the record's text
	callBlock                     // a tool call
	resultBlock                   // the result of a tool call
	serverResult                  // the result of a call that the API ran itself
)

func kindOf(typ []byte) blockKind {
	switch string(typ) {
	case "text":
		return textBlock
	case "tool_use", "server_tool_use", "mcp_tool_use":
		return callBlock
	case "tool_result":
		return resultBlock
	}
	if bytes.HasSuffix(typ, []byte("_tool_result")) {
		return serverResult
	}
	return silentBlock
}

// channel is a part of a block that a repeated key makes unreadable.
type channel uint8

const (
	callIDChannel channel = 1 << iota
	toolNameChannel
	argumentsChannel
	contentChannel
	mcpChannel
	otherChannel // the type: only the structured copy suffers
)

// block is one block with the members that anything looks at, each the last one of its name.
type block struct {
	v    canonical.Value
	kind blockKind

	typ, id, name, text     canonical.Value
	input, content, isError canonical.Value
	callIDs                 [3]canonical.Value // of the call that a result belongs to, by strength
	protocol, server, tool  canonical.Value

	// repeated holds the channels whose key stands twice; not zero withholds the structured copy.
	repeated channel
	seen     uint32
}

// read takes the members of a block and checks their types. A defect is the reason to reject the record.
func (b *block) read(v canonical.Value) (defect string) {
	*b = block{v: v}
	for key, m := range v.Each {
		b.member(key, m)
	}
	b.kind = kindOf(b.typ.Str())
	idLimit := maxField
	if b.kind == callBlock {
		idLimit = maxCallID
	}
	switch {
	case !fits(b.typ, maxField):
		return "block type is no short string"
	case !fits(b.id, idLimit):
		return "block id is no short string"
	case !fits(b.name, maxField):
		return "block name is no short string"
	case !b.text.IsNull() && !b.text.IsString():
		return "block text is no string"
	case !fits(b.callIDs[0], maxCallID) || !fits(b.callIDs[1], maxCallID) || !fits(b.callIDs[2], maxCallID):
		return "call id is no short string"
	}
	return ""
}

func (b *block) member(key []byte, v canonical.Value) {
	switch string(key) {
	case "type":
		b.typ = v
		b.once(0, otherChannel)
	case "id":
		b.id = v
		b.once(1, callIDChannel)
	case "tool_use_id":
		b.callIDs[0] = v
		b.once(2, callIDChannel)
	case "name":
		b.name = v
		b.once(3, toolNameChannel)
	case "input":
		b.input = v
		b.once(4, argumentsChannel)
	case "content":
		b.content = v
		b.once(5, contentChannel)
	case "text":
		b.text = v
	case "is_error":
		b.isError = v
	case "toolUseId":
		b.callIDs[1] = v
		b.once(6, callIDChannel)
	case "toolCallId":
		b.callIDs[2] = v
		b.once(7, callIDChannel)
	case "arguments":
		b.once(8, argumentsChannel)
	case "args":
		b.once(9, argumentsChannel)
	case "result":
		b.once(10, contentChannel)
	case "output":
		b.once(11, contentChannel)
	case "protocol":
		b.protocol = v
		b.once(12, mcpChannel)
	case "server":
		b.server = v
		b.once(13, mcpChannel)
	case "tool":
		b.tool = v
		b.once(14, mcpChannel)
	}
}

// once notes a key by its number; the second time its channel is unreadable.
func (b *block) once(key uint, c channel) {
	if b.seen&(1<<key) != 0 {
		b.repeated |= c
	}
	b.seen |= 1 << key
}

// lost tells whether a repeated key makes a channel unreadable.
func (b *block) lost(c channel) bool { return b.repeated&c != 0 }

// resultCallID returns the id of the call that a result belongs to, exactly as written; empty if unknown.
func (b *block) resultCallID() []byte {
	if b.lost(callIDChannel) {
		return nil
	}
	for _, v := range b.callIDs {
		if id := v.Str(); len(id) > 0 {
			return id
		}
	}
	return nil
}

// mcp returns server and tool of a call that names its MCP identity itself, each on its own. A joined name is never split.
func (b *block) mcp() (server, tool []byte, ok bool) {
	if b.lost(mcpChannel) || !b.protocol.StrEquals("mcp") {
		return nil, nil, false
	}
	server, tool = b.server.Str(), b.tool.Str()
	return server, tool, len(server) > 0 && len(tool) > 0
}

// outline is the content of a message sorted by what it gives.
type outline struct {
	texts         []canonical.Value // not blank
	calls         []block
	results       []block // innermost first where they nest
	serverResults []block
	textBytes     int
}

func (o *outline) reset() {
	o.texts, o.calls, o.results, o.serverResults = o.texts[:0], o.calls[:0], o.results[:0], o.serverResults[:0]
	o.textBytes = 0
}

// read sorts the content of a message: a string, blocks, or one block. A defect is the reason to reject the record.
func (o *outline) read(content canonical.Value) (defect string) {
	o.reset()
	switch content.Kind() {
	case canonical.String:
		o.addText(content)
	case canonical.Object:
		return o.block(content)
	case canonical.Array:
		for element := range content.Elems {
			if !element.IsObject() {
				continue
			}
			if defect = o.block(element); defect != "" {
				return defect
			}
		}
	}
	return ""
}

func (o *outline) block(v canonical.Value) (defect string) {
	var b block
	if defect = b.read(v); defect != "" {
		return defect
	}
	if defect = o.nested(b.content); defect != "" {
		return defect
	}
	switch b.kind {
	case textBlock:
		if b.text.IsString() {
			o.addText(b.text)
		}
	case callBlock:
		o.calls = append(o.calls, b)
	case resultBlock:
		o.results = append(o.results, b)
	case serverResult:
		o.serverResults = append(o.serverResults, b)
	}
	return ""
}

// nested looks for tool results inside the content of a block.
func (o *outline) nested(content canonical.Value) (defect string) {
	for element := range content.Elems {
		if !element.IsObject() {
			continue
		}
		if inner := element.Get("content"); inner.IsArray() {
			if defect = o.nested(inner); defect != "" {
				return defect
			}
		}
		if kindOf(element.Get("type").Str()) != resultBlock {
			continue
		}
		var b block
		if defect = b.read(element); defect != "" {
			return defect
		}
		o.results = append(o.results, b)
	}
	return ""
}

func (o *outline) addText(v canonical.Value) {
	text := v.Str()
	if blank(text) {
		return
	}
	o.texts = append(o.texts, v)
	o.textBytes += len(text) + 1
}

// blank tells whether a text is empty or white space only.
func blank(text []byte) bool { return len(bytes.TrimSpace(text)) == 0 }
