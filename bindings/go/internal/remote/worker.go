package remote

// This file has a worker: waiting Gets, and when it is connected.

import (
	"container/list"
	"context"
	"errors"
	"fmt"
	"sort"
	"sync"
	"time"
)

// WorkerOptions are the options of a Worker.
type WorkerOptions struct {
	Queue        string
	Name         string
	SilenceLimit time.Duration // 0: the server's default.
	KeyLimit     time.Duration // 0: none.
	// Report receives the errors of calls that were not waited for, and one for each outage.
	Report func(err error)
}

// Worker holds keys of one queue. It connects when the first Get waits, and again after an outage.
//
// Its capacity is the number of keys that it holds plus the number of waiting Gets, so the server
// assigns a key only to a Get that waits. A key that arrives when its Get was cancelled is given
// back, unless another Get takes it within readyTime.
type Worker struct {
	client  *Client
	options WorkerOptions
	end     chan struct{} // Closed by Stop or Close.
	closed  chan struct{} // Closed by Close.

	mu       sync.Mutex
	waiters  list.List              // Of *waiter, in the order of their calls.
	ready    []Assignment           // Of the present stream, without a Get. Empty while Gets wait.
	held     map[string]*holding    // By key: handed to a Get, and not done.
	deferred map[string]*Assignment // Of the present stream: assigned again before the holder's Done.
	stream   *stream                // Nil: not connected.
	running  bool                   // The goroutine of run.
	demand   chan struct{}          // Wakes run; has room for one.
	settled  []chan error           // Of Drains: get nil when the worker has settled.
	giveBack *time.Timer
	stopped  bool
	isClosed bool
}

// readyTime is how long an assigned key waits for a Get before it is given back.
const readyTime = 100 * time.Millisecond

// maxCapacity is the largest capacity that a server takes.
const maxCapacity = 100_000

// maxAnswers bounds the answers of one message.
const maxAnswers = 1000

// waiter is a waiting Get.
type waiter struct {
	element *list.Element // Nil: it was answered.
	want    int
	answer  chan taken // Receives exactly one.
}

type taken struct {
	assignments []Assignment
	err         error
}

var errStopped = &Error{Code: codeShuttingDown, Message: "the queue is shutting down"}

// NewWorker makes a worker. The caller closes it.
func NewWorker(client *Client, options WorkerOptions) *Worker {
	return &Worker{
		client: client, options: options,
		end: make(chan struct{}), closed: make(chan struct{}), demand: make(chan struct{}, 1),
		held: map[string]*holding{}, deferred: map[string]*Assignment{}}
}

// Get waits for one key, and takes at most max.
func (w *Worker) Get(ctx context.Context, max int) ([]Assignment, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if max > maxCapacity {
		max = maxCapacity
	}
	g := &waiter{want: max, answer: make(chan taken, 1)}
	w.mu.Lock()
	g.element = w.waiters.PushBack(g)
	w.dispatch()
	if w.stopped {
		w.endWaits(errStopped)
	}
	w.start()
	w.mu.Unlock()
	select {
	case t := <-g.answer:
		return t.assignments, t.err
	case <-ctx.Done():
	}
	w.mu.Lock()
	if g.element != nil {
		w.reply(g, taken{err: ctx.Err()})
		w.poke()
	}
	w.mu.Unlock()
	t := <-g.answer // Keys that arrived while the context ended are returned.
	return t.assignments, t.err
}

// Waiting returns how many Gets wait.
func (w *Worker) Waiting() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.waiters.Len()
}

// dispatch hands the ready keys to the waiting Gets. REQUIRES: mu.
func (w *Worker) dispatch() {
	for w.waiters.Len() > 0 && len(w.ready) > 0 {
		g := w.waiters.Front().Value.(*waiter)
		n := g.want
		if n > len(w.ready) {
			n = len(w.ready)
		}
		keys := append([]Assignment(nil), w.ready[:n]...)
		w.ready = w.ready[n:]
		for _, a := range keys {
			w.held[string(a.Key)] = &holding{assignment: a, stream: w.stream}
			if w.options.KeyLimit > 0 {
				w.stream.started = append(w.stream.started, a.Token)
			}
		}
		w.reply(g, taken{assignments: keys})
	}
	if len(w.ready) == 0 {
		w.ready = nil
	} else if w.giveBack == nil {
		w.giveBack = time.AfterFunc(readyTime, w.giveReadyBack)
	}
	w.poke()
}

// giveReadyBack gives back the keys that no Get has taken.
func (w *Worker) giveReadyBack() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.giveBack = nil
	for _, a := range w.ready {
		w.stream.answer(reply{Answer: Answer{Token: a.Token, GiveBack: &Empty{}}})
	}
	w.ready = nil
	w.poke()
}

// reply ends g's wait. REQUIRES: mu; g was not answered.
func (w *Worker) reply(g *waiter, t taken) {
	w.waiters.Remove(g.element)
	g.element = nil
	g.answer <- t
}

// endWaits answers every Get with the error. REQUIRES: mu.
func (w *Worker) endWaits(err error) {
	for e := w.waiters.Front(); e != nil; e = w.waiters.Front() {
		w.reply(e.Value.(*waiter), taken{err: err})
	}
}

// capacity is what the server may assign in all. REQUIRES: mu.
func (w *Worker) capacity() uint32 {
	if w.stopped {
		return 0
	}
	n := w.assigned()
	for e := w.waiters.Front(); e != nil; e = e.Next() {
		n += e.Value.(*waiter).want
	}
	if n > maxCapacity {
		n = maxCapacity
	}
	return uint32(n)
}

// assigned counts the keys that the present stream has assigned and that were not answered.
// REQUIRES: mu.
func (w *Worker) assigned() int {
	n := len(w.ready) + len(w.deferred)
	for _, h := range w.held {
		if h.stream == w.stream && w.stream != nil {
			n++
		}
	}
	return n
}

// assign receives keys from the stream. REQUIRES: mu; s is the present stream.
func (w *Worker) assign(s *stream, keys []Assignment) {
	for i := range keys {
		a := keys[i]
		if w.held[string(a.Key)] != nil { // Its holder lost it, and may still be running.
			w.deferred[string(a.Key)] = &a
		} else {
			w.ready = append(w.ready, a)
		}
	}
	w.dispatch()
}

// lose notes that the server has taken a key away. REQUIRES: mu.
func (w *Worker) lose(s *stream, l Lost) {
	for key, h := range w.held {
		if h.stream == s && h.assignment.Token == l.Token {
			h.lost = l.Reason
			if h.lost == "" {
				h.lost = "the server has taken it"
			}
			w.report(&Error{Code: codeNotProcessing, Message: fmt.Sprintf(
				"the key %q was taken from this worker: %s", key, h.lost)})
			return
		}
	}
	for i, a := range w.ready { // It was not handed out; its place is freed by an answer.
		if a.Token == l.Token {
			w.ready = append(w.ready[:i:i], w.ready[i+1:]...)
			s.answer(reply{Answer: Answer{Token: l.Token, GiveBack: &Empty{}}, refusedIsFine: true})
			return
		}
	}
	for key, a := range w.deferred {
		if a.Token == l.Token {
			delete(w.deferred, key)
			s.answer(reply{Answer: Answer{Token: l.Token, GiveBack: &Empty{}}, refusedIsFine: true})
			return
		}
	}
}

// report passes on an error, in a goroutine: the caller may hold mu.
func (w *Worker) report(err error) { go w.options.Report(err) }

// AddedAgain asks whether a held key was added since it was assigned.
func (w *Worker) AddedAgain(key string) (bool, error) {
	w.mu.Lock()
	h, err := w.holding(key)
	if err != nil {
		w.mu.Unlock()
		return false, err
	}
	answer := make(chan addedAgain, 1)
	h.stream.ask(h.assignment.Token, answer)
	w.poke()
	w.mu.Unlock()
	a := <-answer
	return a.again, a.err
}

// Flush waits until the server has received the answers of all former Dones, or the connection has
// broken.
func (w *Worker) Flush() {
	w.mu.Lock()
	var done chan struct{}
	if s := w.stream; s != nil && (s.sending || len(s.pending) > 0) {
		done = make(chan struct{})
		s.flushed = append(s.flushed, done)
	}
	w.mu.Unlock()
	if done != nil {
		<-done
	}
}

// Stop takes no more keys: waiting Gets and Drains end. The keys that are held stay so until Done;
// after the last the connection ends.
func (w *Worker) Stop() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.takeNoMore()
	for _, c := range w.settled {
		c <- errStopped
	}
	w.settled = nil
}

// takeNoMore REQUIRES mu.
func (w *Worker) takeNoMore() {
	if !w.stopped {
		w.stopped = true
		close(w.end)
		w.endWaits(errStopped)
		w.wake()
	}
	w.poke()
}

// Ended is closed by Stop and Close.
func (w *Worker) Ended() <-chan struct{} { return w.end }

// Drain takes no more keys, as Stop does, and waits until no key is held and every answer has
// arrived. An error with the code ShuttingDown: Stop was called meanwhile.
func (w *Worker) Drain(ctx context.Context) error {
	settled := make(chan error, 1)
	w.mu.Lock()
	w.takeNoMore()
	w.settled = append(w.settled, settled)
	w.settle()
	w.mu.Unlock()
	select {
	case err := <-settled:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// settle ends the stream of a stopped worker that holds nothing. REQUIRES: mu.
func (w *Worker) settle() {
	if !w.stopped || len(w.held) > 0 || len(w.deferred) > 0 || len(w.ready) > 0 {
		return
	}
	if s := w.stream; s != nil && !w.isClosed {
		if !s.quiet() {
			return
		}
		s.cancel()
	}
	for _, c := range w.settled {
		c <- nil
	}
	w.settled = nil
}

// Close gives back what is held, and ends the connection. Idempotent. Blocks: for one message.
func (w *Worker) Close() {
	w.Stop()
	w.mu.Lock()
	w.giveAllBack()
	w.mu.Unlock()
	w.Flush()
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.isClosed {
		return
	}
	w.isClosed = true
	close(w.closed)
	if w.stream != nil {
		w.stream.cancel()
	}
	w.settle()
}

// giveAllBack gives back all keys, the latest first, as each is queued first. REQUIRES: mu.
func (w *Worker) giveAllBack() {
	var tokens []Uint64
	for _, h := range w.held {
		if h.stream == w.stream {
			tokens = append(tokens, h.assignment.Token)
		}
	}
	for _, a := range w.deferred {
		tokens = append(tokens, a.Token)
	}
	for _, a := range w.ready {
		tokens = append(tokens, a.Token)
	}
	w.held, w.deferred, w.ready = map[string]*holding{}, map[string]*Assignment{}, nil
	if w.stream == nil {
		return
	}
	sort.Slice(tokens, func(i, j int) bool { return tokens[i] > tokens[j] })
	for _, token := range tokens {
		w.stream.answer(reply{
			Answer: Answer{Token: token, GiveBack: &Empty{}}, refusedIsFine: true})
	}
	w.poke()
}

// poke makes the stream send what is pending, and settles. REQUIRES: mu.
func (w *Worker) poke() {
	if w.stream != nil {
		w.stream.poke()
	}
	w.settle()
}

// wake wakes run.
func (w *Worker) wake() {
	select {
	case w.demand <- struct{}{}:
	default:
	}
}

// start makes run connect. REQUIRES: mu.
func (w *Worker) start() {
	if w.stopped || w.waiters.Len() == 0 {
		return
	}
	if !w.running {
		w.running = true
		go w.run()
	}
	w.wake()
}

// run connects while Gets wait, until the worker is stopped.
func (w *Worker) run() {
	again := w.client.NewRetry()
	reported := false
	for w.awaitDemand() {
		connected, err := w.connect()
		if connected {
			again.next, reported = 0, false
		}
		if err == nil {
			continue
		}
		var e *Error
		if !errors.As(err, &e) || !Retryable(err) {
			w.mu.Lock()
			w.endWaits(err) // Their callers report it.
			w.mu.Unlock()
			continue
		}
		if !reported {
			w.report(err)
			reported = true
		}
		again.Wait(w.end)
	}
}

// awaitDemand waits until a Get waits. False: the worker is stopped.
func (w *Worker) awaitDemand() bool {
	for {
		w.mu.Lock()
		stopped, waits := w.stopped, w.waiters.Len() > 0
		if stopped {
			w.running = false
		}
		w.mu.Unlock()
		if stopped || waits {
			return !stopped
		}
		<-w.demand
	}
}
