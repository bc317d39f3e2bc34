package mcp

import (
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// maxID is the most bytes that the encoded form of a string id may have.
const maxID = 65_536

// codeNotInitialized answers requests before initialize.
const codeNotInitialized = -32002

// request is a message of the client with its members as they were sent.
type request struct {
	id     json.RawMessage // nil: a notification
	method string
	params json.RawMessage // an object
}

// protocolError is an answer on the level of the protocol.
type protocolError struct {
	code    int
	message string
	detail  string          // data.error, "" for none
	id      json.RawMessage // nil: null
	tool    string          // set where a call of this tool is refused, which counts as a call
}

func (e *protocolError) Error() string { return e.message }

var messages = map[int]string{
	jsonrpc.CodeParseError: "Parse error", jsonrpc.CodeInvalidRequest: "Invalid Request", jsonrpc.CodeMethodNotFound: "Method not found",
	jsonrpc.CodeInvalidParams: "Invalid params", jsonrpc.CodeInternalError: "Internal error", codeNotInitialized: "Server not initialized",
}

func refuse(code int, id json.RawMessage, format string, args ...any) *protocolError {
	return &protocolError{code: code, message: messages[code], detail: fmt.Sprintf(format, args...), id: id}
}

// line is the whole answer. The detail goes when it is too long for a line; the id always stays.
func (e *protocolError) line() []byte {
	line := e.append(nil)
	if len(line) > maxLine && e.detail != "" {
		short := *e
		short.detail = ""
		line = short.append(nil)
	}
	return line
}

func (e *protocolError) append(dst []byte) []byte {
	id := e.id
	if id == nil {
		id = json.RawMessage("null")
	}
	dst = append(dst, `{"jsonrpc":"2.0","id":`...)
	dst = append(dst, id...)
	dst = fmt.Appendf(dst, `,"error":{"code":%d,"message":`, e.code)
	dst = appendString(dst, e.message)
	if e.detail != "" {
		dst = append(dst, `,"data":{"error":`...)
		dst = append(appendString(dst, e.detail), '}')
	}
	return append(dst, "}}\n"...)
}

// parse reads the envelope of a message. The first failure wins; its order is that of the contract.
func parse(line []byte) (request, *protocolError) {
	var r request
	if !utf8.Valid(line) {
		return r, refuse(jsonrpc.CodeParseError, nil, "the message is not valid UTF-8")
	}
	var members map[string]json.RawMessage
	err := json.Unmarshal(line, &members)
	var other *json.UnmarshalTypeError
	switch {
	case errors.As(err, &other), err == nil && members == nil:
		return r, refuse(jsonrpc.CodeInvalidRequest, nil, "")
	case err != nil:
		return r, refuse(jsonrpc.CodeParseError, nil, "%v", err)
	}
	if id, given := members["id"]; given {
		if !validID(id) {
			return r, refuse(jsonrpc.CodeInvalidRequest, nil, "")
		}
		r.id = id
	}
	var version string
	if json.Unmarshal(members["jsonrpc"], &version) != nil || version != "2.0" {
		return r, refuse(jsonrpc.CodeInvalidRequest, r.id, "")
	}
	if m := members["method"]; !isString(m) || json.Unmarshal(m, &r.method) != nil {
		return r, refuse(jsonrpc.CodeInvalidRequest, r.id, "")
	}
	params, given := members["params"]
	switch {
	case !given:
		r.params = json.RawMessage("{}")
	case params[0] == '{':
		r.params = params
	case r.id != nil: // a notification gets no answer
		return r, refuse(jsonrpc.CodeInvalidParams, r.id, "params must be an object")
	}
	return r, nil
}

func isString(raw json.RawMessage) bool { return len(raw) > 0 && raw[0] == '"' }

// validID accepts numbers, and strings whose encoded form is not too long.
func validID(raw json.RawMessage) bool {
	if isString(raw) {
		var text string
		return json.Unmarshal(raw, &text) == nil && quotedLen(text) <= maxID
	}
	c := raw[0]
	return c == '-' || '0' <= c && c <= '9'
}

// idKey is equal for ids that are equal: numbers by their literal, strings by their content.
func idKey(raw json.RawMessage) string {
	if !isString(raw) {
		return string(raw)
	}
	var text string
	if json.Unmarshal(raw, &text) != nil {
		return ""
	}
	return `"` + text
}
