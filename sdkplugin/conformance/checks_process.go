package conformance

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/agenthistory/ctx/sdkplugin"
	"github.com/agenthistory/ctx/sdkplugin/historyv1"
)

func (k *kit) manualStart(context.Context) (string, error) {
	cmd := k.command()
	var stdout bytes.Buffer
	cmd.Stdout = &stdout
	if err := cmd.Start(); err != nil {
		return "", err
	}
	err, exited := waitExit(cmd, exitTimeout)
	if !exited {
		return "", errors.New("it keeps running without a host")
	}
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		return "", errors.New("it exits with status 0")
	}
	if stdout.Len() > 0 {
		return "", fmt.Errorf("it writes to standard output: %.80q", stdout.Bytes())
	}
	return fmt.Sprintf("exit status %d", exit.ExitCode()), nil
}

func (k *kit) handshake(context.Context) (string, error) {
	began := time.Now()
	p, err := k.live()
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("protocol %d in %v", p.client.NegotiatedVersion(), time.Since(began).Round(time.Millisecond)), nil
}

func (k *kit) describe(ctx context.Context) (string, error) {
	p, err := k.live()
	if err != nil {
		return "", err
	}
	first, err := p.describe(ctx)
	if err != nil {
		return "", err
	}
	if err := describedWell(first); err != nil {
		return "", err
	}
	second, err := p.describe(ctx)
	if err != nil {
		return "", err
	}
	other, err := k.start()
	if err != nil {
		return "", err
	}
	defer other.stop()
	third, err := other.describe(ctx)
	if err != nil {
		return "", err
	}
	if !proto.Equal(first, second) {
		return "", errors.New("two calls give two descriptions")
	}
	if !proto.Equal(first, third) {
		return "", errors.New("two processes give two descriptions")
	}
	k.described = first
	return fmt.Sprintf("%s (%s), parser revision %s, %d formats", first.Id, first.DisplayName, first.ParserRevision, len(first.Formats)), nil
}

// describedWell applies the rules of the contract to what came over the wire.
func describedWell(d *historyv1.DescribeResponse) error {
	formats := map[string]bool{}
	for _, f := range d.Formats {
		formats[f.Name] = true
		if f.Name == "" || f.Leaf == "" || f.SchemaVariant == "" || f.IdentityVersion == 0 || f.Family == historyv1.Family_FAMILY_UNSPECIFIED {
			return fmt.Errorf("format %q lacks a name, leaf, schema variant, identity version or family", f.Name)
		}
	}
	switch {
	case d.Id == "" || strings.Trim(d.Id, "abcdefghijklmnopqrstuvwxyz0123456789_") != "":
		return fmt.Errorf("id %q", d.Id)
	case d.CliName == "" || d.DisplayName == "":
		return errors.New("no CLI name or display name")
	case d.ParserRevision == "":
		return errors.New("no parser revision")
	case len(d.Formats) == 0:
		return errors.New("no format")
	case len(d.Locations) == 0 && !d.Resolves && !d.NoKnownLocation:
		return errors.New("neither a location, nor Resolve, nor the statement that none is known")
	}
	for _, l := range d.Locations {
		if !formats[l.Format] || l.Role == "" {
			return fmt.Errorf("location %q: unknown format %q or no role", l.Suffix, l.Format)
		}
	}
	return nil
}

func (k *kit) noRoutes(ctx context.Context) (string, error) {
	p, err := k.live()
	if err != nil {
		return "", err
	}
	inv, err := p.inventory(ctx)
	switch {
	case err != nil:
		return "", err
	case len(inv.sources) > 0:
		return "", fmt.Errorf("%d sources out of nowhere", len(inv.sources))
	case !inv.end.Complete:
		return "", errors.New("nothing to list, and not complete")
	}
	return "", nil
}

func (k *kit) missingRoute(ctx context.Context) (string, error) {
	p, err := k.live()
	if err != nil {
		return "", err
	}
	dir, err := k.workspace()
	if err != nil {
		return "", err
	}
	inv, err := p.inventory(ctx, k.route(filepath.Join(dir, "not", "there")))
	switch {
	case err != nil:
		return "", err
	case len(inv.sources) > 0:
		return "", fmt.Errorf("%d sources out of nowhere", len(inv.sources))
	case inv.end.Complete || inv.state() == historyv1.RouteEnd_STATE_COMPLETE:
		return "", errors.New("listed as complete: all that was imported from it would count as deleted")
	case inv.state() != historyv1.RouteEnd_STATE_MISSING:
		return "", fmt.Errorf("state %v, want STATE_MISSING", inv.state())
	}
	return "", nil
}

func (k *kit) emptyRoute(ctx context.Context) (string, error) {
	if k.cfg.Fixture == nil && !k.directoryRoute() {
		return "", notRun{"the first declared route is a file"}
	}
	p, err := k.live()
	if err != nil {
		return "", err
	}
	dir, err := k.workspace()
	if err != nil {
		return "", err
	}
	inv, err := p.inventory(ctx, k.route(dir))
	switch {
	case err != nil:
		return "", err
	case len(inv.sources) > 0:
		return "", fmt.Errorf("%d sources out of nowhere", len(inv.sources))
	case !inv.end.Complete:
		return "", fmt.Errorf("not complete: state %v", inv.state())
	}
	return "", nil
}

// directoryRoute tells whether the route of the checks without a fixture is a
// directory, as far as the provider declares it.
func (k *kit) directoryRoute() bool {
	format := k.described.Formats[0].Name
	for _, l := range k.described.Locations {
		if l.Format == format {
			return l.PathKind != historyv1.PathKind_PATH_KIND_FILE
		}
	}
	return k.described.GetRoot().GetPathKind() != historyv1.PathKind_PATH_KIND_FILE
}

func (k *kit) emptyScan(ctx context.Context) (string, error) {
	p, err := k.live()
	if err != nil {
		return "", err
	}
	dir, err := k.workspace()
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(ctx, exitTimeout)
	defer cancel()
	_, err = p.scan(ctx, k.route(dir))
	return "", err
}

func (k *kit) missingSource(ctx context.Context) (string, error) {
	p, err := k.live()
	if err != nil {
		return "", err
	}
	dir, err := k.workspace()
	if err != nil {
		return "", err
	}
	source := &historyv1.Source{
		Anchor: sdkplugin.NativeAnchor("conformance", sdkplugin.Utf8("missing")), Format: k.described.Formats[0].Leaf,
		Locator: "not/there.jsonl", Observation: []byte("none"),
	}
	out, err := p.scan(ctx, k.route(dir), scanJob{source: source})
	if err != nil {
		return "", err
	}
	if out[0].failure == nil {
		return "", errors.New("it was read")
	}
	return out[0].failure.Class, knownClass(out[0].failure)
}

func knownClass(f *historyv1.SourceFailure) error {
	switch sdkplugin.FailureClass(f.Class) {
	case sdkplugin.Unreadable, sdkplugin.Vanished, sdkplugin.Changed, sdkplugin.MalformedSource, sdkplugin.UnsupportedSchema, sdkplugin.Internal:
		if len(f.Message) > sdkplugin.MaxMessage {
			return fmt.Errorf("a message of %d bytes", len(f.Message))
		}
		return nil
	}
	return fmt.Errorf("unknown failure class %q", f.Class)
}

func (k *kit) cancelledCall(ctx context.Context) (string, error) {
	p, err := k.live()
	if err != nil {
		return "", err
	}
	scan, cancel := context.WithCancel(ctx)
	stream, err := p.api.Scan(scan)
	if err != nil {
		cancel()
		return "", err
	}
	cancel()
	if _, err := stream.Recv(); status.Code(err) != codes.Canceled {
		return "", fmt.Errorf("after the cancellation: %v", err)
	}
	if _, err := p.describe(ctx); err != nil {
		return "", fmt.Errorf("it does not answer any more: %w", err)
	}
	return "", nil
}

// hostGone connects to the provider without the host library, and disconnects
// without the shutdown that a host which is killed cannot send.
func (k *kit) hostGone(ctx context.Context) (string, error) {
	cmd := k.command()
	cmd.Env = append(cmd.Env, sdkplugin.Handshake.MagicCookieKey+"="+sdkplugin.Handshake.MagicCookieValue,
		fmt.Sprintf("PLUGIN_PROTOCOL_VERSIONS=%d", sdkplugin.ProtocolVersion))
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return "", err
	}
	if err := cmd.Start(); err != nil {
		return "", err
	}
	address, err := readHandshake(bufio.NewReader(stdout))
	if err != nil {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		return "", err
	}
	conn, err := grpc.NewClient("passthrough:provider", grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, address.Network(), address.String())
		}))
	if err == nil {
		_, err = (&process{api: historyv1.NewProviderClient(conn), stderr: &tail{}}).describe(ctx)
	}
	if err != nil {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		return "", err
	}
	_ = conn.Close()
	began := time.Now()
	if _, exited := waitExit(cmd, exitTimeout); !exited {
		return "", fmt.Errorf("it still runs %v after its host has gone", exitTimeout)
	}
	return fmt.Sprintf("after %v", time.Since(began).Round(time.Millisecond)), nil
}

// readHandshake reads the line core|protocol|network|address|type|certificate.
func readHandshake(r *bufio.Reader) (net.Addr, error) {
	type result struct {
		line string
		err  error
	}
	read := make(chan result, 1)
	go func() {
		line, err := r.ReadString('\n')
		read <- result{line, err}
	}()
	select {
	case got := <-read:
		parts := strings.Split(strings.TrimSpace(got.line), "|")
		if got.err != nil || len(parts) < 5 || parts[4] != "grpc" {
			return nil, fmt.Errorf("handshake line %.120q", got.line)
		}
		switch parts[2] {
		case "unix":
			return net.ResolveUnixAddr("unix", parts[3])
		case "tcp":
			return net.ResolveTCPAddr("tcp", parts[3])
		}
		return nil, fmt.Errorf("handshake network %q", parts[2])
	case <-time.After(startTimeout):
		return nil, errors.New("no handshake line")
	}
}
