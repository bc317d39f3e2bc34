package codex

import (
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/agenthistory/ctx/sdkplugin"
)

// counting is a sink that only counts.
type counting struct {
	recorder
	given int
}

func (c *counting) Session(s sdkplugin.Session) (uint32, error) { return 0, nil }
func (c *counting) Event(e *sdkplugin.Event) error              { c.given++; return e.Validate() }

// usual is a rollout of about size bytes with the mixture of lines that sessions have: prompts, answers, reasoning, calls with
// outputs of some kilobytes, token counts.
func usual(size int) string {
	var b strings.Builder
	b.WriteString(meta0(u1) + "\n")
	source := strings.Repeat("\tif err := run(ctx, \"step\"); err != nil {\n\t\treturn fmt.Errorf(\"step: %w\", err)\n\t}\n", 40)
	for i := 0; b.Len() < size; i++ {
		id := fmt.Sprintf("call_%d", i)
		for _, text := range []string{
			event(`{"type":"token_count","info":{"total_token_usage":{"input_tokens":1234,"cached_input_tokens":120,"output_tokens":55}},"rate_limits":null}`),
			item(fmt.Sprintf(`{"type":"reasoning","summary":[{"type":"summary_text","text":"**Step %d** looking at the file"}],"content":null,"encrypted_content":%q}`, i, strings.Repeat("gAAAA", 200))),
			call(id, "exec_command", fmt.Sprintf(`{"cmd":"sed -n '1,%dp' src/file%d.go","workdir":"/w/project"}`, i, i)),
			output(id, fmt.Sprintf("Chunk ID: %06x\nWall time: 0.05 seconds\nProcess exited with code 0\nOutput:\n%s", i%0xffffff, source[:200+i*37%(len(source)-200)])),
			event(fmt.Sprintf(`{"type":"agent_message","message":"step %d is done"}`, i)), say("assistant", fmt.Sprintf("step %d is done", i)),
		} {
			b.WriteString(text + "\n")
		}
	}
	return b.String()
}

// BenchmarkScan reads one rollout on one processor, with its digest and all keys, without a host: the file that
// CTX_CODEX_ROLLOUT names, else an invented one of 64 MiB.
func BenchmarkScan(b *testing.B) {
	h := newHome(b)
	if name := os.Getenv("CTX_CODEX_ROLLOUT"); name != "" {
		content, err := os.ReadFile(name)
		if err != nil {
			b.Fatal(err)
		}
		h.write(fileOf(u1), strings.Replace(string(content), tailUUID(stemOf(name)), u1, -1))
	} else {
		h.write(fileOf(u1), usual(64<<20))
	}
	p, s := h.source(u1)
	req := h.request(s)
	b.SetBytes(int64(s.Size))
	defer reportCPU(b, int64(s.Size), cpuTime())
	for b.Loop() {
		if err := p.scan(context.Background(), &req, &counting{}); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkHash is the bound that hashing alone sets to BenchmarkScan.
func BenchmarkHash(b *testing.B) {
	content := make([]byte, 64<<20)
	b.SetBytes(int64(len(content)))
	defer reportCPU(b, int64(len(content)), cpuTime())
	for b.Loop() {
		sha256.Sum256(content)
	}
}

// reportCPU adds the throughput of one processor.
func reportCPU(b *testing.B, size int64, start time.Duration) {
	if used := cpuTime() - start; used > 0 {
		b.ReportMetric(float64(size)*float64(b.N)/1e6/used.Seconds(), "MB/cpu-s")
	}
}

// BenchmarkInventory lists a home of 10,000 rollouts.
func BenchmarkInventory(b *testing.B) {
	h := newHome(b)
	for i := range 10000 {
		thread := fmt.Sprintf("01900000-0000-7000-8000-%012x", i)
		h.write(fmt.Sprintf("2026/01/%02d/rollout-2026-01-02T03-04-05-%s.jsonl", i%28+1, thread), lines(meta0(thread, `"source":"cli"`), say("user", "hi")))
	}
	p := &provider{}
	for b.Loop() {
		if _, err := p.list(context.Background(), h.routes()); err != nil {
			b.Fatal(err)
		}
	}
}
