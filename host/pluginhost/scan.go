package pluginhost

import (
	"context"
	"errors"
	"io"
	"sync"

	"google.golang.org/grpc"

	"github.com/agenthistory/ctx/sdkplugin/historyv1"
)

// scanStream is one Scan call. The sender adds sources, the receiver follows what the plugin says about them.
type scanStream struct {
	plugin *Plugin
	stream grpc.BidiStreamingClient[historyv1.ScanSource, historyv1.ScanMessage]
	watch  *watcher

	mutex   sync.Mutex
	sources map[uint32]*scanned
	open    int  // sources that the plugin has not ended
	sent    bool // no more sources will come

	stopped error // of the caller, who ends the scan
}

// mostDropped bounds how long a refused source is listened to.
const mostDropped = 100_000

// Scan reads sources. It sends what next gives until next reports false, and calls on with every message, in the order of the
// plugin; each of the two is called from one goroutine, and neither after Scan has returned. next must not block for longer than
// the caller's context lives. Messages belong to on, which may keep them.
//
// A source that breaks a rule ends with a SourceFailure of class internal that is made here. An error of on ends the scan and is
// returned as it is; any other error is a *fault.Error, and sources without an end are then to be discarded.
func (p *Plugin) Scan(ctx context.Context, next func() (*historyv1.ScanSource, bool), on func(*historyv1.ScanMessage) error) error {
	call, watch := p.watch(ctx, "the scan")
	defer watch.stop()
	stream, err := p.client.Scan(call)
	if err != nil {
		return p.callError(ctx, "the scan", err)
	}
	s := &scanStream{plugin: p, stream: stream, watch: watch, sources: map[uint32]*scanned{}}
	watch.expect(false)
	sending := make(chan error, 1)
	go func() { sending <- s.send(call, next) }()
	err = s.receive(on)
	watch.cancel()
	sendErr := <-sending
	switch {
	case s.stopped != nil:
		return s.stopped
	case sendErr != nil:
		return sendErr
	case err != nil:
		return p.callError(ctx, "the scan", err)
	}
	return nil
}

// send passes sources on. Errors of the stream itself reach the receiver, so only those of the caller are returned.
func (s *scanStream) send(call context.Context, next func() (*historyv1.ScanSource, bool)) error {
	for call.Err() == nil {
		source, more := next()
		if !more {
			break
		}
		if !s.add(source) {
			s.watch.cancel()
			return failure(s.plugin.name, Refused, nil, "the scan was given one ordinal twice")
		}
		if s.stream.Send(source) != nil {
			return nil
		}
	}
	s.mutex.Lock()
	s.sent = true
	s.mutex.Unlock()
	s.watch.expect(true)
	_ = s.stream.CloseSend()
	return nil
}

func (s *scanStream) add(source *historyv1.ScanSource) bool {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.sources[source.GetOrdinal()] != nil {
		return false
	}
	s.sources[source.GetOrdinal()] = &scanned{ordinal: source.GetOrdinal(), asked: source.GetMode()}
	s.open++
	s.watch.expect(true)
	return true
}

func (s *scanStream) receive(on func(*historyv1.ScanMessage) error) error {
	for {
		s.watch.wait(true)
		m, err := s.stream.Recv()
		s.watch.wait(false)
		if errors.Is(err, io.EOF) {
			return s.finished()
		}
		if err != nil {
			return err
		}
		source, err := s.find(m)
		if err != nil {
			return err
		}
		wasRefused := source.refused
		if err := source.message(m, &s.plugin.limits); err != nil {
			source.refused = true
			m = refusal(source.ordinal, err)
		}
		if source.over {
			s.close(source)
		}
		if wasRefused {
			if source.dropped++; source.dropped > mostDropped {
				return brokenf("a refused source that does not end")
			}
			continue
		}
		if s.stopped = on(m); s.stopped != nil {
			return s.stopped
		}
	}
}

// find returns the source that a message is about. A message about no open source means that the stream can not be followed.
func (s *scanStream) find(m *historyv1.ScanMessage) (*scanned, error) {
	if m.GetMessage() == nil {
		return nil, brokenf("a message without content in a scan")
	}
	// One of the four is there; the others say 0.
	ordinal := m.GetBegin().GetSource() | m.GetBatch().GetSource() | m.GetEnd().GetSource() | m.GetFailure().GetSource()
	s.mutex.Lock()
	defer s.mutex.Unlock()
	source := s.sources[ordinal]
	if source == nil {
		return nil, brokenf("a message about a source that was not asked for")
	}
	if source.over {
		return nil, brokenf("a message about a source that has ended")
	}
	return source, nil
}

// close forgets the sessions of a source that is over.
func (s *scanStream) close(source *scanned) {
	source.last = nil
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.open--
	if s.open == 0 && !s.sent {
		s.watch.expect(false)
	}
}

func (s *scanStream) finished() error {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.open > 0 || !s.sent {
		return brokenf("a scan that ended with %d sources open", s.open)
	}
	return nil
}

// refusal is the failure that takes the place of a message that breaks a rule.
func refusal(ordinal uint32, err error) *historyv1.ScanMessage {
	return &historyv1.ScanMessage{Message: &historyv1.ScanMessage_Failure{Failure: &historyv1.SourceFailure{
		Source: ordinal, Class: "internal", Message: "the provider broke the protocol: " + err.Error(),
	}}}
}
