package wq

// This file joins the Adds of many goroutines into one call into C.

// #include "border.h"
import "C"

import "sync"

// addBatcher joins concurrent Adds. An Add that waits for the disk holds a thread; Adds that arrive
// during that call wait here, without a thread, and are made by one further call. So a thousand
// goroutines in Add cost one thread, and share one write. A single Add is made at once. Where an
// Add waits for no disk, joining costs more than it saves.
type addBatcher struct {
	mu      sync.Mutex
	busy    bool         // A call into C is running.
	waiting []*joinedAdd // Those that arrived during the call.
}

// joinedAdd is an Add that waits for a running call.
type joinedAdd struct {
	key string
	err error        // Valid after woken, unless it leads.
	led []*joinedAdd // The Adds that it has to make, itself first; empty: it was made.
	// Receives once: when it was made, or has to lead.
	woken chan struct{}
}

var joinedAdds = sync.Pool{New: func() any { return &joinedAdd{woken: make(chan struct{}, 1)} }}

// maxJoinedAdds bounds the Adds of one call.
const maxJoinedAdds = 1024

func (b *addBatcher) add(queue C.wq_queue, key string) error {
	b.mu.Lock()
	if !b.busy {
		b.busy = true
		b.mu.Unlock()
		defer b.endCall()
		return errorOf(C.wqgo_add(queue, key))
	}
	j := joinedAdds.Get().(*joinedAdd)
	j.key, j.err, j.led = key, nil, nil
	b.waiting = append(b.waiting, j)
	b.mu.Unlock()
	<-j.woken
	if len(j.led) > 0 {
		b.lead(queue, j.led)
	}
	err := j.err
	j.key, j.led = "", nil
	joinedAdds.Put(j)
	return err
}

// endCall ends a call, and wakes a waiting Add to lead the next one.
func (b *addBatcher) endCall() {
	b.mu.Lock()
	defer b.mu.Unlock()
	n := len(b.waiting)
	if n == 0 {
		b.busy = false
		return
	}
	if n > maxJoinedAdds {
		n = maxJoinedAdds
	}
	led := b.waiting[:n:n]
	if b.waiting = b.waiting[n:]; len(b.waiting) == 0 {
		b.waiting = nil
	}
	led[0].led = led
	led[0].woken <- struct{}{}
}

// lead makes the Adds, of which the first is the caller's, and wakes the others.
func (b *addBatcher) lead(queue C.wq_queue, led []*joinedAdd) {
	l := newKeyList(nil)
	for _, j := range led {
		l.append(j.key)
	}
	batch, refused := l.add(queue, AddOptions{}, "")
	err := errorOf(batch.result)
	for _, j := range led {
		j.err = err
	}
	for _, r := range refused { // A call of its own returns the error with its message.
		j := led[r.index]
		j.err = errorOf(C.wqgo_add(queue, j.key))
	}
	keyLists.Put(l)
	b.endCall()
	for _, j := range led[1:] {
		j.woken <- struct{}{}
	}
}
