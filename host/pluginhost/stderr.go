package pluginhost

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/agenthistory/ctx/host/internal/onscreen"
)

const (
	stderrLine  = 1 << 10 // bytes of a line that are kept
	stderrLines = 500     // lines of one plugin that are kept
)

// stderrLog passes on what a plugin prints, one write for each line, with time and name in front. A chatty plugin is cut off.
type stderrLog struct {
	name  string
	out   io.Writer
	mutex sync.Mutex
	line  []byte
	cut   bool
	lines int
}

// Write takes pieces of any size. It never fails: a log that can not be written must not stop a plugin.
func (s *stderrLog) Write(p []byte) (int, error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	full := len(p)
	for len(p) > 0 && s.lines < stderrLines {
		end := bytes.IndexByte(p, '\n')
		piece := p
		if end >= 0 {
			piece = p[:end]
		}
		if room := stderrLine - len(s.line); len(piece) > room {
			piece, s.cut = piece[:room], true
		}
		s.line = append(s.line, piece...)
		if end < 0 {
			break
		}
		s.flush()
		p = p[end+1:]
	}
	return full, nil
}

// close writes the last line, which may have no line feed.
func (s *stderrLog) close() {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if len(s.line) > 0 {
		s.flush()
	}
}

func (s *stderrLog) flush() {
	text := onscreen.Plain(string(s.line), stderrLine)
	if s.cut {
		text += " [...]"
	}
	s.line, s.cut = s.line[:0], false
	if s.lines++; s.lines == stderrLines {
		text = "further output is left out"
	}
	if s.out != nil && strings.TrimSpace(text) != "" {
		fmt.Fprintf(s.out, "%s [PLUGIN] %s: %s\n", time.Now().UTC().Format("2006-01-02T15:04:05.000Z"), s.name, text)
	}
}
