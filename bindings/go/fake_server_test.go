package wq

// This file has a server for the tests of remote queues: queues in memory that speak the JSON
// messages of proto/wq/v1. It checks nothing that the real server refuses for its own sake.

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"sort"
	"strings"
	"sync"
	"testing"
	"time"

	"example.org/wq/internal/remote"
)

// fakeServer serves DIR/control.sock.
type fakeServer struct {
	http *httptest.Server
	uuid string

	mu        sync.Mutex
	queues    map[string]*fakeQueue
	sessions  map[string]*fakeSession
	lastToken uint64
	bearer    string                     // Not "": the token that calls need.
	calls     []string                   // "METHOD key,key".
	beats     chan bool                  // Receives at each empty Send, if it has room.
	results   func(*remote.AnswerResult) // Changes results; nil: does not.
	notOwner  int                        // So many of the next calls and workers find a replica.
	delays    []remote.Int64             // Of the Adds, also those that find a replica.
}

type fakeQueue struct {
	name     string
	queued   []string
	lanes    map[string]int32
	causes   map[string][]remote.Cause // Of the last Add that had one.
	dirty    map[string]bool           // Added while held.
	held     map[string]*fakeSession
	failures map[string]uint64
	delays   map[string]*time.Timer
	bad      map[string]string // Quarantined.
	dones    uint64
}

type fakeSession struct {
	queue    *fakeQueue
	name     string
	capacity int
	silence  time.Duration
	held     map[uint64]string // Token to key; "": lost, which holds a place.
	out      []remote.WorkResponse
	wake     chan struct{}
	end      chan struct{}
	ended    bool
}

func newFakeServer(t testing.TB, dir string) *fakeServer {
	t.Helper()
	f := &fakeServer{uuid: "fake", queues: map[string]*fakeQueue{},
		sessions: map[string]*fakeSession{}, beats: make(chan bool, 1)}
	l, err := net.Listen("unix", dir+"/control.sock")
	must(t, err)
	f.http = &httptest.Server{Listener: l, Config: &http.Server{Handler: f}}
	f.http.Start()
	return f
}

func (f *fakeServer) close() {
	f.http.CloseClientConnections()
	f.http.Close()
}

// maxFakeRequest is what a server takes.
const maxFakeRequest = 4 << 20

type fakeError struct {
	status  int
	code    string
	message string
}

func (f *fakeServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	method := strings.TrimPrefix(r.URL.Path, "/wq.v1.")
	if r.Host != "localhost" || r.ContentLength < 0 || r.ContentLength > maxFakeRequest {
		panic(fmt.Sprintf("a server refuses Host %q, length %d", r.Host, r.ContentLength))
	}
	f.mu.Lock()
	refused := f.bearer != "" && r.Header.Get("Authorization") != "Bearer "+f.bearer
	replica := f.notOwner > 0
	if replica {
		f.notOwner--
	}
	f.mu.Unlock()
	if refused {
		http.Error(w, `{"code": "Unauthenticated", "message": "no token"}`, http.StatusUnauthorized)
		return
	}
	decode := func(m any) {
		if err := json.NewDecoder(r.Body).Decode(m); err != nil {
			panic(fmt.Sprintf("%s: %v", method, err))
		}
	}
	if replica && method == "Queue/Add" {
		var m remote.AddRequest
		decode(&m)
		f.mu.Lock()
		f.delays = append(f.delays, m.DelayUs)
		f.mu.Unlock()
	}
	if replica {
		http.Error(w, `{"code": "NotOwner", "message": "a replica"}`, http.StatusServiceUnavailable)
		return
	}
	if method == "Work/Work" {
		var m remote.WorkRequest
		decode(&m)
		f.work(w, r, m.Hello)
		return
	}
	answer, failed := f.answer(method, decode)
	w.Header().Set("Content-Type", "application/json")
	if failed != nil {
		w.WriteHeader(failed.status)
		answer = map[string]string{"code": failed.code, "message": failed.message}
	}
	if err := json.NewEncoder(w).Encode(answer); err != nil {
		panic(err)
	}
}

func (f *fakeServer) note(method string, keys [][]byte) {
	texts := make([]string, len(keys))
	for i, key := range keys {
		texts[i] = string(key)
	}
	f.calls = append(f.calls, strings.TrimSpace(method+" "+strings.Join(texts, ",")))
}

func (f *fakeServer) answer(method string, decode func(any)) (any, *fakeError) {
	switch method {
	case "Queue/Add":
		var m remote.AddRequest
		decode(&m)
		f.mu.Lock()
		defer f.mu.Unlock()
		f.note(method, m.Keys)
		f.delays = append(f.delays, m.DelayUs)
		q := f.queue(m.Queue, m.Create)
		if q == nil {
			return nil, missing(m.Queue)
		}
		return q.addAll(f, m), nil
	case "Queue/Counts": // Only whether the queue exists.
		var m remote.QueueRequest
		decode(&m)
		f.mu.Lock()
		defer f.mu.Unlock()
		if f.queue(m.Queue, false) == nil {
			return nil, missing(m.Queue)
		}
		return remote.QueueCounts{}, nil
	case "Admin/Change":
		var m remote.ChangeRequest
		decode(&m)
		f.mu.Lock()
		defer f.mu.Unlock()
		what := method + " " + m.Kind
		if m.DelayUs != 0 {
			what += fmt.Sprintf(" after %d", m.DelayUs)
		}
		f.note(what, m.Keys)
		return f.queues[m.Queue].change(m), nil
	case "Admin/GetStore":
		f.mu.Lock()
		defer f.mu.Unlock()
		names := []map[string]string{}
		for name := range f.queues {
			names = append(names, map[string]string{"name": name})
		}
		sort.Slice(names, func(i, j int) bool { return names[i]["name"] < names[j]["name"] })
		return map[string]any{"uuid": f.uuid, "queues": names}, nil
	case "Work/Send":
		var m remote.SendRequest
		decode(&m)
		f.mu.Lock()
		defer f.mu.Unlock()
		s := f.sessions[m.Session]
		if s == nil {
			return nil, &fakeError{http.StatusNotFound, "NotFound", "the session has ended"}
		}
		f.send(s, m.Request)
		return remote.Empty{}, nil
	}
	return nil, &fakeError{http.StatusNotImplemented, "NotSupported", method}
}

func missing(queue string) *fakeError {
	return &fakeError{http.StatusNotFound, "NotFound", fmt.Sprintf("no queue %q", queue)}
}

// queue returns a queue; nil: it does not exist, and create is not set. REQUIRES: mu.
func (f *fakeServer) queue(name string, create bool) *fakeQueue {
	if f.queues[name] == nil && create {
		f.queues[name] = &fakeQueue{name: name, lanes: map[string]int32{}, dirty: map[string]bool{},
			causes: map[string][]remote.Cause{},
			held:   map[string]*fakeSession{}, failures: map[string]uint64{},
			delays: map[string]*time.Timer{}, bad: map[string]string{}}
	}
	return f.queues[name]
}

func (q *fakeQueue) addAll(f *fakeServer, m remote.AddRequest) map[string]any {
	var added, deduplicated, held int
	refused := []map[string]any{}
	for i, k := range m.Keys {
		key := string(k)
		_, isBad := q.bad[key]
		switch {
		case key == "":
			refused = append(refused, map[string]any{"index": fmt.Sprint(i), "error": map[string]string{
				"code": "CODE_INVALID_ARGUMENT", "message": "the key is empty"}})
		case isBad:
			held++
		case m.DelayUs > 0:
			q.delay(f, key, time.Duration(m.DelayUs)*time.Microsecond)
			added++
		case q.dirty[key] || q.isQueued(key):
			deduplicated++
		default:
			if m.Lane != nil {
				q.lanes[key] = *m.Lane
			}
			if m.Cause != nil {
				q.causes[key] = []remote.Cause{*m.Cause}
			}
			q.add(key)
			added++
		}
	}
	f.assign(q)
	return map[string]any{"added": fmt.Sprint(added), "deduplicated": fmt.Sprint(deduplicated),
		"held": fmt.Sprint(held), "refused": refused}
}

func (q *fakeQueue) isQueued(key string) bool {
	for _, k := range q.queued {
		if k == key {
			return true
		}
	}
	return false
}

// add adds a key. REQUIRES: mu of the server.
func (q *fakeQueue) add(key string) {
	if q.held[key] != nil {
		q.dirty[key] = true
	} else if !q.isQueued(key) {
		q.queued = append(q.queued, key)
	}
}

func (q *fakeQueue) delay(f *fakeServer, key string, d time.Duration) {
	if old := q.delays[key]; old != nil {
		old.Stop()
	}
	q.delays[key] = time.AfterFunc(d, func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		if q.delays[key] != nil {
			delete(q.delays, key)
			q.add(key)
			f.assign(q)
		}
	})
}

// change finds none of the keys.
func (q *fakeQueue) change(m remote.ChangeRequest) any {
	absent := make([]string, len(m.Keys))
	for i := range absent {
		absent[i] = fmt.Sprint(i)
	}
	return map[string]any{"done": "0", "absent": absent}
}

// assign assigns queued keys to workers. REQUIRES: mu.
func (f *fakeServer) assign(q *fakeQueue) {
	for id := range f.sessions {
		s := f.sessions[id]
		for s.queue == q && len(q.queued) > 0 && len(s.held) < s.capacity {
			key := q.queued[0]
			q.queued = q.queued[1:]
			f.lastToken++
			q.held[key] = s
			s.held[f.lastToken] = key
			s.say(remote.WorkResponse{Assignments: []remote.Assignment{{Key: []byte(key),
				Token: remote.Uint64(f.lastToken), Failures: remote.Uint64(q.failures[key]),
				Lane: q.lanes[key], Causes: q.causes[key]}}})
		}
	}
}

func (s *fakeSession) say(m remote.WorkResponse) {
	s.out = append(s.out, m)
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

func (f *fakeServer) work(w http.ResponseWriter, r *http.Request, hello *remote.Hello) {
	f.mu.Lock()
	q := f.queue(hello.Queue, false)
	if q == nil {
		f.mu.Unlock()
		http.Error(w, `{"code": "NotFound", "message": "no queue"}`, http.StatusNotFound)
		return
	}
	f.lastToken++
	id := fmt.Sprint("session ", f.lastToken)
	s := &fakeSession{queue: q, name: hello.Name, capacity: int(hello.Capacity),
		held: map[uint64]string{}, wake: make(chan struct{}, 1), end: make(chan struct{}),
		silence: time.Duration(hello.SilenceLimitUs) * time.Microsecond}
	f.sessions[id] = s
	s.say(remote.WorkResponse{Welcome: &remote.Welcome{
		Session: id, SilenceLimitUs: hello.SilenceLimitUs, StoreUUID: f.uuid}})
	f.assign(q)
	f.mu.Unlock()
	defer f.endSession(id, s)
	w.Header().Set("Content-Type", "application/x-ndjson")
	for {
		f.mu.Lock()
		out := s.out
		s.out = nil
		f.mu.Unlock()
		for _, m := range out {
			if json.NewEncoder(w).Encode(m) != nil {
				return
			}
		}
		w.(http.Flusher).Flush()
		select {
		case <-s.wake:
		case <-s.end:
			return
		case <-r.Context().Done():
			return
		}
	}
}

// endSession gives back what the session holds, first in the queue.
func (f *fakeServer) endSession(id string, s *fakeSession) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.sessions, id)
	tokens := make([]uint64, 0, len(s.held))
	for token := range s.held {
		tokens = append(tokens, token)
	}
	sort.Slice(tokens, func(i, j int) bool { return tokens[i] > tokens[j] })
	for _, token := range tokens {
		s.giveBack(s.held[token])
	}
	f.assign(s.queue)
}

func (s *fakeSession) giveBack(key string) {
	if key == "" {
		return
	}
	delete(s.queue.held, key)
	delete(s.queue.dirty, key)
	s.queue.queued = append([]string{key}, s.queue.queued...)
}

// send handles a further message of a worker. REQUIRES: mu.
func (f *fakeServer) send(s *fakeSession, m remote.WorkRequest) {
	if len(m.Answers) == 0 && m.Capacity == nil && len(m.AddedAgain) == 0 && len(m.Started) == 0 {
		select {
		case f.beats <- true:
		default:
		}
	}
	var reply remote.WorkResponse
	for _, token := range m.Started {
		f.note("started "+s.held[uint64(token)], nil)
	}
	for _, a := range m.Answers {
		result := s.settle(f, a)
		if f.results != nil {
			f.results(&result)
		}
		reply.Results = append(reply.Results, result)
	}
	for _, token := range m.AddedAgain {
		key, held := s.held[uint64(token)]
		reply.AddedAgain = append(reply.AddedAgain, remote.AddedAgain{
			Token: token, AddedAgain: s.queue.dirty[key], Held: held && key != ""})
	}
	if m.Capacity != nil {
		s.capacity = int(*m.Capacity)
		f.note(fmt.Sprint("capacity ", s.capacity), nil)
	}
	if len(reply.Results)+len(reply.AddedAgain) > 0 {
		s.say(reply)
	}
	f.assign(s.queue)
}

// settle takes an answer. REQUIRES: mu of the server.
func (s *fakeSession) settle(f *fakeServer, a remote.Answer) remote.AnswerResult {
	q, token := s.queue, uint64(a.Token)
	key, held := s.held[token]
	delete(s.held, token)
	if !held || key == "" {
		return remote.AnswerResult{Token: a.Token, Error: &remote.MessageError{
			Code: "CODE_NOT_PROCESSING", Message: "the token is old"}}
	}
	if a.GiveBack != nil {
		f.note("give back "+key, nil)
		s.giveBack(key)
		return remote.AnswerResult{Token: a.Token}
	}
	delete(q.held, key)
	q.dones++
	switch {
	case a.Failed != nil:
		f.note("failed "+key+": "+a.Failed.Error, nil)
		q.failures[key]++
		if a.Failed.Quarantine {
			q.bad[key] = a.Failed.Error
		} else {
			q.delay(f, key, time.Millisecond)
		}
	case a.RequeueAfter != nil:
		f.note("requeue "+key, nil)
		delete(q.failures, key)
		q.delay(f, key, time.Duration(a.RequeueAfter.DelayUs)*time.Microsecond)
	default:
		f.note("done "+key, nil)
		delete(q.failures, key)
	}
	if q.dirty[key] {
		delete(q.dirty, key)
		q.add(key)
	}
	return remote.AnswerResult{Token: a.Token}
}

// take takes a held key away from its worker.
func (f *fakeServer) take(queue, key string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	q := f.queues[queue]
	s := q.held[key]
	for token, held := range s.held {
		if held == key {
			s.held[token] = ""
			s.say(remote.WorkResponse{Lost: []remote.Lost{{
				Token: remote.Uint64(token), Reason: "the key limit"}}})
		}
	}
	delete(q.held, key)
	q.add(key)
	f.assign(q)
}

// log returns the calls so far.
func (f *fakeServer) log() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]string(nil), f.calls...)
}
