package wq

// #include "border.h"
// #include "clock.h"
// #include "metrics.h"
import "C"

import (
	"runtime"
	"sync"
	"unsafe"
)

// Store is a directory that holds named queues, and this process as its one owner.
type Store struct {
	*openStore
}

// openStore is what a Store refers to, and what does not refer to it: so the garbage collector can
// find out that nobody does.
type openStore struct {
	handle   C.wq_store
	listener listener
	measured bool
	metrics  collector
	clock    *ManualClock // Nil: the machine's.

	mu         sync.Mutex
	queues     []*readiness // Of the open ones.
	closed     bool
	closedWith error
}

// Open opens the store in the directory and becomes its owner. NotFound, AlreadyExists, Locked (the
// message names the owner's pid), Corruption (it names the file), NotSupported. Blocks: for recovery.
func Open(dir string, options StoreOptions) (*Store, error) {
	return open(options, func(o *C.wq_store_options, store *C.wq_store) error {
		return withName(dir, func(dir *C.char, e *C.wq_error) C.wq_code {
			return C.wq_store_open(dir, o, store, e)
		})
	})
}

// OpenInMemory opens a store with nothing behind it, gone with the process: for tests.
func OpenInMemory(options StoreOptions) (*Store, error) {
	return open(options, func(o *C.wq_store_options, store *C.wq_store) error {
		return call(func(e *C.wq_error) C.wq_code { return C.wq_store_open_in_memory(o, store, e) })
	})
}

func open(options StoreOptions, body func(o *C.wq_store_options, store *C.wq_store) error) (*Store, error) {
	o, err := options.toC()
	if err != nil {
		return nil, err
	}
	s := &Store{&openStore{
		listener: newListener(options.OnHealth), measured: options.Metrics, clock: options.Clock}}
	installed := (*C.wqgo_installed)(C.calloc(1, C.sizeof_wqgo_installed))
	defer C.free(unsafe.Pointer(installed))
	s.listener.install(&o)
	if s.measured {
		s.metrics.c = C.wqgo_metrics_new()
		C.wqgo_install_metrics(&o, installed, s.metrics.c)
	}
	if s.clock != nil {
		C.wqgo_install_clock(&o, installed, s.clock.c)
	}
	if err := body(&o, &s.handle); err != nil {
		s.listener.free()
		s.metrics.free()
		return nil, err
	}
	if s.clock != nil {
		s.clock.watch(s.handle)
	}
	runtime.SetFinalizer(s, func(s *Store) {
		open := s.openStore
		go open.close() // It waits for the disk, for which other finalizers must not wait.
	})
	return s, nil
}

// Close stops every queue (Gets that wait return), makes everything durable and closes the files.
// Calls of the store and of its queues fail with ShuttingDown from then on. Again: the same error.
// Blocks: for one flush, and until calls that are under way have returned.
func (s *Store) Close() error {
	runtime.SetFinalizer(s, nil)
	return s.close()
}

func (s *openStore) close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return s.closedWith
	}
	err := call(func(e *C.wq_error) C.wq_code { return C.wq_store_free(s.handle, e) })
	if code := codeOf(err); code == InvalidArgument || code == Forked {
		return err // Refused: by OnHealth, for which it would wait; by a fork, which does not own it.
	}
	s.closed, s.closedWith = true, err
	s.listener.free()
	s.metrics.free()
	if s.clock != nil {
		s.clock.forget(s.handle)
	}
	for _, r := range s.queues {
		r.close()
	}
	s.queues = nil
	return s.closedWith
}

// watch makes the queue's Gets end with the store.
func (s *openStore) watch(r *readiness) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		r.close()
		return
	}
	s.queues = append(s.queues, r)
}

// call makes a call about the store, which lives at least until it returns.
func (s *Store) call(body func(s C.wq_store, e *C.wq_error) C.wq_code) error {
	err := call(func(e *C.wq_error) C.wq_code { return body(s.handle, e) })
	runtime.KeepAlive(s)
	return err
}

// Flush returns when all that was done on any queue before is as durable as asked for. Blocks.
func (s *Store) Flush(durability Durability) error {
	return s.call(func(s C.wq_store, e *C.wq_error) C.wq_code {
		return C.wq_store_flush(s, C.int32_t(durability), e)
	})
}

// Health is nil, or NotDurable from a failed write until the store is mended: it says what failed, and
// when it is tried again. After Close: ShuttingDown. As a health check of controller-runtime:
//
//	mgr.AddHealthzCheck("wq", func(*http.Request) error { return store.Health() })
func (s *Store) Health() error {
	return s.call(func(s C.wq_store, e *C.wq_error) C.wq_code { return C.wq_store_health(s, e) })
}

// Recover tries to make a failed store durable again at once. Nil: it is healthy. Blocks: for one attempt.
func (s *Store) Recover() error {
	return s.call(func(s C.wq_store, e *C.wq_error) C.wq_code { return C.wq_store_recover(s, e) })
}

// QueueNames are those of all queues, open or not, sorted.
func (s *Store) QueueNames() ([]string, error) {
	defer runtime.KeepAlive(s)
	return readKeys(func(names *C.wq_bytes, e *C.wq_error) C.wq_code {
		return C.wq_store_queue_names(s.handle, names, e)
	})
}

// UUID is the store's own, for ever.
func (s *Store) UUID() (string, error) {
	defer runtime.KeepAlive(s)
	return readBytes(func(uuid *C.wq_bytes, e *C.wq_error) C.wq_code {
		return C.wq_store_uuid(s.handle, uuid, e)
	})
}

// Dir is where the store is; "" for one in memory.
func (s *Store) Dir() (string, error) {
	defer runtime.KeepAlive(s)
	return readBytes(func(dir *C.wq_bytes, e *C.wq_error) C.wq_code {
		return C.wq_store_dir(s.handle, dir, e)
	})
}
