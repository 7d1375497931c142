package wq

// #include "border.h"
import "C"

import (
	"container/list"
	"context"
	"sync"
	"sync/atomic"
)

// dispatcher hands a queue's keys to the Gets that wait for one: parked goroutines, none of which
// costs a thread. It takes a key only on behalf of a Get that is waiting, so no key is held that
// nobody asked for.
//
// A look is a call into the queue that does not block. One that finds no key asks the queue for a
// notification (readiness). Invariant: while somebody waits and nobody looks, a notification is asked
// for.
//
// A queue has one; with shards, each of its workers has one. It refers neither to the Store nor to the
// Worker, so that neither is kept alive by it.
type dispatcher struct {
	from C.wqgo_source

	count atomic.Int32 // waiting.Len(), for looking without the lock.

	mu      sync.Mutex
	waiting list.List // Of *waiter, in the order in which they came.
	looking bool      // Somebody looks; there is one at a time.
	again   bool      // Whoever looks must look again: there was a notification meanwhile.
	closed  bool
}

// waiter is a Get that waits.
type waiter struct {
	element *list.Element // Nil: it was answered. Under mu.
	// A look is under way that may bring it a key, so that it cannot just go. Under mu.
	reserved bool
	leaving  error       // Why it wants to go, but is reserved. Under mu.
	answer   chan answer // Exactly one is sent.
}

type answer struct {
	key string
	err error
}

// At most so many keys are taken in one look.
const maxLook = 256

// notify looks: there was a notification.
func (d *dispatcher) notify() {
	d.mu.Lock()
	mine := d.beginLook()
	d.mu.Unlock()
	if mine {
		d.look()
	}
}

// get waits for a key. A key that comes together with the context's end is returned.
func (d *dispatcher) get(ctx context.Context) (string, error) {
	if err := ctx.Err(); err != nil {
		return "", err
	}
	if d.count.Load() == 0 { // Nobody is in front.
		key, code, err := takeOne(d.from)
		if code != TimedOut {
			return key, err
		}
	}
	return d.wait(ctx)
}

// wait is get behind those who wait already.
func (d *dispatcher) wait(ctx context.Context) (string, error) {
	w := d.enter()
	select {
	case a := <-w.answer:
		return a.key, a.err
	case <-ctx.Done():
		d.leave(w, ctx.Err())
		a := <-w.answer
		return a.key, a.err
	}
}

func (d *dispatcher) enter() *waiter {
	w := &waiter{answer: make(chan answer, 1)}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		w.answer <- answer{err: closedError()}
		return w
	}
	w.element = d.waiting.PushBack(w)
	d.count.Add(1)
	// Behind others, it need not look: by the invariant it will be told.
	if d.waiting.Len() == 1 && d.beginLook() {
		go d.look()
	}
	return w
}

// leave answers w with why, unless a key is on its way to it.
func (d *dispatcher) leave(w *waiter, why error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if w.element == nil {
		return
	}
	if w.reserved {
		w.leaving = why
		return
	}
	d.reply(w, answer{err: why})
}

// reply ends w's waiting. REQUIRES: mu; w was not answered.
func (d *dispatcher) reply(w *waiter, a answer) {
	d.waiting.Remove(w.element)
	w.element = nil
	d.count.Add(-1)
	w.answer <- a
}

// beginLook returns whether the caller must look: otherwise somebody else does so. REQUIRES: mu.
func (d *dispatcher) beginLook() bool {
	if d.looking {
		d.again = true
		return false
	}
	d.looking = true
	return true
}

// look brings keys to those who wait, until there is none, or nobody waits. REQUIRES: beginLook.
func (d *dispatcher) look() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for !d.closed {
		d.again = false
		reserved := d.reserve()
		if len(reserved) == 0 {
			break
		}
		d.mu.Unlock()
		keys, code, err := takeMany(d.from, len(reserved))
		d.mu.Lock()
		d.bring(reserved, keys, err)
		if code == TimedOut && !d.again {
			break // A notification is asked for.
		}
	}
	d.looking = false
	if d.closed {
		d.replyClosed()
	}
}

// reserve returns those for whom the next look is. REQUIRES: mu.
func (d *dispatcher) reserve() []*waiter {
	n := d.waiting.Len()
	if n > maxLook {
		n = maxLook
	}
	reserved := make([]*waiter, 0, n)
	for e := d.waiting.Front(); e != nil && len(reserved) < n; e = e.Next() {
		w := e.Value.(*waiter)
		w.reserved = true
		reserved = append(reserved, w)
	}
	return reserved
}

// bring ends a look: keys go to the first who wait, an error to all. REQUIRES: mu.
func (d *dispatcher) bring(reserved []*waiter, keys []string, err error) {
	for i, w := range reserved {
		w.reserved = false
		switch {
		case i < len(keys):
			d.reply(w, answer{key: keys[i]})
		case err != nil:
			d.reply(w, answer{err: err})
		case w.leaving != nil:
			d.reply(w, answer{err: w.leaving})
		}
	}
}

// close ends every waiting, but for those whom a look under way brings a key.
func (d *dispatcher) close() {
	d.mu.Lock()
	d.closed = true
	if !d.looking { // Otherwise keys may be on their way; then the look ends it.
		d.replyClosed()
	}
	d.mu.Unlock()
}

// replyClosed answers all. REQUIRES: mu.
func (d *dispatcher) replyClosed() {
	for e := d.waiting.Front(); e != nil; e = d.waiting.Front() {
		d.reply(e.Value.(*waiter), answer{err: closedError()})
	}
}

// getBatch waits for one key, and takes what else there is if nobody else waits.
func (d *dispatcher) getBatch(ctx context.Context, max int) ([]string, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if d.count.Load() == 0 {
		keys, code, err := takeMany(d.from, max)
		if code != TimedOut {
			return keys, err
		}
	}
	first, err := d.wait(ctx)
	if err != nil {
		return nil, err
	}
	keys := []string{first}
	if max > 1 && d.count.Load() == 0 {
		more, _, _ := takeMany(d.from, max-1) // What it fails with, the next call does, too.
		keys = append(keys, more...)
	}
	return keys, nil
}
