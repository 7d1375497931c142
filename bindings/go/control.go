package wq

// This file has the calls of operators: cancelling, quarantine, pausing and stopping; a
// queue's counters, its order, its quarantine and its cursors.

import (
	"context"
	"time"
)

// Flush makes everything that was done on the queue's store before as durable as asked for. Blocks.
func (q *Queue[T]) Flush(durability Durability) error {
	return q.backend.flush(durability)
}

// Remove removes a queued item; of an item that a worker holds, it cancels the Add since Get.
// NotFound: it is not dirty.
func (q *Queue[T]) Remove(item T) error {
	return q.change(item, changeRemove)
}

// CancelDelay cancels the delay of the item. NotFound: it is not delayed.
func (q *Queue[T]) CancelDelay(item T) error {
	return q.change(item, changeCancelDelay)
}

// Delete deletes all that the queue has of the item, in whatever state it is: its Add, its delay,
// its failures, its quarantine. A worker that holds it still has to call Done. NotFound: the queue
// has nothing of the item.
func (q *Queue[T]) Delete(item T) error {
	if q.limiter != nil {
		q.limiter.Forget(item)
	}
	return q.change(item, changeDelete)
}

// EndDelay adds a delayed item now. NotFound: it is not delayed.
func (q *Queue[T]) EndDelay(item T) error {
	return q.change(item, changeEndDelay)
}

// Quarantine takes the item out of the queue and keeps it with its failures, and the text of why,
// until Release or Drop. A worker that holds it still has to call Done.
func (q *Queue[T]) Quarantine(item T, why error) error {
	err := q.withKey(item, func(key string) error { return q.backend.quarantine(key, textOf(why)) })
	if q.limiter != nil && (err == nil || codeOf(err) == NotDurable) { // NotDurable: it was applied.
		q.limiter.Forget(item)
	}
	return err
}

// Release adds a quarantined item again and clears its failures. NotFound: it is not quarantined.
func (q *Queue[T]) Release(item T) error {
	return q.change(item, changeRelease)
}

// ReleaseAfter is Release after a delay; until then the item is delayed. So many items can be
// released one after the other.
func (q *Queue[T]) ReleaseAfter(item T, delay time.Duration) error {
	return q.withKey(item, func(key string) error { return q.backend.releaseAfter(key, delay) })
}

// Drop deletes a quarantined item and its failures. NotFound: it is not quarantined.
func (q *Queue[T]) Drop(item T) error {
	return q.change(item, changeDrop)
}

// IsQuarantined reports whether the item is quarantined.
func (q *Queue[T]) IsQuarantined(item T) (bool, error) {
	return ask(q, item, q.backend.isQuarantined)
}

// Pause makes the queue hand out nothing until Resume, or for the duration if it is more than 0;
// across restarts too.
func (q *Queue[T]) Pause(duration time.Duration) error {
	return q.backend.pause(duration)
}

// Resume ends a pause.
func (q *Queue[T]) Resume() error { return q.backend.resume() }

// Drain shuts the queue down as ShutDown does, and waits until no item is held and none would be
// handed out: the queue is empty, or paused, and then its queued items stay in the store.
// ctx.Err(): the context ended first. ShuttingDown: ShutDown or Stop was called during the drain.
// Blocks, and holds a thread.
func (q *Queue[T]) Drain(ctx context.Context) error {
	return q.backend.drain(ctx)
}

// Stop shuts the queue down as ShutDown does, but Get reports shutdown at once. Pending items stay
// in the store.
func (q *Queue[T]) Stop() error { return q.backend.stop() }

// Counts are a queue's counters, all of one instant.
type Counts struct {
	Queued      int // Ready to be handed out; equal to Len.
	Processing  int // Held by workers.
	Delayed     int
	Failing     int // With a failure count, except quarantined items.
	Quarantined int
	Stuck       int // Of those processing: held for longer than QueueOptions.StuckAfter.
	HeldBack    int // Of those queued: limits forbid to hand them out now.
	Resyncs     int // Of those delayed: they wait for their resync.
	Paused      bool
	// Totals since the queue was opened; their differences are rates.
	Adds     uint64 // An item became dirty.
	Dones    uint64
	Failures uint64
	Full     uint64 // Adds that found the queue full.
}

// Counts returns the queue's counters.
func (q *Queue[T]) Counts() (Counts, error) { return q.backend.counts() }

// maxListed is how many keys List returns at most.
const maxListed = 1000

// QueuedKey is a queued key with its lane and group. It is a key, because the codec may be unable
// to decode it.
type QueuedKey struct {
	Key   string
	Lane  Lane
	Group string
}

// List returns the first queued keys in the order in which they would be handed out: at most limit,
// and at most 1000.
func (q *Queue[T]) List(limit int) ([]QueuedKey, error) {
	if limit < 0 {
		return nil, newError(InvalidArgument, "limit is negative")
	}
	if limit > maxListed {
		limit = maxListed
	}
	return q.backend.list(limit)
}

// PositionOf counts the items that would be handed out before this item: those of higher lanes, and
// those of its lane that came before it. With Fair it counts, of its lane, those of its group that
// came before it, and as many of each other group. It takes time in proportion to all items.
// NotFound: it is not queued.
func (q *Queue[T]) PositionOf(item T) (int, error) {
	return ask(q, item, q.backend.positionOf)
}

// QuarantinedKey is a quarantined key and its last failure.
type QuarantinedKey struct {
	Key         string
	Failures    uint64
	LastError   string
	Quarantined time.Time
}

// Quarantined returns the quarantined keys, sorted by key.
func (q *Queue[T]) Quarantined() ([]QuarantinedKey, error) {
	return q.backend.quarantined()
}

// SetCursor stores the value under the name, 1 to 64 of [A-Za-z0-9._-], in order with the calls
// before it: after a crash, every Add before the cursor that is found is found too.
func (q *Queue[T]) SetCursor(name, value string) error {
	return q.backend.setCursor(name, value)
}

// Cursor returns the value of SetCursor. NotFound: the cursor does not exist.
func (q *Queue[T]) Cursor(name string) (string, error) {
	return q.backend.cursor(name)
}

// EraseCursor deletes the cursor. NotFound: it does not exist.
func (q *Queue[T]) EraseCursor(name string) error {
	return q.backend.eraseCursor(name)
}

// Cursors returns the values of all cursors by name.
func (q *Queue[T]) Cursors() (map[string]string, error) {
	return q.backend.cursors()
}
