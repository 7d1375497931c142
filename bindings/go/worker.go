package wq

// This file has the workers of a queue with shards.

// #include "border.h"
import "C"

import (
	"context"
	"runtime"
	"sync/atomic"
)

// Worker serves some of the shards of a queue with shards, and keeps them while no worker joins or
// leaves. At most one item of a shard is held at a time, and its items are handed out in their
// order. Any number of workers may join; a worker beyond the number of shards waits until another
// leaves.
//
//	worker, err := q.Join()
//	if err != nil {
//		return err
//	}
//	defer worker.Leave()
//	for {
//		item, err := worker.GetContext(ctx)
//		if errors.Is(err, wq.ShuttingDown) {
//			return nil
//		}
//		if err != nil {
//			return err
//		}
//		reconcile(item)
//		q.Done(item)
//	}
//
// Any goroutine may make the calls; one that waits holds no thread. An unreachable Worker leaves.
type Worker[T comparable] struct {
	queue      *Queue[T]
	dispatcher *dispatcher
	left       atomic.Bool
}

// Join makes a worker of a queue with QueueOptions.Shards. InvalidArgument: the queue has no
// shards.
func (q *Queue[T]) Join() (*Worker[T], error) {
	from := C.wqgo_source{queue: q.handle}
	err := q.call(func(h C.wq_queue, e *C.wq_error) C.wq_code {
		return C.wq_queue_join(h, &from.worker, e)
	})
	if err != nil {
		return nil, err
	}
	w := &Worker[T]{queue: q, dispatcher: q.readiness.dispatcher(from)}
	runtime.SetFinalizer(w, func(w *Worker[T]) { go w.Leave() })
	return w, nil
}

// Get waits for the next item of the worker's shards as Queue.Get does. shutdown: also after Leave.
func (w *Worker[T]) Get() (item T, shutdown bool) {
	item, err := w.GetContext(context.Background())
	w.queue.reportEnd(err)
	return item, err != nil
}

// GetContext waits as Queue.GetContext does, for an item of the worker's shards.
func (w *Worker[T]) GetContext(ctx context.Context) (T, error) {
	item, _, err := w.queue.getFrom(ctx, w.dispatcher)
	return item, w.leftError(err)
}

// GetBatch takes items as Queue.GetBatch does, at most one of each of the worker's shards.
func (w *Worker[T]) GetBatch(ctx context.Context, max int) ([]T, error) {
	items, err := w.queue.getBatchFrom(ctx, max, w.dispatcher)
	return items, w.leftError(err)
}

// leftError replaces ShuttingDown after Leave by an error that says so.
func (w *Worker[T]) leftError(err error) error {
	if codeOf(err) == ShuttingDown && w.left.Load() {
		err = newError(ShuttingDown, "the worker has left")
	}
	runtime.KeepAlive(w)
	return err
}

// Shards returns the shards that the worker serves now, ascending.
func (w *Worker[T]) Shards() ([]int, error) {
	for capacity := 64; ; {
		shards := make([]C.uint32_t, capacity)
		var n C.size_t
		err := w.queue.call(func(_ C.wq_queue, e *C.wq_error) C.wq_code {
			return C.wq_worker_shards(w.dispatcher.from.worker, &shards[0], C.size_t(capacity), &n, e)
		})
		if err != nil {
			return nil, w.leftError(err)
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

// Leave gives the worker's shards to the other workers; waiting Gets end with shutdown. Items that
// it holds stay held until Done. Idempotent.
func (w *Worker[T]) Leave() error {
	if w.left.Swap(true) {
		return nil
	}
	runtime.SetFinalizer(w, nil)
	w.queue.readiness.end(w.dispatcher)
	for {
		err := w.queue.call(func(_ C.wq_queue, e *C.wq_error) C.wq_code {
			return C.wq_worker_leave(w.dispatcher.from.worker, e)
		})
		switch codeOf(err) {
		case InvalidArgument: // A poll is running, which is always short.
			runtime.Gosched()
		case ShuttingDown: // The store was closed: no worker has shards.
			return nil
		default:
			return err
		}
	}
}
