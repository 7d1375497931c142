//go:build cgo

package wq

// This file has the queue in the shape of controller-runtime's PriorityQueue.

import (
	"math"
	"time"
)

// PriorityQueue is a queue with the shape of controller-runtime's priorityqueue.PriorityQueue[T],
// where O is its AddOpts. An item that is added again keeps the higher of its priorities.
//
//	wq.OpenPriorityQueue[reconcile.Request, priorityqueue.AddOpts](
//		store, name, wq.QueueOptions[reconcile.Request]{})
type PriorityQueue[T comparable, O PriorityOptions] struct {
	*Queue[T]
	fields addOptsReader // Of O.
}

// KeepPriority is the priority that GetWithPriority returns: an item that is added with it keeps
// its priority, which the queue stores.
const KeepPriority = math.MinInt

// OpenPriorityQueue opens a queue as OpenQueue does, with Order Priorities and ReAddRaisesLane.
func OpenPriorityQueue[T comparable, O PriorityOptions](
	store *Store, name string, options QueueOptions[T]) (*PriorityQueue[T, O], error) {
	fields, err := newAddOptsReader[O]()
	if err != nil {
		return nil, err
	}
	options.Order = Priorities
	options.ReAddRaisesLane = true
	q, err := OpenQueue(store, name, options)
	if err != nil {
		return nil, err
	}
	return &PriorityQueue[T, O]{q, fields}, nil
}

// AddWithOpts adds the items with these options.
func (q *PriorityQueue[T, O]) AddWithOpts(options O, items ...T) {
	o, err := readAddOpts(&q.fields, options)
	q.failures.report(err)
	add := AddOptions{After: o.After, RateLimited: o.RateLimited, Lane: laneOf(o.Priority)}
	if len(items) > 1 && !o.RateLimited && o.After <= 0 {
		result, err := q.AddBatch(items, add)
		q.failures.report(err)
		for _, refused := range result.Refused {
			q.failures.report(refused.Err)
		}
		return
	}
	for _, item := range items {
		_, err := q.AddWith(item, add)
		q.failures.report(err)
	}
}

// laneOf returns the lane of a priority; nil for KeepPriority, the nearest lane for one out of
// range.
func laneOf(priority *int) *Lane {
	switch {
	case priority == nil:
		return InLane(0)
	case *priority == KeepPriority:
		return nil
	case *priority > math.MaxInt32:
		return InLane(math.MaxInt32)
	case *priority < math.MinInt32:
		return InLane(math.MinInt32)
	}
	return InLane(Lane(*priority))
}

// GetWithPriority waits for an item as Get does; the priority is KeepPriority.
func (q *PriorityQueue[T, O]) GetWithPriority() (item T, priority int, shutdown bool) {
	item, shutdown = q.Get()
	return item, KeepPriority, shutdown
}

// Add adds the item with priority 0; so do AddAfter and AddRateLimited.
func (q *PriorityQueue[T, O]) Add(item T) {
	var none O
	q.AddWithOpts(none, item)
}

// AddAfter adds the item as Queue.AddAfter does, with priority 0.
func (q *PriorityQueue[T, O]) AddAfter(item T, duration time.Duration) {
	_, err := q.AddWith(item, AddOptions{After: duration, Lane: InLane(0)})
	q.failures.report(err)
}

// AddRateLimited adds the item as Queue.AddRateLimited does, with priority 0.
func (q *PriorityQueue[T, O]) AddRateLimited(item T) {
	_, err := q.AddWith(item, AddOptions{RateLimited: true, Lane: InLane(0)})
	q.failures.report(err)
}
