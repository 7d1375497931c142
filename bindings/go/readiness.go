package wq

// This file passes a queue's notifications to its dispatchers.

// #include "border.h"
import "C"

import (
	"os"
	"sync"
)

// readiness receives a queue's notifications from a descriptor that Go's poller watches, and passes
// each to all dispatchers. It does not refer to the Store, so that its goroutine keeps no store
// reachable.
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
func (r *readiness) dispatcher(from C.wqgo_source) *dispatcher {
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
