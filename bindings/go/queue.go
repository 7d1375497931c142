package wq

// #include "border.h"
import "C"

import (
	"context"
	"fmt"
	"runtime"
	"time"
)

// Queue is a durable workqueue.TypedRateLimitingInterface. Here are that interface's methods, in its
// order; those that return errors, and those that it does not have, are in the other files.
//
// An item must be encodable, which every item of DefaultCodec is but the empty string: see Codec.
type Queue[T comparable] struct {
	store      *Store // Keeps it alive.
	handle     C.wq_queue
	name       string
	codec      Codec[T]
	limiter    RateLimiter[T] // May be nil.
	groupOf    func(item T) string
	waits      bool // An Add waits for the disk.
	readiness  *readiness
	dispatcher *dispatcher
	together   together
	faults     faults
}

// OpenQueue opens the queue of this name, 1 to 64 of [A-Za-z0-9._-]. AlreadyExists: it is open; a queue
// is closed with its store. NotFound, InvalidArgument. Blocks: for reading its records.
func OpenQueue[T comparable](store *Store, name string, options QueueOptions[T]) (*Queue[T], error) {
	q := &Queue[T]{
		store: store, name: name, codec: options.Codec, limiter: options.Limiter, groupOf: options.GroupOf}
	q.waits = options.Durability != Async
	if q.codec == nil {
		codec, err := DefaultCodec[T]()
		if err != nil {
			return nil, err
		}
		q.codec = codec
	}
	var a arena
	defer a.free()
	o, err := options.toC(&a)
	if err != nil {
		return nil, err
	}
	err = withName(name, func(name *C.char, e *C.wq_error) C.wq_code {
		return C.wq_store_open_queue(store.handle, name, o, &q.handle, e)
	})
	if err != nil {
		return nil, err
	}
	if q.readiness, err = newReadiness(q.handle); err != nil {
		return nil, err
	}
	q.dispatcher = q.readiness.dispatcher(C.wqgo_source{queue: q.handle})
	store.watch(q.readiness)
	runtime.KeepAlive(store)
	return q, nil
}

// NewQueue opens the queue of this name with this limiter, which may be nil. It is for where no error
// can be returned, such as controller.Options.NewQueue, and panics where OpenQueue fails.
func NewQueue[T comparable](store *Store, name string, limiter RateLimiter[T]) *Queue[T] {
	q, err := OpenQueue(store, name, QueueOptions[T]{Limiter: limiter})
	if err != nil {
		panic(fmt.Sprintf("wq: opening queue %q: %v", name, err))
	}
	return q
}

// NewQueueFunc is NewQueue with the very type of controller.Options.NewQueue:
//
//	controller.Options{NewQueue: wq.NewQueueFunc[reconcile.Request,
//		workqueue.TypedRateLimiter[reconcile.Request],
//		workqueue.TypedRateLimitingInterface[reconcile.Request]](store)}
//
// I is an interface that *Queue[T] has: that is found out when it is called, and panics.
func NewQueueFunc[T comparable, L RateLimiter[T], I any](store *Store) func(name string, limiter L) I {
	return func(name string, limiter L) I {
		return any(NewQueue[T](store, name, limiter)).(I)
	}
}

// Name is the queue's.
func (q *Queue[T]) Name() string { return q.name }

// Err is the latest failure of a call that could not return it; nil: none failed. It is kept:
// look at Store.Health for whether the store is well now.
func (q *Queue[T]) Err() error { return q.faults.err() }

// Errors is where failures of calls that cannot return them go, from the first Errors on. Nobody needs
// to read it: what does not fit is left out.
func (q *Queue[T]) Errors() <-chan error { return q.faults.errors() }

// Add marks the item as needing work.
func (q *Queue[T]) Add(item T) {
	q.faults.report(q.add(item))
}

func (q *Queue[T]) add(item T) error {
	if q.groupOf != nil {
		_, err := q.AddWith(item, AddOptions{})
		return err
	}
	key, err := q.codec.Encode(item)
	if err != nil {
		return err
	}
	if q.waits {
		err = q.together.add(q.handle, key)
	} else {
		err = errorOf(C.wqgo_add(q.handle, key))
	}
	runtime.KeepAlive(q.store)
	return err
}

// Len is how many items are ready to be handed out.
func (q *Queue[T]) Len() int {
	var n C.size_t
	q.faults.report(q.call(func(h C.wq_queue, e *C.wq_error) C.wq_code { return C.wq_queue_len(h, &n, e) }))
	return int(n)
}

// Get waits for the next item, which the caller holds until Done. shutdown: the queue is shutting down
// and empty, or the store is closed, or (see Err) a call failed.
func (q *Queue[T]) Get() (item T, shutdown bool) {
	item, err := q.GetContext(context.Background())
	q.reportEnd(err)
	return item, err != nil
}

// reportEnd keeps what a wait ended with, unless that is a shutdown.
func (q *Queue[T]) reportEnd(err error) {
	if codeOf(err) != ShuttingDown {
		q.faults.report(err)
	}
}

// Done says that the worker has finished with the item. If it was added meanwhile it is queued again.
func (q *Queue[T]) Done(item T) { q.faults.report(q.Finish(item)) }

// ShutDown refuses Adds from now on; Get hands out what is queued, then reports shutdown. What is not
// worked off stays in the store.
func (q *Queue[T]) ShutDown() {
	q.faults.report(q.call(func(h C.wq_queue, e *C.wq_error) C.wq_code { return C.wq_queue_shut_down(h, e) }))
}

// ShutDownWithDrain is ShutDown, and returns when nothing is queued and nothing is held, or when
// ShutDown or Stop is called meanwhile.
func (q *Queue[T]) ShutDownWithDrain() {
	q.reportEnd(q.Drain(context.Background()))
}

// ShuttingDown tells whether the queue is shutting down, or its store closed.
func (q *Queue[T]) ShuttingDown() bool {
	var down C.int32_t
	err := q.call(func(h C.wq_queue, e *C.wq_error) C.wq_code {
		return C.wq_queue_is_shutting_down(h, &down, e)
	})
	return err != nil || down != 0
}

// AddAfter adds the item once the time has passed, also over restarts; of two delays the earlier
// instant wins.
func (q *Queue[T]) AddAfter(item T, duration time.Duration) {
	_, err := q.addWith(item, AddOptions{After: duration}, C.WQGO_AFTER)
	q.faults.report(err)
}

// AddRateLimited counts a failure of the item, and adds it after the time that the limiter says. If it
// failed more often than MaxRequeues it is quarantined.
func (q *Queue[T]) AddRateLimited(item T) {
	_, err := q.AddWith(item, AddOptions{RateLimited: true})
	q.faults.report(err)
}

// Forget clears the failures of the item. Done is still to be called.
func (q *Queue[T]) Forget(item T) {
	if q.limiter != nil {
		q.limiter.Forget(item)
	}
	q.faults.report(q.change(item, C.WQGO_FORGET))
}

// NumRequeues is how often the item failed since its last Forget, restarts or not.
func (q *Queue[T]) NumRequeues(item T) int {
	var n C.uint64_t
	q.faults.report(q.keyCall(item, func(h C.wq_queue, key *C.char, size C.size_t, e *C.wq_error) C.wq_code {
		return C.wq_queue_num_requeues(h, key, size, &n, e)
	}))
	return int(n)
}

// call makes a call about the queue.
func (q *Queue[T]) call(body func(h C.wq_queue, e *C.wq_error) C.wq_code) error {
	err := call(func(e *C.wq_error) C.wq_code { return body(q.handle, e) })
	runtime.KeepAlive(q.store)
	return err
}

// change makes one of the changes that need but the item.
func (q *Queue[T]) change(item T, what C.wqgo_change) error {
	key, err := q.codec.Encode(item)
	if err != nil {
		return err
	}
	r := C.wqgo_change_key(q.handle, key, what)
	runtime.KeepAlive(q.store)
	return errorOf(r)
}

// aboutKey is a call of C about one key.
type aboutKey = func(h C.wq_queue, key *C.char, size C.size_t, e *C.wq_error) C.wq_code

// keyCall makes a call about one item.
func (q *Queue[T]) keyCall(item T, body aboutKey) error {
	key, err := q.codec.Encode(item)
	if err != nil {
		return err
	}
	data, size := bytesOf(key)
	err = q.call(func(h C.wq_queue, e *C.wq_error) C.wq_code { return body(h, data, size, e) })
	runtime.KeepAlive(key)
	return err
}
