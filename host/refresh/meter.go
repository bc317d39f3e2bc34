package refresh

import (
	"strings"
	"sync"
	"time"
	"unicode"
)

// meterInterval is the least time between two progress events.
const meterInterval = 100 * time.Millisecond

// maxShownSource bounds the name of the current source in characters.
const maxShownSource = 256

// meter counts what a run does and tells it to a sink, which is called from one goroutine at a time.
type meter struct {
	sink    func(Progress)
	started time.Time
	request *Request

	mu      sync.Mutex
	p       Progress // what is counted; event adds what follows from it
	events  uint64
	current string
	began   time.Time // of reading

	stop chan struct{}
	done sync.WaitGroup
}

func newMeter(req *Request) *meter {
	m := &meter{sink: req.Progress, started: time.Now(), request: req, stop: make(chan struct{})}
	m.restart()
	if m.sink == nil {
		return m
	}
	m.sink(m.event(false))
	m.done.Go(func() {
		tick := time.NewTicker(meterInterval)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				m.sink(m.event(false))
			case <-m.stop:
				return
			}
		}
	})
	return m
}

// finish ends the stream with a last event. It may be called once.
func (m *meter) finish(failed bool) {
	close(m.stop)
	m.done.Wait()
	if m.sink == nil {
		return
	}
	m.enter(StageComplete)
	if failed {
		m.enter(StageFailed)
	}
	m.sink(m.event(true))
}

// restart forgets what an attempt read that is given up.
func (m *meter) restart() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.p, m.events, m.current = Progress{Type: "ctx_progress", Operation: "import", Stage: StagePreparing, AgentHistories: []string{}}, 0, ""
	if m.request.Trigger == "setup" {
		m.p.Operation = "setup"
	}
}

// reread counts a source anew that is read again in full.
func (m *meter) reread(s *scan, todo uint64) {
	m.count(func(p *Progress) {
		p.Bytes -= s.read
		p.TotalBytes += todo - s.todo
	})
}

// count changes what is counted.
func (m *meter) count(change func(p *Progress)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	change(&m.p)
}

func (m *meter) enter(stage string) { m.count(func(p *Progress) { p.Stage = stage }) }

// plan announces how much there is to read.
func (m *meter) plan(files, bytes uint64, histories []string) {
	m.count(func(p *Progress) {
		p.TotalSources, p.TotalBytes, p.TotalKnown, p.Stage = files, bytes, true, StageReading
		p.AgentHistories = append([]string{}, histories...)
		m.began = time.Now()
	})
}

func (m *meter) reading(source string) {
	shown := strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return -1
		}
		return r
	}, source)
	if r := []rune(shown); len(r) > maxShownSource {
		shown = "…" + string(r[len(r)-maxShownSource+1:])
	}
	m.count(func(*Progress) { m.current = shown })
}

// read counts a source that has ended, with the bytes that were not reported one by one.
func (m *meter) read(s *scan) {
	m.count(func(p *Progress) {
		p.Bytes += s.todo - s.read
		p.CompletedSource++
	})
	s.read = s.todo
}

func (m *meter) event(done bool) Progress {
	m.mu.Lock()
	p, events, current, began := m.p, m.events, m.current, m.began
	m.mu.Unlock()
	elapsed := time.Since(m.started)
	p.Phase, p.Message, p.Done, p.CompletedBytes = p.Stage, stageMessages[p.Stage], done, p.Bytes
	p.ElapsedSeconds, p.ElapsedMillis = elapsed.Seconds(), uint64(elapsed.Milliseconds())
	if !p.TotalKnown {
		return p
	}
	files, read := p.TotalSources, p.CompletedSource
	p.TotalFiles, p.CompletedFiles, p.ImportedEvents = &files, &read, &events
	p.CompletedBytes = min(p.CompletedBytes, p.TotalBytes)
	if total := p.TotalBytes; total > 0 {
		p.Percent = 100 * float64(p.CompletedBytes) / float64(total)
		if done && p.Stage == StageComplete {
			p.Percent = 100
		}
		// The rate is that of reading alone, and none is told before there is one.
		if reading := time.Since(began).Seconds(); p.CompletedBytes > 0 && reading >= 1 && p.Stage == StageReading {
			left := reading * float64(total-p.CompletedBytes) / float64(p.CompletedBytes)
			millis := uint64(left * 1000)
			p.ETASeconds, p.RemainingMillis = &left, &millis
		}
	}
	if current != "" && p.Stage == StageReading {
		p.CurrentSource = &current
		p.SourceProgress = &Step{Stage: "parsing"}
	}
	return p
}

var stageMessages = map[string]string{
	StagePreparing: "looking for new history",
	StageReading:   "reading history",
	StageMerging:   "writing the index",
	StageSyncing:   "making the index durable",
	StagePhysical:  "checking the files of the index",
	StageLogical:   "checking the content of the index",
	StageActivate:  "switching to the new index",
	StageComplete:  "done",
	StageFailed:    "failed",
}
