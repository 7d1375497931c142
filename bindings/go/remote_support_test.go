package wq

// Helpers of the tests of remote queues. They run against the wqctl that is WQ_SERVE; those that
// need a fault of the server, or what it was told, against the fake server.

import (
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"testing"
	"time"
)

// proxy forwards the connections of its own directory's socket to a server's, and breaks them.
type proxy struct {
	dir      string // Of the proxy.
	to       string // Of the server.
	listener net.Listener

	mu      sync.Mutex
	open    map[net.Conn]bool
	refuses bool
}

func newProxy(t testing.TB, to string) *proxy {
	t.Helper()
	p := &proxy{dir: socketDir(t), to: to, open: map[net.Conn]bool{}}
	var err error
	p.listener, err = net.Listen("unix", p.dir+"/control.sock")
	must(t, err)
	go p.accept()
	t.Cleanup(func() {
		p.listener.Close()
		p.cut(true)
	})
	return p
}

func (p *proxy) accept() {
	for {
		from, err := p.listener.Accept()
		if err != nil {
			return
		}
		to, err := net.Dial("unix", p.to+"/control.sock")
		p.mu.Lock()
		if err != nil || p.refuses {
			from.Close()
			if err == nil {
				to.Close()
			}
			p.mu.Unlock()
			continue
		}
		p.open[from], p.open[to] = true, true
		p.mu.Unlock()
		go p.copy(from, to)
		go p.copy(to, from)
	}
}

func (p *proxy) copy(to, from net.Conn) {
	io.Copy(to, from)
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range []net.Conn{from, to} {
		c.Close()
		delete(p.open, c)
	}
}

// cut breaks all connections, and with refuse the next ones too.
func (p *proxy) cut(refuse bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.refuses = refuse
	for c := range p.open {
		c.Close()
	}
}

// accepts ends cut(true).
func (p *proxy) accepts() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.refuses = false
}

// socketDir returns a directory whose path is short enough for a socket.
func socketDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "wq")
	must(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// onServers runs a case against `wqctl serve`, through a proxy. It is skipped without WQ_SERVE.
func onServers(t *testing.T, run func(t *testing.T, p *proxy)) {
	wqctl := os.Getenv("WQ_SERVE")
	if wqctl == "" {
		t.Skip("WQ_SERVE is not set")
	}
	dir := socketDir(t)
	serve(t, wqctl, dir)
	run(t, newProxy(t, dir))
}

// serve runs `wqctl serve` until the end of the test.
func serve(t *testing.T, wqctl, dir string) {
	t.Helper()
	command := exec.Command(wqctl, "--store", dir, "serve", "--create")
	command.Stdout, command.Stderr = os.Stderr, os.Stderr
	must(t, command.Start())
	t.Cleanup(func() {
		command.Process.Signal(syscall.SIGTERM)
		must(t, command.Wait())
	})
	client, err := Dial(dir, ClientOptions{})
	must(t, err)
	defer client.Close()
	eventually(t, "the server answers", func() bool { return client.Health() == nil })
}

// onFake runs a case against the fake server, without a proxy.
func onFake(t *testing.T) (*fakeServer, string) {
	t.Helper()
	dir := socketDir(t)
	f := newFakeServer(t, dir)
	t.Cleanup(f.close)
	return f, dir
}

func dial(t testing.TB, target string, options ClientOptions) *Client {
	t.Helper()
	if options.RetryMin == 0 {
		options.RetryMin, options.RetryMax = time.Millisecond, 20*time.Millisecond
	}
	client, err := Dial(target, options)
	must(t, err)
	t.Cleanup(func() { client.Close() })
	return client
}

// openRemote opens the queue "q" by a client of its own.
func openRemote(t testing.TB, target string) *Queue[string] {
	t.Helper()
	q, err := OpenQueue(dial(t, target, ClientOptions{}), "q", QueueOptions[string]{})
	must(t, err)
	return q
}

// holders is an oracle of which items are held.
type holders struct {
	mu   sync.Mutex
	held map[string]bool
	seen map[string]int
}

func newHolders() *holders { return &holders{held: map[string]bool{}, seen: map[string]int{}} }

func (h *holders) begin(t testing.TB, item string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.held[item] {
		t.Errorf("%q is held twice", item)
	}
	h.held[item] = true
	h.seen[item]++
}

func (h *holders) end(item string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.held, item)
}

func (h *holders) distinct() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.seen)
}

// work starts goroutines that take items, one at a time each, until the queue is shut down.
func (h *holders) work(t testing.TB, q *Queue[string], workers int) *sync.WaitGroup {
	var done sync.WaitGroup
	for i := 0; i < workers; i++ {
		done.Add(1)
		go func() {
			defer done.Done()
			for {
				item, shutdown := q.Get()
				if shutdown {
					return
				}
				h.begin(t, item)
				h.end(item)
				q.Done(item)
			}
		}()
	}
	return &done
}

func wantCauses(t *testing.T, q *Queue[string], item string, want ...Cause) {
	t.Helper()
	causes, err := q.Causes(item)
	must(t, err)
	if fmt.Sprint(causes) != fmt.Sprint(Causes{List: want}) {
		t.Fatalf("%q has %+v, not %+v", item, causes, want)
	}
}

// typedRateLimitingInterface has the methods of client-go's.
type typedRateLimitingInterface[T comparable] interface {
	Add(item T)
	Len() int
	Get() (item T, shutdown bool)
	Done(item T)
	ShutDown()
	ShutDownWithDrain()
	ShuttingDown() bool
	AddAfter(item T, duration time.Duration)
	AddRateLimited(item T)
	Forget(item T)
	NumRequeues(item T) int
}

var _ typedRateLimitingInterface[string] = (*Queue[string])(nil)

// fixedDelay is a limiter of the caller's.
type fixedDelay time.Duration

func (d fixedDelay) When(string) time.Duration { return time.Duration(d) }
func (fixedDelay) Forget(string)               {}
func (fixedDelay) NumRequeues(string) int      { return 0 }
