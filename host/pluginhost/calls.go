package pluginhost

import (
	"context"
	"errors"
	"io"
	"maps"
	"slices"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

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
	req = proto.CloneOf(req)
	maps.DeleteFunc(req.Environment, func(name, _ string) bool {
		return SecretName(name) || !slices.Contains(p.descriptor.GetEnvironment(), name)
	})
	answer, err := p.client.Resolve(limited, req, grpc.MaxCallRecvMsgSize(mostDescribed))
	if err == nil {
		err = checkResolved(answer)
	}
	if err != nil {
		return nil, p.callError(ctx, "finding its locations", err)
	}
	return answer, nil
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
			if check.end != nil {
				return check.end, nil
			}
			err = brokenf("an inventory without an end")
		} else if err == nil {
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

// watcher ends the plugin when a call waits too long for a message. The time in which the host is busy, or the plugin has nothing
// to do, does not count.
type watcher struct {
	cancel context.CancelFunc
	limit  time.Duration
	mutex  sync.Mutex
	timer  *time.Timer
	waits  bool // the call waits for a message
	owes   bool // the plugin has something to do
}

// watch derives the context of a call: it ends with the caller's, and with the plugin.
func (p *Plugin) watch(ctx context.Context, what string) (context.Context, *watcher) {
	call, cancel := context.WithCancel(ctx)
	detach := context.AfterFunc(p.life, cancel)
	w := &watcher{cancel: func() { detach(); cancel() }, limit: p.limits.Inactivity, owes: true}
	w.timer = time.AfterFunc(time.Hour, func() {
		_ = p.end(failure(p.name, TimedOut, nil, "%s made no progress for %s", what, p.limits.Inactivity))
	})
	w.timer.Stop()
	return call, w
}

func (w *watcher) wait(waits bool)  { w.set(waits, &w.waits) }
func (w *watcher) expect(owes bool) { w.set(owes, &w.owes) }

func (w *watcher) set(value bool, what *bool) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	before := w.waits && w.owes
	*what = value
	switch now := w.waits && w.owes; {
	case !now:
		w.timer.Stop()
	case !before:
		w.timer.Reset(w.limit)
	}
}

func (w *watcher) stop() {
	w.wait(false)
	w.cancel()
}
