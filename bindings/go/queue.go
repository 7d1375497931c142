package wq

// This file has the queue and the methods of client-go's workqueue.TypedRateLimitingInterface.

// #include "border.h"
import "C"

import (
	"context"
	"runtime"
	"time"
)

// Queue is a durable workqueue.TypedRateLimitingInterface. It has that interface's methods, methods
// that return errors, and methods that the interface lacks.
//
// An item must be encodable. DefaultCodec encodes every item except the empty string: see Codec.
type Queue[T comparable] struct {
	store      *Store // Keeps the store reachable.
	handle     C.wq_queue
	name       string
	codec      Codec[T]
	limiter    RateLimiter[T] // May be nil.
	groupOf    func(item T) string
	waits      bool // Add waits for the disk.
	stops      bool // StopOnShutDown.
	readiness  *readiness
	dispatcher *dispatcher
	addBatcher addBatcher
	failures   failures
}

// OpenQueue opens the queue of this name, 1 to 64 of [A-Za-z0-9._-]. AlreadyExists: it is open
// already; Queue.Close and Store.Close close it. NotFound: it does not exist, and MustExist is set.
// InvalidArgument: an invalid name or option. Blocks: for reading its records.
func OpenQueue[T comparable](
	store *Store, name string, options QueueOptions[T]) (*Queue[T], error) {
	q := &Queue[T]{
		store: store, name: name, codec: options.Codec, limiter: options.Limiter,
		groupOf: options.GroupOf}
	q.waits = options.Durability != Async
	q.stops = options.StopOnShutDown
	q.failures.log = func(err error) { logFailure(store.logger, name, err) }
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
		C.wq_queue_close(q.handle, nil) // So that it can be opened again.
		return nil, err
	}
	q.dispatcher = q.readiness.dispatcher(
		C.wqgo_source{queue: q.handle, has_lanes: toInt(options.Order == Priorities)})
	store.watch(q.readiness)
	store.reporter.begin(name)
	runtime.KeepAlive(store)
	return q, nil
}

// Close stops the queue (waiting Gets return) and writes its changes, so that the store can open it
// again: its items stay there, and those that workers hold are handed out again after that. Later
// changes fail with ShuttingDown. A queue of a store in memory loses its items. Idempotent.
// NotDurable: a write has failed; the queue is stopped, and not closed. Blocks: for one sync.
func (q *Queue[T]) Close() error {
	err := q.call(func(h C.wq_queue, e *C.wq_error) C.wq_code { return C.wq_queue_close(h, e) })
	if err != nil && codeOf(err) != ShuttingDown { // ShuttingDown: closed with its store.
		return err
	}
	q.store.unwatch(q.readiness)
	return nil
}

// Name returns the queue's name.
func (q *Queue[T]) Name() string { return q.name }

// Err returns the latest error of a call that does not return errors; nil: none failed. It stays
// set: Store.Health reports the present state of the store.
func (q *Queue[T]) Err() error { return q.failures.err() }

// Errors returns a channel that receives the errors of calls that do not return them, from the
// first call of Errors on. It need not be read: errors that do not fit are dropped.
func (q *Queue[T]) Errors() <-chan error { return q.failures.errors() }

// Add marks the item as needing work.
func (q *Queue[T]) Add(item T) {
	q.failures.report(q.add(item))
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
		err = q.addBatcher.add(q.handle, key)
	} else {
		err = errorOf(C.wqgo_add(q.handle, key))
	}
	runtime.KeepAlive(q.store)
	return err
}

// Len returns how many items are ready to be handed out.
func (q *Queue[T]) Len() int {
	var n C.size_t
	q.failures.report(q.call(func(h C.wq_queue, e *C.wq_error) C.wq_code {
		return C.wq_queue_len(h, &n, e)
	}))
	return int(n)
}

// Get waits for the next item, which the caller holds until Done. shutdown: the queue is shutting
// down and empty or paused, or the store is closed, or (see Err) a call failed.
func (q *Queue[T]) Get() (item T, shutdown bool) {
	item, err := q.GetContext(context.Background())
	q.reportEnd(err)
	return item, err != nil
}

// reportEnd records the error that ended a wait, unless it is a shutdown.
func (q *Queue[T]) reportEnd(err error) {
	if codeOf(err) != ShuttingDown {
		q.failures.report(err)
	}
}

// Done ends the processing of the item. If the item was added since Get, it is queued again.
func (q *Queue[T]) Done(item T) { q.failures.report(q.Finish(item)) }

// ShutDown refuses Adds from now on; Get hands out what is queued, then reports shutdown. Items
// that are not processed stay in the store. With StopOnShutDown it is Stop.
func (q *Queue[T]) ShutDown() {
	if q.stops {
		q.failures.report(q.Stop())
		return
	}
	q.failures.report(q.call(func(h C.wq_queue, e *C.wq_error) C.wq_code {
		return C.wq_queue_shut_down(h, e)
	}))
}

// ShutDownWithDrain shuts the queue down as ShutDown does, and returns when no item is held and
// none would be handed out (the queue is empty, or paused), or when ShutDown or Stop is called. So
// it waits for workers that take what is queued: without any it does not return, where client-go's
// returns as soon as no item is held. With StopOnShutDown it is Stop.
func (q *Queue[T]) ShutDownWithDrain() {
	if q.stops {
		q.ShutDown()
		return
	}
	q.reportEnd(q.Drain(context.Background()))
}

// ShuttingDown reports whether the queue is shutting down, or its store is closed.
func (q *Queue[T]) ShuttingDown() bool {
	var down C.int32_t
	err := q.call(func(h C.wq_queue, e *C.wq_error) C.wq_code {
		return C.wq_queue_is_shutting_down(h, &down, e)
	})
	return err != nil || down != 0
}

// AddAfter adds the item once the duration has passed, also across restarts; of two delays the
// earlier end wins.
func (q *Queue[T]) AddAfter(item T, duration time.Duration) {
	_, err := q.addWith(item, AddOptions{After: duration}, C.WQGO_AFTER)
	q.failures.report(err)
}

// AddRateLimited counts a failure of the item, and adds it after the limiter's delay. An item that
// failed more often than MaxRequeues is quarantined. The limiter is asked first, in any case.
func (q *Queue[T]) AddRateLimited(item T) {
	_, err := q.AddWith(item, AddOptions{RateLimited: true})
	q.failures.report(err)
}

// Forget clears the failures of the item. The worker still has to call Done.
func (q *Queue[T]) Forget(item T) {
	if q.limiter != nil {
		q.limiter.Forget(item)
	}
	q.failures.report(q.change(item, C.WQGO_FORGET))
}

// NumRequeues returns how often the item has failed since its last Forget; it survives restarts.
func (q *Queue[T]) NumRequeues(item T) int {
	var n C.uint64_t
	q.failures.report(q.keyCall(item, func(h C.wq_queue, key *C.char, size C.size_t,
		e *C.wq_error) C.wq_code {
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

// change makes a change that needs only the item.
func (q *Queue[T]) change(item T, what C.wqgo_change) error {
	key, err := q.codec.Encode(item)
	if err != nil {
		return err
	}
	r := C.wqgo_change_key(q.handle, key, what)
	runtime.KeepAlive(q.store)
	return errorOf(r)
}

// keyFunc is a C call about one key.
type keyFunc = func(h C.wq_queue, key *C.char, size C.size_t, e *C.wq_error) C.wq_code

// keyCall makes a call about one item.
func (q *Queue[T]) keyCall(item T, body keyFunc) error {
	key, err := q.codec.Encode(item)
	if err != nil {
		return err
	}
	data, size := bytesOf(key)
	err = q.call(func(h C.wq_queue, e *C.wq_error) C.wq_code { return body(h, data, size, e) })
	runtime.KeepAlive(key)
	return err
}
