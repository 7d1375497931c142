package wq

// This file opens, closes and checks stores.

// #include "border.h"
// #include "clock.h"
import "C"

import (
	"context"
	"sync"
	"time"
)

// Store is a directory that holds named queues, and that this process owns.
type Store struct {
	handle   C.wq_store
	listener listener
	leaders  leaders
	logger   Logger        // May be nil.
	clock    *storeClock   // Nil: the machine's clocks.
	ended    chan struct{} // Closed when the store is.

	mu         sync.Mutex
	queues     []*readiness // Of the open queues.
	groups     []listener   // Of all queues, as C may call them until the store is closed.
	closed     bool
	closedWith error
}

// leaders passes changes of the ownership of a replicated store on.
type leaders struct {
	listener listener // None if the store is not replicated.
	mu       sync.Mutex
	changed  chan struct{} // Closed at the next change; nil: nobody waits.
}

// Open opens the store in the directory and becomes its owner; with StoreOptions.Replication it
// becomes a replica, and WaitForLeadership waits for the ownership. NotFound: it does not exist,
// and CreateIfMissing is not set. AlreadyExists: it exists, and ErrorIfExists is set. Locked:
// another process owns it; the message names its pid. Corruption: damaged; the message names the
// file. NotSupported: another format version; Replication without the build tag wq_etcd. Blocks:
// for recovery.
//
// Other programs are started as usual: os/exec and syscall.Exec are safe while a store is open,
// also if the exec fails, as the store's files are closed on exec, and the child of os/exec runs
// nothing else. After syscall.Exec the store is as after a kill. A process that C code has forked,
// without an exec, must not use the store: its calls fail with Forked. Its exit flushes stdio and
// ends it, without the functions of atexit and without destructors.
func Open(dir string, options StoreOptions) (*Store, error) {
	return open(options, func(o *C.wq_store_options, store *C.wq_store) error {
		return withName(dir, func(dir *C.char, e *C.wq_error) C.wq_code {
			return C.wq_store_open(dir, o, store, e)
		})
	})
}

// OpenInMemory opens a store without a directory, gone with the process, for tests.
func OpenInMemory(options StoreOptions) (*Store, error) {
	return open(options, func(o *C.wq_store_options, store *C.wq_store) error {
		return call(func(e *C.wq_error) C.wq_code { return C.wq_store_open_in_memory(o, store, e) })
	})
}

func open(options StoreOptions,
	body func(o *C.wq_store_options, store *C.wq_store) error) (*Store, error) {
	o, err := options.toC()
	if err != nil {
		return nil, err
	}
	var a arena
	defer a.free()
	log, err := options.Replication.openLog()
	if err != nil {
		return nil, err
	}
	defer C.wq_replicated_log_free(log) // The store keeps what it needs of it.
	s := &Store{
		ended:    make(chan struct{}),
		listener: newListener(logHealth(options.Logger, options.OnHealth)),
		logger:   options.Logger}
	s.listener.install(&o)
	if r := options.Replication; r != nil {
		if o.replication, err = r.toC(&a); err != nil {
			s.free()
			return nil, err
		}
		o.replication.log = log
		s.leaders.listener = listenBy(logLeadership(options.Logger, s.leaders.notify, r.OnLeadership))
		s.leaders.listener.installLeadership(o.replication)
	}
	if options.Clock != nil {
		s.clock = options.Clock.begin()
		o.clock = (*C.wq_clock)(a.zeroed(1, C.sizeof_wq_clock))
		C.wqgo_install_clock(o.clock, s.clock.c)
	}
	if err := body(&o, &s.handle); err != nil {
		s.free()
		return nil, err
	}
	s.clock.opened(s.handle)
	return s, nil
}

// Close stops every queue (waiting Gets return), makes everything durable and closes the files. A
// Store that is not closed keeps its files, its threads and its memory until the process ends.
// Later calls of the store and of its queues fail with ShuttingDown; a second Close returns the
// same error. Blocks: for one flush, and until running calls have returned.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return s.closedWith
	}
	err := call(func(e *C.wq_error) C.wq_code { return C.wq_store_close(s.handle, e) })
	if code := codeOf(err); code == InvalidArgument || code == Forked {
		return err // Refused: it would wait for OnHealth, its caller; or a fork does not own the store.
	}
	s.closed, s.closedWith = true, err
	close(s.ended)
	C.wq_store_free(s.handle, nil)
	s.free()
	for _, r := range s.queues {
		r.close()
	}
	s.queues = nil
	return s.closedWith
}

// free frees what C uses. REQUIRES: C makes no further call.
func (s *Store) free() {
	s.listener.free()
	for _, l := range s.groups {
		l.free()
	}
	s.leaders.listener.free()
	s.clock.end()
}

// watch makes Close end the queue's Gets, and free its groups.
func (s *Store) watch(r *readiness, groups listener) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		r.close()
		groups.free()
		return
	}
	s.queues = append(s.queues, r)
	s.groups = append(s.groups, groups)
}

// unwatch ends the queue's Gets. Idempotent.
func (s *Store) unwatch(r *readiness) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, open := range s.queues {
		if open == r {
			s.queues = append(s.queues[:i], s.queues[i+1:]...)
			r.close()
			return
		}
	}
}

// call makes a call about the store.
func (s *Store) call(body func(s C.wq_store, e *C.wq_error) C.wq_code) error {
	return call(func(e *C.wq_error) C.wq_code { return body(s.handle, e) })
}

// DeleteQueue deletes the queue of this name with all that it has: items in every state, cursors,
// pause. A crash leaves the whole queue or none of it. NotFound: it does not exist. Locked: it is
// open; see Queue.Close. Blocks: for reading its records, and for writes.
func (s *Store) DeleteQueue(name string) error {
	return withName(name, func(name *C.char, e *C.wq_error) C.wq_code {
		return C.wq_store_delete_queue(s.handle, name, e)
	})
}

// Flush makes everything that was done on any queue before as durable as asked for. Blocks.
func (s *Store) Flush(durability Durability) error {
	return s.call(func(s C.wq_store, e *C.wq_error) C.wq_code {
		return C.wq_store_flush(s, C.int32_t(durability), e)
	})
}

// Health returns nil; from a failed write until the store has recovered, NotDurable with the
// failure and the time of the next attempt; after Close, ShuttingDown. As a readiness check of
// controller-runtime:
//
//	mgr.AddReadyzCheck("wq", func(*http.Request) error { return store.Health() })
//
// It is no liveness check: a failed store goes on in memory and recovers when the disk works again;
// a kill would lose what only the memory has.
func (s *Store) Health() error {
	return s.call(func(s C.wq_store, e *C.wq_error) C.wq_code { return C.wq_store_health(s, e) })
}

// ProcessLogStatus returns nil if the store has a process log, so that calls at Process do not wait
// for a write. Otherwise why it has none; the store works without it. NotFound:
// StoreOptions.NoProcessLog was set, or the store is in memory. NotSupported: a process log is not
// safe on this file system. IOError: for example, the disk had no space for it.
func (s *Store) ProcessLogStatus() error {
	return s.call(func(s C.wq_store, e *C.wq_error) C.wq_code {
		return C.wq_store_process_log_status(s, e)
	})
}

// Recover tries to recover a failed store at once. Nil: it is healthy. Blocks: for one attempt.
func (s *Store) Recover() error {
	return s.call(func(s C.wq_store, e *C.wq_error) C.wq_code { return C.wq_store_recover(s, e) })
}

// QueueNames returns the names of all queues, open or not, sorted.
func (s *Store) QueueNames() ([]string, error) {
	return readKeys(func(names *C.wq_bytes, e *C.wq_error) C.wq_code {
		return C.wq_store_queue_names(s.handle, names, e)
	})
}

// UUID returns the store's UUID, which never changes.
func (s *Store) UUID() (string, error) {
	return readBytes(func(uuid *C.wq_bytes, e *C.wq_error) C.wq_code {
		return C.wq_store_uuid(s.handle, uuid, e)
	})
}

// Dir returns the store's directory; "" for a store in memory.
func (s *Store) Dir() (string, error) {
	return readBytes(func(dir *C.wq_bytes, e *C.wq_error) C.wq_code {
		return C.wq_store_dir(s.handle, dir, e)
	})
}

// Replication. Each call returns at once in a store that is not replicated.

// notify wakes those who wait for the ownership.
func (l *leaders) notify() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.changed != nil {
		close(l.changed)
		l.changed = nil
	}
}

// next returns a channel that is closed at the next change.
func (l *leaders) next() <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.changed == nil {
		l.changed = make(chan struct{})
	}
	return l.changed
}

func (s *Store) isOwner() (bool, error) {
	var owner C.int32_t
	err := s.call(func(s C.wq_store, e *C.wq_error) C.wq_code {
		return C.wq_store_is_owner(s, &owner, e)
	})
	return owner != 0, err
}

// IsOwner reports whether this process owns the store now: always, unless the store is replicated
// or closed. It may not be true any more when the caller looks at it.
func (s *Store) IsOwner() bool {
	owner, _ := s.isOwner()
	return owner
}

// Epoch returns the epoch of the present ownership, which grows from one ownership to the next:
// what a reconciler writes to can refuse the writes of former owners by it. 0: this process does
// not own the store. Of a store that is not replicated: 1.
func (s *Store) Epoch() uint64 {
	var epoch C.uint64_t
	err := s.call(func(s C.wq_store, e *C.wq_error) C.wq_code {
		return C.wq_store_epoch(s, &epoch, e)
	})
	if err != nil {
		return 0
	}
	return uint64(epoch)
}

// WaitForLeadership waits until this process owns the store; then OpenQueue opens its queues. When
// the ownership ends, they are closed for good: their calls fail with NotOwner, and Get reports
// shutdown. ctx.Err(): the context ended first. ShuttingDown: the store is closed.
func (s *Store) WaitForLeadership(ctx context.Context) error {
	for {
		changed := s.leaders.next()
		owner, err := s.isOwner()
		if owner || err != nil {
			return err
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		case <-s.ended:
			return closedError()
		}
	}
}

// Resign hands the ownership over to another replica, and goes on as a replica. NotOwner: it did
// not own the store. NotDurable: the last changes could not be written to the log; the ownership
// has ended. InvalidArgument: the store is not replicated. Blocks: for some requests to the log.
func (s *Store) Resign() error {
	return s.call(func(s C.wq_store, e *C.wq_error) C.wq_code { return C.wq_store_resign(s, e) })
}

// Replica returns the state of this replica; of a store that is not replicated, that of an owner.
func (s *Store) Replica() (ReplicaState, error) {
	c := C.wq_replica_state{size: C.sizeof_wq_replica_state}
	err := s.call(func(s C.wq_store, e *C.wq_error) C.wq_code {
		return C.wq_store_replica(s, &c, e)
	})
	if err != nil {
		return ReplicaState{}, err
	}
	state := ReplicaState{Owner: c.owner != 0, Epoch: uint64(c.epoch), Applied: uint64(c.applied),
		OwnerName: C.GoString(&c.owner_name[0])}
	if c.applied_at_us != 0 {
		state.AppliedAt = time.UnixMicro(int64(c.applied_at_us))
	}
	if c.log.code != C.WQ_OK {
		state.Log = fromC(c.log.code, C.GoString(&c.log.message[0]))
	}
	return state, nil
}
