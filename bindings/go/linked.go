package wq

// This file has the queue of a Store: the library's, called through C.

// #include "border.h"
import "C"

import (
	"context"
	"runtime"
	"time"

	"example.org/wq/internal/remote"
)

// linkedQueue is a queue of a store that this process owns.
type linkedQueue struct {
	*dispatcher // Its getter.
	store       *Store
	handle      C.wq_queue
	waits       bool // An Add waits for the disk, so Adds are joined.
	readiness   *readiness
	adds        remote.JoinedAdds
}

func (s *Store) failureLogger() Logger { return s.logger }

func (s *Store) openQueue(name string, request openRequest) (backend, error) {
	// An Add that waits for room must not hold up others.
	waits := request.options.MaxPending == 0 && s.waitsForDisk(request.options.Durability)
	q := &linkedQueue{store: s, waits: waits}
	var a arena
	defer a.free()
	o, err := queueOptionsToC(request.options, &a)
	if err != nil {
		return nil, err
	}
	groups := listener{}
	if request.groupOf != nil {
		groups = listenBy(request.groupOf)
		groups.installGroups(o)
	}
	err = withName(name, func(name *C.char, e *C.wq_error) C.wq_code {
		return C.wq_store_open_queue(s.handle, name, o, &q.handle, e)
	})
	if err != nil {
		groups.free()
		return nil, err
	}
	if q.readiness, err = newReadiness(q.handle); err != nil {
		C.wq_queue_close(q.handle, nil) // So that it can be opened again.
		groups.free()
		return nil, err
	}
	q.dispatcher = q.readiness.dispatcher(
		C.wqgo_getter{queue: q.handle, has_lanes: toInt(request.options.Order == Priorities)})
	s.watch(q.readiness, groups)
	return q, nil
}

// waitsForDisk returns whether each Add of a queue with this durability waits for the disk, or for
// the replicated log. With a process log an Add at Process copies its key to memory, and waits only
// while the log is full.
func (s *Store) waitsForDisk(durability Durability) bool {
	if durability == Async || durability == Replicated {
		return durability == Replicated
	}
	if dir, err := s.Dir(); err == nil && dir == "" { // In memory.
		return false
	}
	return durability == Power || s.ProcessLogStatus() != nil
}

func (q *linkedQueue) close() error {
	err := q.call(func(h C.wq_queue, e *C.wq_error) C.wq_code { return C.wq_queue_close(h, e) })
	// ShuttingDown: closed with its store. NotOwner: closed when the ownership ended.
	if code := codeOf(err); err != nil && code != ShuttingDown && code != NotOwner {
		return err
	}
	q.store.unwatch(q.readiness)
	return nil
}

func (q *linkedQueue) add(key string) error {
	if q.waits {
		return q.adds.Add(key, q.addJoined)
	}
	return errorOf(C.wqgo_add(q.handle, key))
}

// addJoined makes the Adds of goroutines that wait, in one call.
func (q *linkedQueue) addJoined(keys []string) []error {
	errs := make([]error, len(keys))
	if len(keys) == 1 {
		errs[0] = errorOf(C.wqgo_add(q.handle, keys[0]))
		return errs
	}
	list := newKeyList(keys)
	defer keyLists.Put(list)
	batch, refused := list.add(q.handle, AddOptions{})
	for i := range errs {
		errs[i] = errorOf(batch.result)
	}
	for _, r := range refused { // A call of its own returns the error with its message.
		errs[r.index] = errorOf(C.wqgo_add(q.handle, keys[r.index]))
	}
	return errs
}

func (q *linkedQueue) addWith(key string, call addCall) (Outcome, error) {
	o := addOptionsToC(call.options)
	failure := ""
	if call.how == addRateLimited {
		failure = textOf(call.options.Failure)
		if call.options.After != 0 {
			o.has_max_delay = 1
			o.max_delay_us = C.int64_t(remote.Microseconds(call.options.After))
		}
		if call.retryDelay != nil {
			o.has_retry_delay = 1
			o.retry_delay_us = C.int64_t(remote.Microseconds(*call.retryDelay))
		}
	}
	r := C.wqgo_add_with(q.handle, key, C.wqgo_how(call.how),
		C.int64_t(remote.Microseconds(call.options.After)), failure, o, call.group,
		call.options.Reason, call.options.TraceParent)
	return Outcome(r.outcome), errorOf(r)
}

// The library asks GroupOf itself, for each key.
func (q *linkedQueue) addBatch(
	keys, _ []string, options AddOptions, _ bool) (BatchResult, error) {
	var result BatchResult
	list := newKeyList(keys)
	defer keyLists.Put(list)
	batch, refused := list.add(q.handle, options)
	err := errorOf(batch.result)
	if err != nil && codeOf(err) != NotDurable {
		return result, err
	}
	result.Added = int(batch.added)
	result.Deduplicated = int(batch.deduplicated)
	result.Held = int(batch.held)
	for _, r := range refused {
		result.Refused = append(result.Refused, Refused{Index: int(r.index), Err: Code(r.code)})
	}
	return result, err
}

func (q *linkedQueue) len() (int, error) {
	var n C.size_t
	err := q.call(func(h C.wq_queue, e *C.wq_error) C.wq_code {
		return C.wq_queue_len(h, &n, e)
	})
	return int(n), err
}

func (q *linkedQueue) done(key string) error { return q.change(key, changeDone) }

func (q *linkedQueue) doneBatch(keys []string) error {
	list := newKeyList(keys)
	defer keyLists.Put(list)
	return errorOf(C.wqgo_done_batch(q.handle, list.first(), list.size()))
}

var changes = [...]C.wqgo_change{
	changeDone:        C.wqgo_change(C.wq_queue_done),
	changeForget:      C.wqgo_change(C.wq_queue_forget),
	changeRemove:      C.wqgo_change(C.wq_queue_remove),
	changeCancelDelay: C.wqgo_change(C.wq_queue_cancel_delay),
	changeEndDelay:    C.wqgo_change(C.wq_queue_end_delay),
	changeRelease:     C.wqgo_change(C.wq_queue_release),
	changeDrop:        C.wqgo_change(C.wq_queue_drop),
	changeDelete:      C.wqgo_change(C.wq_queue_delete),
}

func (q *linkedQueue) change(key string, what change) error {
	return errorOf(C.wqgo_change_key(q.handle, key, changes[what]))
}

func (q *linkedQueue) releaseAfter(key string, delay time.Duration) error {
	return q.keyCall(key, func(h C.wq_queue, key *C.char, size C.size_t, e *C.wq_error) C.wq_code {
		return C.wq_queue_release_after(h, key, size, C.int64_t(remote.Microseconds(delay)), e)
	})
}

func (q *linkedQueue) numRequeues(key string) (int, error) {
	var n C.uint64_t
	err := q.keyCall(key, func(h C.wq_queue, key *C.char, size C.size_t, e *C.wq_error) C.wq_code {
		return C.wq_queue_num_requeues(h, key, size, &n, e)
	})
	return int(n), err
}

func (q *linkedQueue) addedAgain(key string) (bool, error) {
	var again C.int32_t
	err := q.keyCall(key, func(h C.wq_queue, key *C.char, size C.size_t, e *C.wq_error) C.wq_code {
		return C.wq_queue_added_again(h, key, size, &again, e)
	})
	return again != 0, err
}

func (q *linkedQueue) token(string) (uint64, error) {
	return 0, newError(NotSupported, "a linked queue has no tokens: its workers end with its owner")
}

func (q *linkedQueue) quarantine(key, reason string) error {
	text, textSize := bytesOf(reason)
	err := q.keyCall(key, func(h C.wq_queue, key *C.char, size C.size_t, e *C.wq_error) C.wq_code {
		return C.wq_queue_quarantine(h, key, size, text, textSize, e)
	})
	runtime.KeepAlive(reason)
	return err
}

func (q *linkedQueue) isQuarantined(key string) (bool, error) {
	var quarantined C.int32_t
	err := q.keyCall(key, func(h C.wq_queue, key *C.char, size C.size_t, e *C.wq_error) C.wq_code {
		return C.wq_queue_is_quarantined(h, key, size, &quarantined, e)
	})
	return quarantined != 0, err
}

func (q *linkedQueue) shutDown() error {
	return q.call(func(h C.wq_queue, e *C.wq_error) C.wq_code { return C.wq_queue_shut_down(h, e) })
}

func (q *linkedQueue) stop() error {
	return q.call(func(h C.wq_queue, e *C.wq_error) C.wq_code { return C.wq_queue_stop(h, e) })
}

func (q *linkedQueue) drain(ctx context.Context) error {
	done := make(chan error, 1)
	go func() {
		done <- q.call(func(h C.wq_queue, e *C.wq_error) C.wq_code {
			return C.wq_queue_shut_down_with_drain(h, C.WQ_FOREVER, e)
		})
	}()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
	}
	for { // A ShutDown ends the drain, unless the drain begins behind it.
		if err := q.shutDown(); err != nil && codeOf(err) != ShuttingDown {
			return err
		}
		select {
		case <-done:
			return ctx.Err()
		case <-time.After(10 * time.Millisecond):
		}
	}
}

func (q *linkedQueue) shuttingDown() bool {
	var down C.int32_t
	err := q.call(func(h C.wq_queue, e *C.wq_error) C.wq_code {
		return C.wq_queue_is_shutting_down(h, &down, e)
	})
	return err != nil || down != 0
}

func (q *linkedQueue) flush(durability Durability) error {
	return q.call(func(h C.wq_queue, e *C.wq_error) C.wq_code {
		return C.wq_queue_flush(h, C.int32_t(durability), e)
	})
}

func (q *linkedQueue) pause(duration time.Duration) error {
	return q.call(func(h C.wq_queue, e *C.wq_error) C.wq_code {
		return C.wq_queue_pause(h, C.int64_t(remote.Microseconds(duration)), e)
	})
}

func (q *linkedQueue) resume() error {
	return q.call(func(h C.wq_queue, e *C.wq_error) C.wq_code { return C.wq_queue_resume(h, e) })
}

func (q *linkedQueue) counts() (Counts, error) {
	c := C.wq_counts{size: C.sizeof_wq_counts}
	err := q.call(func(h C.wq_queue, e *C.wq_error) C.wq_code { return C.wq_queue_counts(h, &c, e) })
	return Counts{
		Queued: int(c.queued), Processing: int(c.processing), Delayed: int(c.delayed),
		Failing: int(c.failing), Quarantined: int(c.quarantined), Paused: c.paused != 0,
		Adds: uint64(c.adds), Dones: uint64(c.dones), Failures: uint64(c.failures),
		Stuck: int(c.stuck), Full: uint64(c.full), HeldBack: int(c.held_back),
		Resyncs: int(c.resyncs)}, err
}

func (q *linkedQueue) positionOf(key string) (int, error) {
	var position C.size_t
	err := q.keyCall(key, func(h C.wq_queue, key *C.char, size C.size_t, e *C.wq_error) C.wq_code {
		return C.wq_queue_position_of(h, key, size, &position, e)
	})
	return int(position), err
}

func (q *linkedQueue) setCursor(name, value string) error {
	defer runtime.KeepAlive(value)
	data, size := bytesOf(value)
	return withName(name, func(name *C.char, e *C.wq_error) C.wq_code {
		return C.wq_queue_set_cursor(q.handle, name, data, size, e)
	})
}

func (q *linkedQueue) cursor(name string) (string, error) {
	value := takeBuffer()
	defer value.giveBack()
	err := withName(name, func(name *C.char, e *C.wq_error) C.wq_code {
		return C.wq_queue_get_cursor(q.handle, name, &value.c.bytes, e)
	})
	if err != nil {
		return "", err
	}
	return value.text(), nil
}

func (q *linkedQueue) eraseCursor(name string) error {
	return withName(name, func(name *C.char, e *C.wq_error) C.wq_code {
		return C.wq_queue_erase_cursor(q.handle, name, e)
	})
}

// call makes a call about the queue.
func (q *linkedQueue) call(body func(h C.wq_queue, e *C.wq_error) C.wq_code) error {
	return call(func(e *C.wq_error) C.wq_code { return body(q.handle, e) })
}

// keyCall makes a call about one key.
func (q *linkedQueue) keyCall(key string,
	body func(h C.wq_queue, key *C.char, size C.size_t, e *C.wq_error) C.wq_code) error {
	data, size := bytesOf(key)
	err := q.call(func(h C.wq_queue, e *C.wq_error) C.wq_code { return body(h, data, size, e) })
	runtime.KeepAlive(key)
	return err
}

// linkedWorker is a worker of a queue with shards.
type linkedWorker struct {
	*dispatcher // Of the worker's shards.
	queue       *linkedQueue
}

func (q *linkedQueue) join() (workerBackend, error) {
	from := C.wqgo_getter{queue: q.handle}
	err := q.call(func(h C.wq_queue, e *C.wq_error) C.wq_code {
		return C.wq_queue_join(h, &from.worker, e)
	})
	if err != nil {
		return nil, err
	}
	return linkedWorker{q.readiness.dispatcher(from), q}, nil
}

func (w linkedWorker) shards() ([]int, error) {
	for capacity := 64; ; {
		shards := make([]C.uint32_t, capacity)
		var n C.size_t
		err := call(func(e *C.wq_error) C.wq_code {
			return C.wq_worker_shards(w.from.worker, &shards[0], C.size_t(capacity), &n, e)
		})
		if err != nil {
			return nil, err
		}
		if int(n) > capacity {
			capacity = int(n)
			continue
		}
		own := make([]int, n)
		for i := range own {
			own[i] = int(shards[i])
		}
		return own, nil
	}
}

func (w linkedWorker) leave() error {
	w.queue.readiness.end(w.dispatcher)
	for {
		err := call(func(e *C.wq_error) C.wq_code { return C.wq_worker_leave(w.from.worker, e) })
		switch codeOf(err) {
		case InvalidArgument: // A poll is running, which is always short.
			runtime.Gosched()
		case ShuttingDown, NotOwner: // The store or the queue was closed: no worker has shards.
			return nil
		default:
			return err
		}
	}
}
