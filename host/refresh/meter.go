package refresh

import (
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode"
)

// meterInterval is the least time between two progress events.
const meterInterval = 100 * time.Millisecond

// maxShownSource bounds the name of the current source in characters.
const maxShownSource = 256

// meter counts what a run does and tells it to a sink. All counters may be used from any goroutine; the sink is called from
// one at a time.
type meter struct {
	sink    func(Progress)
	started time.Time
	request *Request

	stage                           atomic.Value // string
	current                         atomic.Value // string
	bytes, totalBytes               atomic.Uint64
	files, totalFiles               atomic.Uint64
	events, sessions, calls, spoken atomic.Uint64
	planned                         atomic.Bool // the totals are known
	histories                       []string    // set before planned
	began                           time.Time   // of reading; set before planned

	stop chan struct{}
	done sync.WaitGroup
}

func newMeter(req *Request) *meter {
	m := &meter{sink: req.Progress, started: time.Now(), request: req, stop: make(chan struct{})}
	m.stage.Store(StagePreparing)
	m.current.Store("")
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
	m.stage.Store(StageComplete)
	if failed {
		m.stage.Store(StageFailed)
	}
	m.sink(m.event(true))
}

func (m *meter) enter(stage string) { m.stage.Store(stage) }

// plan announces how much there is to read.
func (m *meter) plan(files, bytes uint64, histories []string) {
	m.totalFiles.Store(files)
	m.totalBytes.Store(bytes)
	m.histories, m.began = histories, time.Now()
	m.planned.Store(true)
	m.enter(StageReading)
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
	m.current.Store(shown)
}

// read counts a source that has ended, with the bytes that were not reported one by one.
func (m *meter) read(s *scan) {
	m.bytes.Add(s.todo - s.read)
	s.read = s.todo
	m.files.Add(1)
}

func (m *meter) event(done bool) Progress {
	stage := m.stage.Load().(string)
	elapsed := time.Since(m.started)
	p := Progress{
		Type: "ctx_progress", Operation: "import", Phase: stage, Message: stageMessages[stage], Done: done, Stage: stage,
		CompletedBytes: m.bytes.Load(), Bytes: m.bytes.Load(), CompletedSource: m.files.Load(), Sessions: m.sessions.Load(),
		Messages: m.spoken.Load(), ToolCalls: m.calls.Load(), ElapsedSeconds: elapsed.Seconds(),
		ElapsedMillis: uint64(elapsed.Milliseconds()), AgentHistories: []string{}, TotalKnown: m.planned.Load(),
	}
	if m.request.Trigger == "setup" {
		p.Operation = "setup"
	}
	if !p.TotalKnown {
		return p
	}
	total, files, events := m.totalBytes.Load(), m.totalFiles.Load(), m.events.Load()
	p.CompletedBytes = min(p.CompletedBytes, total)
	p.TotalBytes, p.TotalSources, p.TotalFiles, p.CompletedFiles, p.ImportedEvents = total, files, &files, &p.CompletedSource, &events
	p.AgentHistories = append(p.AgentHistories, m.histories...)
	if total > 0 {
		p.Percent = 100 * float64(p.CompletedBytes) / float64(total)
		if done && stage == StageComplete {
			p.Percent = 100
		}
		// The rate is that of reading alone, and none is told before there is one.
		if reading := time.Since(m.began).Seconds(); p.CompletedBytes > 0 && reading >= 1 && stage == StageReading {
			left := reading * float64(total-p.CompletedBytes) / float64(p.CompletedBytes)
			millis := uint64(left * 1000)
			p.ETASeconds, p.RemainingMillis = &left, &millis
		}
	}
	if name := m.current.Load().(string); name != "" && stage == StageReading {
		p.CurrentSource = &name
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
