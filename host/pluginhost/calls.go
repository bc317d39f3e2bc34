package pluginhost

import (
	"context"
	"errors"
	"io"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"

	"github.com/agenthistory/ctx/sdkplugin"
	"github.com/agenthistory/ctx/sdkplugin/historyv1"
)

// Limits of static data, in bytes of the encoded answer.
const mostDescribed = 1 << 20

func (p *Plugin) describe(ctx context.Context, version string) (*historyv1.DescribeResponse, error) {
	limited, cancel := context.WithTimeout(ctx, p.limits.Describe)
	defer cancel()
	d, err := p.client.Describe(limited, &historyv1.DescribeRequest{ProtocolVersion: sdkplugin.ProtocolVersion, HostVersion: version},
		grpc.MaxCallRecvMsgSize(mostDescribed))
	if err == nil {
		err = checkDescription(d)
	}
	if err != nil {
		return nil, p.callError(ctx, "the description", err)
	}
	return d, nil
}

// Resolve asks for locations that are not declared. Of the variables in the request the plugin gets those that it declared and
// whose names do not look like secrets.
func (p *Plugin) Resolve(ctx context.Context, req *historyv1.ResolveRequest) (*historyv1.ResolveResponse, error) {
	if !p.descriptor.GetResolves() {
		return &historyv1.ResolveResponse{}, nil
	}
	limited, cancel := context.WithTimeout(ctx, p.limits.Resolve)
	defer cancel()
	answer, err := p.client.Resolve(limited, p.filtered(req), grpc.MaxCallRecvMsgSize(mostDescribed))
	if err == nil {
		err = checkResolved(answer)
	}
	if err != nil {
		return nil, p.callError(ctx, "finding its locations", err)
	}
	return answer, nil
}

func (p *Plugin) filtered(req *historyv1.ResolveRequest) *historyv1.ResolveRequest {
	out := &historyv1.ResolveRequest{
		Home: req.GetHome(), Cwd: req.GetCwd(), Uid: req.GetUid(), Platform: req.GetPlatform(), DataDir: req.GetDataDir(),
		ConfigDir: req.GetConfigDir(), StateDir: req.GetStateDir(), LocalDataDir: req.GetLocalDataDir(), Environment: map[string]string{},
	}
	for _, name := range p.descriptor.GetEnvironment() {
		if value, set := req.GetEnvironment()[name]; set && !SecretName(name) {
			out.Environment[name] = value
		}
	}
	return out
}

// Inventory lists the sources of the routes in the request. each gets every source in the order of the plugin and keeps it; an
// error of each ends the call and is returned as it is.
func (p *Plugin) Inventory(ctx context.Context, req *historyv1.InventoryRequest, each func(*historyv1.Source) error) (*historyv1.InventoryEnd, error) {
	call, watch := p.watch(ctx, "the inventory")
	defer watch.stop()
	check := newInventoryCheck(req)
	stream, err := p.client.Inventory(call, req)
	if err != nil {
		return nil, p.callError(ctx, "the inventory", err)
	}
	for {
		watch.wait(true)
		m, err := stream.Recv()
		watch.wait(false)
		if errors.Is(err, io.EOF) {
			err = check.finish()
			if err == nil {
				return check.end, nil
			}
		}
		if err == nil {
			err = check.message(m)
		}
		if err != nil {
			return nil, p.callError(ctx, "the inventory", err)
		}
		for _, source := range m.GetSources().GetSources() {
			if err := each(source); err != nil {
				return nil, err
			}
		}
	}
}

// watcher ends the plugin when a call waits too long for a message.
type watcher struct {
	cancel  context.CancelFunc
	since   atomic.Int64 // when the call began to wait, in ns; 0 = it does not wait
	done    chan struct{}
	expects atomic.Bool // whether the plugin owes a message at all
}

// watch derives the context of a call: it ends with the caller's, and with the plugin.
func (p *Plugin) watch(ctx context.Context, what string) (context.Context, *watcher) {
	call, cancel := context.WithCancel(ctx)
	w := &watcher{cancel: cancel, done: make(chan struct{})}
	w.expects.Store(true)
	interval := min(p.limits.Inactivity/4, time.Second)
	go func() {
		ticker := time.NewTicker(max(interval, time.Millisecond))
		defer ticker.Stop()
		for {
			select {
			case <-w.done:
				return
			case <-p.fated:
				cancel()
				return
			case now := <-ticker.C:
				since := w.since.Load()
				if since != 0 && w.expects.Load() && now.UnixNano()-since > int64(p.limits.Inactivity) {
					_ = p.end(failure(p.name, TimedOut, nil, "%s made no progress for %s", what, p.limits.Inactivity))
				}
			}
		}
	}()
	return call, w
}

// wait says whether the call waits for the plugin from now on. The time in which the host is busy does not count.
func (w *watcher) wait(waiting bool) {
	if waiting {
		w.since.Store(time.Now().UnixNano())
	} else {
		w.since.Store(0)
	}
}

// expect says whether the plugin has anything to do.
func (w *watcher) expect(something bool) {
	if !w.expects.Swap(something) && something && w.since.Load() != 0 {
		w.since.Store(time.Now().UnixNano())
	}
}

func (w *watcher) stop() {
	close(w.done)
	w.cancel()
}
