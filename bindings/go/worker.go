package wq

// #include "border.h"
import "C"

import (
	"context"
	"runtime"
	"sync/atomic"
)

// Worker serves some of the shards of a queue that has shards, each always the same while nobody joins
// or leaves. Of a shard at most one item is held at a time, and its items come in their order. As many
// workers as you like may join; those beyond the number of shards wait until another leaves.
//
//	worker, err := q.Join()
//	if err != nil {
//		return err
//	}
//	defer worker.Leave()
//	for {
//		item, shutdown := worker.Get()
//		if shutdown {
//			return q.Err()
//		}
//		reconcile(item)
//		q.Done(item)
//	}
//
// Calls may be made by any goroutine; one that waits is parked, and costs no thread. A Worker that nothing
// refers to any more leaves.
type Worker[T comparable] struct {
	queue      *Queue[T]
	dispatcher *dispatcher
	left       atomic.Bool
}

// Join makes a worker of a queue with QueueOptions.Shards. InvalidArgument: it has none.
func (q *Queue[T]) Join() (*Worker[T], error) {
	from := C.wqgo_source{queue: q.handle}
	err := q.call(func(h C.wq_queue, e *C.wq_error) C.wq_code { return C.wq_queue_join(h, &from.worker, e) })
	if err != nil {
		return nil, err
	}
	w := &Worker[T]{queue: q, dispatcher: q.readiness.dispatcher(from)}
	runtime.SetFinalizer(w, func(w *Worker[T]) { go w.Leave() })
	return w, nil
}

// Get waits for the next item of its shards, as Queue.Get. shutdown: also because the worker has left.
func (w *Worker[T]) Get() (item T, shutdown bool) {
	item, err := w.GetContext(context.Background())
	w.queue.reportEnd(err)
	return item, err != nil
}

// GetContext is as Queue.GetContext.
func (w *Worker[T]) GetContext(ctx context.Context) (T, error) {
	item, err := w.queue.getFrom(ctx, w.dispatcher)
	return item, w.why(err)
}

// GetBatch is as Queue.GetBatch: at most one item of each of its shards.
func (w *Worker[T]) GetBatch(ctx context.Context, max int) ([]T, error) {
	items, err := w.queue.getBatchFrom(ctx, max, w.dispatcher)
	return items, w.why(err)
}

// why is the error; of a worker that has left, that.
func (w *Worker[T]) why(err error) error {
	if codeOf(err) == ShuttingDown && w.left.Load() {
		err = newError(ShuttingDown, "the worker has left")
	}
	runtime.KeepAlive(w)
	return err
}

// Shards are those that it serves now, ascending.
func (w *Worker[T]) Shards() ([]int, error) {
	for room := 64; ; {
		shards := make([]C.uint32_t, room)
		var n C.size_t
		err := w.queue.call(func(_ C.wq_queue, e *C.wq_error) C.wq_code {
			return C.wq_worker_shards(w.dispatcher.from.worker, &shards[0], C.size_t(room), &n, e)
		})
		if err != nil {
			return nil, w.why(err)
		}
		if int(n) > room {
			room = int(n)
			continue
		}
		own := make([]int, n)
		for i := range own {
			own[i] = int(shards[i])
		}
		return own, nil
	}
}

// Leave gives its shards to the others; Gets that wait end with shutdown. Items that it holds stay held
// until Done. Again: nil.
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
		case InvalidArgument: // A look is under way, which never takes long.
			runtime.Gosched()
		case ShuttingDown: // The store was closed: nobody has shards.
			return nil
		default:
			return err
		}
	}
}
