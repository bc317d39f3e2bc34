package mcp

import (
	"context"
	"encoding/json"
	"maps"

	"github.com/agenthistory/ctx/host/fault"
	"github.com/agenthistory/ctx/host/internal/plain"
)

func (s *Server) status(ctx context.Context, _ arguments, _ *frame) (*answer, error) {
	report, err := s.Status(ctx)
	if err != nil {
		return withoutSettings(err, report)
	}
	structured, err := plain.JSON(report)
	if err != nil {
		return nil, err
	}
	return &answer{text: statusText(structured), structured: structured}, nil
}

func (s *Server) sources(ctx context.Context, _ arguments, _ *frame) (*answer, error) {
	listing, err := s.Sources(ctx)
	if err != nil {
		return withoutSettings(err, listing)
	}
	structured, err := plain.JSON(listing)
	if err != nil {
		return nil, err
	}
	var object map[string]json.RawMessage
	if err := json.Unmarshal(structured, &object); err != nil {
		return nil, err
	}
	object["read_only"] = json.RawMessage("true")
	if structured, err = plain.JSON(object); err != nil {
		return nil, err
	}
	var rows []json.RawMessage
	if err := json.Unmarshal(object["sources"], &rows); err != nil {
		return nil, err
	}
	return &answer{text: sourcesText(rows), structured: structured, rows: new(len(rows))}, nil
}

// withoutSettings is the failure of a tool that needs the settings, with what it can tell without them. It never repeats what the file
// says or where it is.
func withoutSettings(err error, known any) (*answer, error) {
	if fault.Code(err) != fault.ConfigMalformed {
		return nil, err
	}
	const message = "the configuration cannot be used"
	object := map[string]any{"error": message, "error_code": fault.Internal}
	if members, ok := known.(map[string]any); ok {
		maps.Copy(object, members)
	}
	return failed(fault.Internal, fault.Internal+": "+message, object), nil
}
