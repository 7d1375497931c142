package wq

// #include "border.h"
import "C"

import (
	"os"
	"sync"
)

// readiness passes a queue's notifications on: they come through a descriptor that Go's own poller
// watches, and each is for all who asked. It does not refer to the Store, so that its goroutine keeps
// no store alive.
type readiness struct {
	file *os.File // Readable after a notification.

	mu     sync.Mutex
	told   map[*dispatcher]bool // A set.
	closed bool
}

func newReadiness(queue C.wq_queue) (*readiness, error) {
	var fd C.int
	if err := call(func(e *C.wq_error) C.wq_code { return C.wq_queue_ready_fd(queue, &fd, e) }); err != nil {
		return nil, err
	}
	r := &readiness{file: os.NewFile(uintptr(fd), "wq queue, ready"), told: map[*dispatcher]bool{}}
	go r.watch()
	return r, nil
}

// watch tells of each notification, until the descriptor is closed.
func (r *readiness) watch() {
	var count [8]byte
	for {
		if _, err := r.file.Read(count[:]); err != nil {
			return
		}
		for _, d := range r.dispatchers() {
			d.notify()
		}
	}
}

func (r *readiness) dispatchers() []*dispatcher {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := make([]*dispatcher, 0, len(r.told))
	for d := range r.told {
		all = append(all, d)
	}
	return all
}

// dispatcher makes one that is told from now on.
func (r *readiness) dispatcher(from C.wqgo_source) *dispatcher {
	d := &dispatcher{from: from}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		d.close()
	} else {
		r.told[d] = true
	}
	return d
}

// end closes a dispatcher, which is not told any more.
func (r *readiness) end(d *dispatcher) {
	r.mu.Lock()
	delete(r.told, d)
	r.mu.Unlock()
	d.close()
}

// close ends every waiting. REQUIRES: the queue is stopped; nothing will come any more.
func (r *readiness) close() {
	r.mu.Lock()
	r.closed = true
	r.mu.Unlock()
	for _, d := range r.dispatchers() {
		d.close()
	}
	r.file.Close()
}
