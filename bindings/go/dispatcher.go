package wq

// This file hands a queue's keys to the goroutines that wait in Get, after its notifications.

// #include "border.h"
import "C"

import (
	"container/list"
	"context"
	"os"
	"sync"
	"sync/atomic"
)

// dispatcher hands a queue's keys to waiting Gets: goroutines, none of which holds a thread. It
// takes keys only for Gets that wait, so that no key is held without a caller.
//
// A poll is a call into the queue that does not block. A poll that finds no key makes the queue
// notify (readiness). Invariant: while a Get waits and no goroutine polls, a notification is due.
//
// A queue has one dispatcher; with shards, each of its workers has one.
type dispatcher struct {
	from C.wqgo_getter

	count atomic.Int32 // waiting.Len(), for reads without the lock.

	mu      sync.Mutex
	waiting list.List // Of *waiter, in the order of their calls.
	polling bool      // A goroutine polls; at most one at a time.
	again   bool      // There was a notification during the poll: it must be repeated.
	closed  bool
}

// waiter is a waiting Get.
type waiter struct {
	element *list.Element // Nil: it was answered. Under mu.
	// A running poll may answer it with a key, so it cannot leave yet. Under mu.
	reserved  bool
	cancelled error       // The error to answer if the poll brings no key. Under mu.
	answer    chan answer // Receives exactly one.
}

type answer struct {
	taken
	err error
}

// maxPoll bounds the keys of one poll.
const maxPoll = 256

// notify polls, after a notification.
func (d *dispatcher) notify() {
	d.mu.Lock()
	begun := d.beginPoll()
	d.mu.Unlock()
	if begun {
		d.poll()
	}
}

// get waits for one key, and takes further queued keys if no other Get waits.
func (d *dispatcher) get(ctx context.Context, max int) ([]taken, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if d.count.Load() == 0 {
		keys, code, err := takeKeys(d.from, max)
		if code != TimedOut {
			return keys, err
		}
	}
	first := d.wait(ctx)
	if first.err != nil {
		return nil, first.err
	}
	keys := []taken{first.taken}
	if max > 1 && d.count.Load() == 0 {
		more, _, _ := takeKeys(d.from, max-1) // The next call returns its error too.
		keys = append(keys, more...)
	}
	return keys, nil
}

func (d *dispatcher) waitingGets() int { return int(d.count.Load()) }

// wait waits for a key behind the Gets that wait already.
func (d *dispatcher) wait(ctx context.Context) answer {
	w := d.enter()
	select {
	case a := <-w.answer:
		return a
	case <-ctx.Done():
		d.cancel(w, ctx.Err())
		return <-w.answer
	}
}

func (d *dispatcher) enter() *waiter {
	w := &waiter{answer: make(chan answer, 1)}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		w.answer <- answer{err: errQueueClosed}
		return w
	}
	w.element = d.waiting.PushBack(w)
	d.count.Add(1)
	// With others waiting no poll is needed: by the invariant a notification is due.
	if d.waiting.Len() == 1 && d.beginPoll() {
		go d.poll()
	}
	return w
}

// cancel answers w with the error, unless a running poll brings it a key.
func (d *dispatcher) cancel(w *waiter, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if w.element == nil {
		return
	}
	if w.reserved {
		w.cancelled = err
		return
	}
	d.reply(w, answer{err: err})
}

// reply ends w's wait. REQUIRES: mu; w was not answered.
func (d *dispatcher) reply(w *waiter, a answer) {
	d.waiting.Remove(w.element)
	w.element = nil
	d.count.Add(-1)
	w.answer <- a
}

// beginPoll reports whether the caller must poll. If a poll is running, that one is repeated
// instead. REQUIRES: mu.
func (d *dispatcher) beginPoll() bool {
	if d.polling {
		d.again = true
		return false
	}
	d.polling = true
	return true
}

// poll answers waiting Gets with keys, until no key is queued or no Get waits. REQUIRES: beginPoll.
func (d *dispatcher) poll() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for !d.closed {
		d.again = false
		reserved := d.reserve()
		if len(reserved) == 0 {
			break
		}
		d.mu.Unlock()
		keys, code, err := takeKeys(d.from, len(reserved))
		d.mu.Lock()
		d.deliver(reserved, keys, err)
		if code == TimedOut && !d.again {
			break // A notification is due.
		}
	}
	d.polling = false
	if d.closed {
		d.replyClosed()
	}
}

// reserve returns the waiters that the next poll is for. REQUIRES: mu.
func (d *dispatcher) reserve() []*waiter {
	n := d.waiting.Len()
	if n > maxPoll {
		n = maxPoll
	}
	reserved := make([]*waiter, 0, n)
	for e := d.waiting.Front(); e != nil && len(reserved) < n; e = e.Next() {
		w := e.Value.(*waiter)
		w.reserved = true
		reserved = append(reserved, w)
	}
	return reserved
}

// deliver ends a poll: it answers the first waiters with the keys, and all with an error.
// REQUIRES: mu.
func (d *dispatcher) deliver(reserved []*waiter, keys []taken, err error) {
	for i, w := range reserved {
		w.reserved = false
		switch {
		case i < len(keys):
			d.reply(w, answer{taken: keys[i]})
		case err != nil:
			d.reply(w, answer{err: err})
		case w.cancelled != nil:
			d.reply(w, answer{err: w.cancelled})
		}
	}
}

// close ends every wait, except of waiters that a running poll brings a key.
func (d *dispatcher) close() {
	d.mu.Lock()
	d.closed = true
	if !d.polling { // A running poll may bring keys; it calls replyClosed at its end.
		d.replyClosed()
	}
	d.mu.Unlock()
}

// replyClosed answers every waiter. REQUIRES: mu.
func (d *dispatcher) replyClosed() {
	for e := d.waiting.Front(); e != nil; e = d.waiting.Front() {
		d.reply(e.Value.(*waiter), answer{err: errQueueClosed})
	}
}

// readiness receives a queue's notifications from a descriptor that Go's poller watches, and passes
// each to all dispatchers.
type readiness struct {
	file *os.File // Readable after a notification.

	mu          sync.Mutex
	dispatchers map[*dispatcher]bool // A set.
	closed      bool
}

func newReadiness(queue C.wq_queue) (*readiness, error) {
	var fd C.int
	if err := call(func(e *C.wq_error) C.wq_code {
		return C.wq_queue_ready_fd(queue, &fd, e)
	}); err != nil {
		return nil, err
	}
	r := &readiness{file: os.NewFile(uintptr(fd), "wq queue, ready"),
		dispatchers: map[*dispatcher]bool{}}
	go r.watch()
	return r, nil
}

// watch passes on each notification, until the descriptor is closed.
func (r *readiness) watch() {
	var count [8]byte
	for {
		if _, err := r.file.Read(count[:]); err != nil {
			return
		}
		for _, d := range r.list() {
			d.notify()
		}
	}
}

func (r *readiness) list() []*dispatcher {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := make([]*dispatcher, 0, len(r.dispatchers))
	for d := range r.dispatchers {
		all = append(all, d)
	}
	return all
}

// dispatcher makes a dispatcher that is notified from now on.
func (r *readiness) dispatcher(from C.wqgo_getter) *dispatcher {
	d := &dispatcher{from: from}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		d.close()
	} else {
		r.dispatchers[d] = true
	}
	return d
}

// end closes a dispatcher, which is no longer notified.
func (r *readiness) end(d *dispatcher) {
	r.mu.Lock()
	delete(r.dispatchers, d)
	r.mu.Unlock()
	d.close()
}

// close ends every wait. REQUIRES: the queue is stopped; it notifies no more.
func (r *readiness) close() {
	r.mu.Lock()
	r.closed = true
	r.mu.Unlock()
	for _, d := range r.list() {
		d.close()
	}
	r.file.Close()
}
