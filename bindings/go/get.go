package wq

// This file hands out items and finishes them.

// #include "border.h"
import "C"

import (
	"context"
	"fmt"
	"runtime"
)

// GetContext waits for the next item as Get does, at most until the context ends. It returns
// ctx.Err() or ShuttingDown as errors. A key that is handed out while the context ends is returned.
func (q *Queue[T]) GetContext(ctx context.Context) (T, error) {
	item, _, err := q.getFrom(ctx, q.dispatcher)
	return item, err
}

// getFrom returns the item's lane, too, if the dispatcher's source has lanes.
func (q *Queue[T]) getFrom(ctx context.Context, d *dispatcher) (item T, lane Lane, err error) {
	for {
		key, lane, err := d.get(ctx)
		runtime.KeepAlive(q.store)
		if err != nil {
			return item, 0, err
		}
		if item, err := q.codec.Decode(key); err == nil {
			return item, lane, nil
		} else {
			q.failures.report(q.quarantineKey(key, err))
		}
	}
}

// quarantineKey quarantines a key that the codec cannot decode, because a requeue would hand it out
// without end. It returns the error to report.
func (q *Queue[T]) quarantineKey(key string, cause error) error {
	reason := "it is no item of this program: " + cause.Error()
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

// GetBatch takes all queued items, at most max, and waits only for the first.
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
			q.failures.report(q.quarantineKey(key, err))
		}
	}
	if err == nil && len(items) == 0 { // No key was an item.
		return q.getBatchFrom(ctx, max, d)
	}
	return items, err
}

// Finish is Done with an error as its result. NotProcessing: no worker holds the item.
func (q *Queue[T]) Finish(item T) error { return q.change(item, C.WQGO_DONE) }

// FinishBatch finishes many items with one call into C. NotProcessing: some items are not held; the
// others are done. InvalidArgument: an item has no key; no item is done.
func (q *Queue[T]) FinishBatch(items []T) error {
	keys := make([]string, 0, len(items))
	for _, item := range items {
		key, err := q.codec.Encode(item)
		if err != nil {
			return err
		}
		keys = append(keys, key)
	}
	list := newKeyList(keys)
	defer keyLists.Put(list)
	r := C.wqgo_done_batch(q.handle, list.first(), list.size())
	runtime.KeepAlive(q.store)
	return errorOf(r)
}

// AddedAgain reports whether an item that a worker holds was added again since Get: its work is
// stale.
func (q *Queue[T]) AddedAgain(item T) (bool, error) {
	var again C.int32_t
	err := q.keyCall(item, func(h C.wq_queue, key *C.char, size C.size_t, e *C.wq_error) C.wq_code {
		return C.wq_queue_added_again(h, key, size, &again, e)
	})
	return again != 0, err
}
