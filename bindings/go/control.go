package wq

// This file has the calls of operators: cancelling, quarantine, pausing and stopping.

// #include "border.h"
import "C"

import (
	"context"
	"time"
)

// Flush makes everything that was done on the queue's store before as durable as asked for. Blocks.
func (q *Queue[T]) Flush(durability Durability) error {
	return q.call(func(h C.wq_queue, e *C.wq_error) C.wq_code {
		return C.wq_queue_flush(h, C.int32_t(durability), e)
	})
}

// Remove removes a queued item; of an item that a worker holds, it cancels the Add since Get.
// NotFound: it is not dirty.
func (q *Queue[T]) Remove(item T) error {
	return q.change(item, C.WQGO_REMOVE)
}

// CancelDelay cancels the delay of the item. NotFound: it is not delayed.
func (q *Queue[T]) CancelDelay(item T) error {
	return q.change(item, C.WQGO_CANCEL_DELAY)
}

// Delete deletes all that the queue has of the item, in whatever state it is: its Add, its delay,
// its failures, its quarantine. A worker that holds it still has to call Done. NotFound: the queue
// has nothing of the item.
func (q *Queue[T]) Delete(item T) error {
	if q.limiter != nil {
		q.limiter.Forget(item)
	}
	return q.change(item, C.WQGO_DELETE)
}

// EndDelay adds a delayed item now. NotFound: it is not delayed.
func (q *Queue[T]) EndDelay(item T) error {
	return q.change(item, C.WQGO_END_DELAY)
}

// Quarantine takes the item out of the queue and keeps it with its failures, and the text of why,
// until Release or Drop. A worker that holds it still has to call Done.
func (q *Queue[T]) Quarantine(item T, why error) error {
	reason := textOf(why)
	text, textSize := bytesOf(reason)
	return q.keyCall(item, func(h C.wq_queue, key *C.char, size C.size_t, e *C.wq_error) C.wq_code {
		return q.pinned(C.wq_queue_quarantine(h, key, size, text, textSize, e), reason)
	})
}

// Release adds a quarantined item again and clears its failures. NotFound: it is not quarantined.
func (q *Queue[T]) Release(item T) error {
	return q.change(item, C.WQGO_RELEASE)
}

// Drop deletes a quarantined item and its failures. NotFound: it is not quarantined.
func (q *Queue[T]) Drop(item T) error {
	return q.change(item, C.WQGO_DROP)
}

// IsQuarantined reports whether the item is quarantined.
func (q *Queue[T]) IsQuarantined(item T) (bool, error) {
	var quarantined C.int32_t
	err := q.keyCall(item, func(h C.wq_queue, key *C.char, size C.size_t, e *C.wq_error) C.wq_code {
		return C.wq_queue_is_quarantined(h, key, size, &quarantined, e)
	})
	return quarantined != 0, err
}

// Pause makes the queue hand out nothing until Resume, or for the duration if it is more than 0;
// across restarts too.
func (q *Queue[T]) Pause(duration time.Duration) error {
	return q.call(func(h C.wq_queue, e *C.wq_error) C.wq_code {
		return C.wq_queue_pause(h, microseconds(duration), e)
	})
}

// Resume ends a pause.
func (q *Queue[T]) Resume() error {
	return q.call(func(h C.wq_queue, e *C.wq_error) C.wq_code { return C.wq_queue_resume(h, e) })
}

// Drain shuts the queue down as ShutDown does, and waits until no item is held and none would be
// handed out: the queue is empty, or paused, and then its queued items stay in the store.
// ctx.Err(): the context ended first. ShuttingDown: ShutDown or Stop was called during the drain.
// Blocks, and holds a thread.
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
		q.ShutDown() // Ends the drain.
		<-done
		return ctx.Err()
	}
}

// Stop shuts the queue down as ShutDown does, but Get reports shutdown at once. Pending items stay
// in the store.
func (q *Queue[T]) Stop() error {
	return q.call(func(h C.wq_queue, e *C.wq_error) C.wq_code { return C.wq_queue_stop(h, e) })
}
