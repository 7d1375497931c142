package wq

// #include "border.h"
import "C"

import "sync"

// together makes one call into C of the Adds of many goroutines. An Add that waits for the disk holds a
// thread; those that come meanwhile wait here, parked, and go together in the next call. So a thousand
// goroutines in Add cost one thread, and one write of the disk is for all of them. An Add that is alone
// goes at once.
type together struct {
	mu      sync.Mutex
	busy    bool         // Somebody is in C.
	waiting []*joinedAdd // Those who came meanwhile.
}

// joinedAdd is an Add that waits for others.
type joinedAdd struct {
	key string
	err error        // Valid when it is told, unless it leads.
	led []*joinedAdd // Whom it has to add, itself first; empty: it was added.
	// Told once: it leads, or it was added.
	told chan struct{}
}

var joinedAdds = sync.Pool{New: func() any { return &joinedAdd{told: make(chan struct{}, 1)} }}

// At most so many go together.
const maxTogether = 1024

func (t *together) add(queue C.wq_queue, key string) error {
	t.mu.Lock()
	if !t.busy {
		t.busy = true
		t.mu.Unlock()
		defer t.passOn()
		return errorOf(C.wqgo_add(queue, key))
	}
	j := joinedAdds.Get().(*joinedAdd)
	j.key, j.err, j.led = key, nil, nil
	t.waiting = append(t.waiting, j)
	t.mu.Unlock()
	<-j.told
	if len(j.led) > 0 {
		t.lead(queue, j.led)
	}
	err := j.err
	j.key, j.led = "", nil
	joinedAdds.Put(j)
	return err
}

// passOn lets one of those who wait lead the next call.
func (t *together) passOn() {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := len(t.waiting)
	if n == 0 {
		t.busy = false
		return
	}
	if n > maxTogether {
		n = maxTogether
	}
	led := t.waiting[:n:n]
	if t.waiting = t.waiting[n:]; len(t.waiting) == 0 {
		t.waiting = nil
	}
	led[0].led = led
	led[0].told <- struct{}{}
}

// lead adds for all of them, and tells those behind the first.
func (t *together) lead(queue C.wq_queue, led []*joinedAdd) {
	p := pack(nil)
	for _, j := range led {
		p.append(j.key)
	}
	batch, refused := p.add(queue, C.wqgo_add_options{}, "")
	err := errorOf(batch.result)
	for _, j := range led {
		j.err = err
	}
	for _, r := range refused { // Alone, they are told why.
		j := led[r.index]
		j.err = errorOf(C.wqgo_add(queue, j.key))
	}
	parcels.Put(p)
	t.passOn()
	for _, j := range led[1:] {
		j.told <- struct{}{}
	}
}
