package wq

// This file has the queue in the shape of controller-runtime's PriorityQueue.

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"time"
)

// PriorityQueue is a queue with the shape of controller-runtime's priorityqueue.PriorityQueue[T],
// where O is its AddOpts. Of the Adds of an item since it was handed out, the highest priority and
// the earliest time count. README.md compares it with controller-runtime's.
//
//	wq.OpenPriorityQueue[reconcile.Request, priorityqueue.AddOpts](
//		store, name, wq.QueueOptions[reconcile.Request]{})
type PriorityQueue[T comparable, O PriorityOptions] struct {
	*Queue[T]
	fields addOptsReader // Of O.
}

// OpenPriorityQueue opens a queue as OpenQueue does, with Order Priorities, ReAddRaisesLane and
// MergeDelays.
func OpenPriorityQueue[T comparable, O PriorityOptions](
	store Opener, name string, options QueueOptions[T]) (*PriorityQueue[T, O], error) {
	fields, err := newAddOptsReader[O]()
	if err != nil {
		return nil, err
	}
	options.Order = Priorities
	options.ReAddRaisesLane = true
	options.MergeDelays = true
	q, err := newQueue(store, name, options, true)
	if err != nil {
		return nil, err
	}
	return &PriorityQueue[T, O]{q, fields}, nil
}

// AddWithOpts adds the items with these options. RateLimited with an After counts a failure, and
// the shorter of the two delays is taken. If an item cannot be added, Err and Errors name it; the
// others are added.
func (q *PriorityQueue[T, O]) AddWithOpts(options O, items ...T) {
	o, err := readAddOpts(&q.fields, options)
	q.failures.report(err)
	add := AddOptions{After: o.After, RateLimited: o.RateLimited, Lane: laneOf(o.Priority)}
	if len(items) > 1 && !o.RateLimited && o.After <= 0 {
		result, err := q.addBatch(items, add, true)
		q.failures.report(err)
		for _, refused := range result.Refused {
			q.failures.report(itemError(refused.Err, refused.Index, items))
		}
		return
	}
	for i, item := range items {
		_, err := q.addWith(item, add, howOf(add), true)
		q.failures.report(itemError(err, i, items))
	}
}

// maxItemText bounds the text of an item in an error: the item may be refused for its length.
const maxItemText = 200

// itemError names the item in an error that is about it.
func itemError[T any](err error, index int, items []T) error {
	if err == nil || errors.Is(err, ShuttingDown) || errors.Is(err, NotDurable) ||
		errors.Is(err, NotOwner) {
		return err
	}
	cause := err.Error() // Of a codec.
	var e *Error
	if errors.As(err, &e) {
		cause = e.Message
	} else if errors.Is(err, InvalidArgument) {
		cause = "its key is empty or too long" // In a batch, where only the code is returned.
	}
	text := strconv.Quote(fmt.Sprint(items[index]))
	if len(text) > maxItemText {
		text = text[:maxItemText] + "..."
	}
	return newError(InvalidArgument, fmt.Sprintf("item %d of %d, %s: %s",
		index+1, len(items), text, cause))
}

// laneOf returns the lane of a priority: 0 for nil, the nearest lane for one out of range.
func laneOf(priority *int) *Lane {
	switch {
	case priority == nil:
		return InLane(0)
	case *priority > math.MaxInt32:
		return InLane(math.MaxInt32)
	case *priority < math.MinInt32:
		return InLane(math.MinInt32)
	}
	return InLane(Lane(*priority))
}

// GetWithPriority waits for an item as Get does, and returns the priority with which it was queued;
// 0 at a shutdown.
func (q *PriorityQueue[T, O]) GetWithPriority() (item T, priority int, shutdown bool) {
	item, lane, err := q.getFrom(context.Background(), q.backend)
	q.reportEnd(err)
	return item, int(lane), err != nil
}

// Add adds the item with priority 0; so do AddAfter and AddRateLimited.
func (q *PriorityQueue[T, O]) Add(item T) {
	var none O
	q.AddWithOpts(none, item)
}

// AddAfter adds the item as Queue.AddAfter does, with priority 0.
func (q *PriorityQueue[T, O]) AddAfter(item T, duration time.Duration) {
	_, err := q.addWith(item, AddOptions{After: duration, Lane: InLane(0)}, addAfter, true)
	q.failures.report(err)
}

// AddRateLimited adds the item as Queue.AddRateLimited does, with priority 0.
func (q *PriorityQueue[T, O]) AddRateLimited(item T) {
	_, err := q.addWith(item, AddOptions{RateLimited: true, Lane: InLane(0)}, addRateLimited, true)
	q.failures.report(err)
}
