package wq

// #include "border.h"
import "C"

import (
	"context"
	"fmt"
	"runtime"
)

// GetContext is Get that ends with the context, and returns an error: ctx.Err(), or ShuttingDown.
// Where a key comes at the moment in which the context ends, it is returned.
func (q *Queue[T]) GetContext(ctx context.Context) (T, error) { return q.getFrom(ctx, q.dispatcher) }

func (q *Queue[T]) getFrom(ctx context.Context, d *dispatcher) (T, error) {
	for {
		key, err := d.get(ctx)
		runtime.KeepAlive(q.store)
		if err != nil {
			var zero T
			return zero, err
		}
		if item, err := q.codec.Decode(key); err == nil {
			return item, nil
		} else {
			q.faults.report(q.putAside(key, err))
		}
	}
}

// putAside quarantines a key that is no item: otherwise it would be handed out again and again.
func (q *Queue[T]) putAside(key string, why error) error {
	reason := "it is no item of this program: " + why.Error()
	data, size := bytesOf(key)
	text, textSize := bytesOf(reason)
	err := q.call(func(h C.wq_queue, e *C.wq_error) C.wq_code {
		return C.wq_queue_quarantine(h, data, size, text, textSize, e)
	})
	if err == nil {
		err = errorOf(C.wqgo_change_key(q.handle, key, C.WQGO_DONE))
	}
	runtime.KeepAlive(reason)
	if err == nil {
		err = newError(InvalidArgument, fmt.Sprintf("the key %q is quarantined: %s", key, reason))
	}
	return err
}

// GetBatch takes as many items as there are at once, at most max, and waits only for the first one.
func (q *Queue[T]) GetBatch(ctx context.Context, max int) ([]T, error) {
	return q.getBatchFrom(ctx, max, q.dispatcher)
}

func (q *Queue[T]) getBatchFrom(ctx context.Context, max int, d *dispatcher) ([]T, error) {
	if max <= 0 {
		return nil, newError(InvalidArgument, "max is not positive")
	}
	keys, err := d.getBatch(ctx, max)
	runtime.KeepAlive(q.store)
	items := make([]T, 0, len(keys))
	for _, key := range keys {
		if item, err := q.codec.Decode(key); err == nil {
			items = append(items, item)
		} else {
			q.faults.report(q.putAside(key, err))
		}
	}
	if err == nil && len(items) == 0 { // None of them was an item.
		return q.getBatchFrom(ctx, max, d)
	}
	return items, err
}

// Finish is Done that returns an error. NotProcessing: nobody holds the item.
func (q *Queue[T]) Finish(item T) error { return q.change(item, C.WQGO_DONE) }

// FinishBatch is Finish of many, with one crossing of the border. NotProcessing: nobody holds some of
// them; the others are done. An item without a key is looked at first: then none is done.
func (q *Queue[T]) FinishBatch(items []T) error {
	keys := make([]string, 0, len(items))
	for _, item := range items {
		key, err := q.codec.Encode(item)
		if err != nil {
			return err
		}
		keys = append(keys, key)
	}
	p := pack(keys)
	defer parcels.Put(p)
	r := C.wqgo_done_batch(q.handle, p.first(), p.size())
	runtime.KeepAlive(q.store)
	return errorOf(r)
}

// AddedAgain tells whether an item that a worker holds was added again since: its work is stale.
func (q *Queue[T]) AddedAgain(item T) (bool, error) {
	var again C.int32_t
	err := q.keyCall(item, func(h C.wq_queue, key *C.char, size C.size_t, e *C.wq_error) C.wq_code {
		return C.wq_queue_added_again(h, key, size, &again, e)
	})
	return again != 0, err
}

// Drain is ShutDown, and waits until nothing is queued and nothing is held. ctx.Err(): that took too
// long. ShuttingDown: ShutDown or Stop was called meanwhile. Blocks, and holds a thread.
func (q *Queue[T]) Drain(ctx context.Context) error {
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
		q.ShutDown() // Ends the waiting.
		<-done
		return ctx.Err()
	}
}

// Stop is ShutDown, and Get reports shutdown at once. What is pending stays in the store.
func (q *Queue[T]) Stop() error {
	return q.call(func(h C.wq_queue, e *C.wq_error) C.wq_code { return C.wq_queue_stop(h, e) })
}
