package wq

// Helpers of the tests of remote queues. They run against the wqctl that is WQ_SERVE, behind a
// front that notes the calls and breaks connections; the tests are skipped without it.

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"example.org/wq/internal/remote"
)

// front passes the calls on DIR/control.sock on to a server.
type front struct {
	dir  string // Its own.
	to   string // The server's.
	here *httptest.Server
	http *http.Transport // To the server.

	mu       sync.Mutex
	refuses  bool                       // Breaks connections.
	token    string                     // Not "": what calls need.
	fail     func(method string) string // The code of a call that fails; "": none. May be nil.
	results  func(*remote.AnswerResult) // Changes results. May be nil.
	calls    []string                   // "METHOD key,key" of the calls, and the answers of workers.
	delays   []int64                    // Of the Adds.
	capacity uint32                     // That a worker has said last.
	beats    chan bool                  // Receives at each empty Send, if it has room.
	session  string                     // The last one,
	assigned map[remote.Uint64]string   // and the keys of all, by token.
}

// serve runs `wqctl serve` until the end of the test. config: of its queues.
func serve(t *testing.T, config string) *front {
	t.Helper()
	wqctl := os.Getenv("WQ_SERVE")
	if wqctl == "" {
		t.Skip("WQ_SERVE is not set")
	}
	dir := socketDir(t)
	store, file := dir+"/store", dir+"/serve.conf"
	must(t, os.WriteFile(file, []byte(config), 0o600))
	command := exec.Command(wqctl, "--store", store, "serve", "--create", "--config", file)
	command.Stdout, command.Stderr = os.Stderr, os.Stderr
	must(t, command.Start())
	t.Cleanup(func() {
		command.Process.Signal(syscall.SIGTERM)
		must(t, command.Wait())
	})
	client, err := Dial(store, ClientOptions{})
	must(t, err)
	defer client.Close()
	eventually(t, "the server answers", func() bool { return client.Health() == nil })
	return newFront(t, store)
}

func newFront(t *testing.T, to string) *front {
	f := &front{dir: socketDir(t), to: to, beats: make(chan bool, 1),
		assigned: map[remote.Uint64]string{},
		http: &http.Transport{DisableKeepAlives: true, DisableCompression: true,
			DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
				return new(net.Dialer).DialContext(ctx, "unix", to+"/control.sock")
			}}}
	l, err := net.Listen("unix", f.dir+"/control.sock")
	must(t, err)
	f.here = &httptest.Server{Listener: l, Config: &http.Server{Handler: f}}
	f.here.Start()
	t.Cleanup(func() {
		f.cut(true)
		f.here.Close()
	})
	return f
}

// socketDir returns a directory whose path is short enough for a socket.
func socketDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "wq")
	must(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// cut breaks all connections, and with refuse the next ones too.
func (f *front) cut(refuse bool) {
	f.set(func() { f.refuses = refuse })
	f.here.CloseClientConnections()
}

// set changes what the front does.
func (f *front) set(change func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change()
}

// badGateway is the code of a failure of a proxy, notDurable that of a call that is applied.
const badGateway, notDurable = "BadGateway", "NotDurable"

// failNext makes so many of the next calls fail, whatever method they are of, or of this one.
func (f *front) failNext(count int32, method, code string) {
	var failed atomic.Int32
	f.set(func() {
		f.fail = func(of string) string {
			if (method == "" || method == of) && failed.Add(1) <= count {
				return code
			}
			return ""
		}
	})
}

func (f *front) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	method := strings.TrimPrefix(r.URL.Path, "/wq.v1.")
	body, err := io.ReadAll(r.Body)
	code, broken := f.note(method, body, r.Header.Get("Authorization"))
	if fail := f.failing(); fail != nil && code == "" {
		code = fail(method)
	}
	if err != nil || broken {
		panic(http.ErrAbortHandler) // Breaks the connection.
	}
	if code == badGateway {
		http.Error(w, "no server behind the proxy", http.StatusBadGateway)
		return
	}
	if code != "" && code != notDurable {
		http.Error(w, fmt.Sprintf(`{"code": %q, "message": "by a test"}`, code),
			http.StatusServiceUnavailable)
		return
	}
	on := r.Clone(r.Context())
	on.URL.Scheme, on.URL.Host, on.Body = "http", "localhost", io.NopCloser(bytes.NewReader(body))
	answer, err := f.http.RoundTrip(on)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	defer answer.Body.Close()
	if code == notDurable {
		response, _ := io.ReadAll(answer.Body)
		http.Error(w, fmt.Sprintf(`{"code": %q, "message": "by a test", "response": %s}`, code,
			response), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", answer.Header.Get("Content-Type"))
	w.WriteHeader(answer.StatusCode)
	if method != "Work/Work" || answer.StatusCode != http.StatusOK {
		io.Copy(w, answer.Body)
		return
	}
	for lines, to := json.NewDecoder(answer.Body), json.NewEncoder(w); ; {
		var m remote.WorkResponse
		if lines.Decode(&m) != nil {
			return
		}
		f.noteResponse(&m)
		to.Encode(m)
		w.(http.Flusher).Flush()
	}
}

func (f *front) failing() func(method string) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.fail
}

// note notes a call. code: it fails so; broken: by its connection.
func (f *front) note(method string, body []byte, authorization string) (code string, broken bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch method {
	case "Queue/Add":
		var m remote.AddRequest
		broken = json.Unmarshal(body, &m) != nil
		f.say(method, m.Keys...)
		f.delays = append(f.delays, m.DelayUs)
	case "Admin/Change":
		var m remote.ChangeRequest
		broken = json.Unmarshal(body, &m) != nil
		after := ""
		if m.DelayUs != 0 {
			after = fmt.Sprintf(" after %d", m.DelayUs)
		}
		f.say(method+" "+m.Kind+after, m.Keys...)
	case "Work/Work":
		var m remote.WorkRequest
		broken = json.Unmarshal(body, &m) != nil
		f.capacity = m.Hello.Capacity
	case "Work/Send":
		var m remote.SendRequest
		broken = json.Unmarshal(body, &m) != nil
		f.noteSend(m.Request)
	}
	if f.token != "" && authorization != "Bearer "+f.token {
		code = "Unauthenticated"
	}
	return code, broken || f.refuses
}

// noteSend notes a further message of a worker. REQUIRES: mu.
func (f *front) noteSend(m remote.WorkRequest) {
	if len(m.Answers)+len(m.AddedAgain)+len(m.Started) == 0 && m.Capacity == nil {
		select {
		case f.beats <- true:
		default:
		}
	}
	for _, token := range m.Started {
		f.say("started " + f.assigned[token])
	}
	for _, a := range m.Answers {
		key := f.assigned[a.Token]
		switch {
		case a.GiveBack != nil:
			f.say("give back " + key)
		case a.Failed != nil:
			f.say("failed " + key + ": " + a.Failed.Error)
		case a.RequeueAfter != nil:
			f.say("requeue " + key)
		default:
			f.say("done " + key)
		}
	}
	if m.Capacity != nil {
		f.capacity = *m.Capacity
	}
}

func (f *front) noteResponse(m *remote.WorkResponse) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if m.Welcome != nil {
		f.session = m.Welcome.Session
	}
	for _, a := range m.Assignments {
		f.assigned[a.Token] = string(a.Key)
	}
	for i := range m.Results {
		if f.results != nil {
			f.results(&m.Results[i])
		}
	}
}

// say notes a call, unless it makes a queue. REQUIRES: mu.
func (f *front) say(what string, keys ...[]byte) {
	call := strings.TrimSpace(what + " " + string(bytes.Join(keys, []byte(","))))
	if call != "Queue/Add" {
		f.calls = append(f.calls, call)
	}
}

// wantCalls checks the calls that the front has noted.
func wantCalls(t *testing.T, f *front, want ...string) {
	t.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	if fmt.Sprintf("%q", f.calls) != fmt.Sprintf("%q", want) {
		t.Fatalf("got %q, want %q", f.calls, want)
	}
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
	return openQueue(t, dial(t, target, ClientOptions{}), QueueOptions[string]{})
}

// serveQueue returns a server, and its queue "q".
func serveQueue(t *testing.T) (*front, *Queue[string]) {
	t.Helper()
	f := serve(t, "")
	return f, openRemote(t, f.dir)
}
