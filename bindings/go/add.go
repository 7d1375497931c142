package wq

// This file adds items with options, one by one and as batches.

import (
	"fmt"
	"sort"
	"time"
)

// Outcome is the result of an Add.
type Outcome int32

const (
	Added        Outcome = 0
	Deduplicated Outcome = 1 // It was dirty already, or is delayed no later.
	Held         Outcome = 2 // It is quarantined, and stays so.
)

// AddWith adds the item: at once, after a delay, or after the limiter's delay. With both, the
// shorter delay counts, and so does the failure. ShuttingDown:
// nothing changed. NotDurable: applied in memory, but the store failed. InvalidArgument: an empty
// or oversized key, a lane that the order does not have. Blocks: for at most one write, as the
// durability asks.
func (q *Queue[T]) AddWith(item T, options AddOptions) (Outcome, error) {
	return q.addWith(item, options, howOf(options), false)
}

func howOf(options AddOptions) addHow {
	switch {
	case options.RateLimited:
		return addRateLimited
	case options.After > 0:
		return addAfter
	}
	return addAtOnce
}

// addHow is the kind of an Add.
type addHow int32

const (
	addAtOnce addHow = iota
	addAfter
	addRateLimited
)

// addCall is what an Add has beside the key.
type addCall struct {
	how        addHow
	options    AddOptions
	group      string
	retryDelay *time.Duration // Of a Limiter; nil: the queue's own backoff decides.
	// The call returns no error: a remote queue waits until the server can be reached.
	patient bool
}

func (q *Queue[T]) addWith(
	item T, options AddOptions, how addHow, patient bool) (Outcome, error) {
	key, err := q.codec.Encode(item)
	if err != nil {
		return 0, err
	}
	call := addCall{how: how, options: options, group: q.group(item), patient: patient}
	if !options.RateLimited || q.limiter == nil {
		return q.backend.addWith(key, call)
	}
	delay := q.limiter.When(item)
	call.retryDelay = &delay
	outcome, err := q.backend.addWith(key, call)
	if outcome == Held {
		q.limiter.Forget(item)
	}
	return outcome, err
}

func (q *Queue[T]) group(item T) string {
	if q.groupOf == nil {
		return ""
	}
	return q.groupOf(item)
}

func (q *Queue[T]) groupOfKey(key string) string {
	item, err := q.codec.Decode(key)
	if err != nil {
		return ""
	}
	return q.groupOf(item)
}

// AddWithLane adds the item to a lane of the queue's order; a queued item moves to that lane.
func (q *Queue[T]) AddWithLane(item T, lane Lane) error {
	_, err := q.AddWith(item, AddOptions{Lane: &lane})
	return err
}

// BatchResult is the result of AddBatch.
type BatchResult struct {
	Added        int
	Deduplicated int
	Held         int       // Quarantined items.
	Refused      []Refused // In the order of the items. The other items are added.
}

// Refused is an item that could not be added.
type Refused struct {
	Index int // Among the items of the call.
	Err   error
}

// AddBatch adds many items, in their order, with one call and one wait for the disk; of a remote
// queue with GroupOf, with one of each group, and the order is that of each group's items. An item
// that has no key, an invalid key or a group of more than 1024 bytes is refused; the others are
// added, and the error is nil.
func (q *Queue[T]) AddBatch(items []T, options AddOptions) (BatchResult, error) {
	return q.addBatch(items, options, false)
}

const maxGroupBytes = 1024

func (q *Queue[T]) addBatch(items []T, options AddOptions, patient bool) (BatchResult, error) {
	var result BatchResult
	if options.RateLimited || options.After > 0 {
		return result, newError(InvalidArgument, "AddBatch has no delays")
	}
	keys := make([]string, 0, len(items))
	indexes := make([]int, 0, len(items)) // Of the keys among the items.
	var groups []string                   // Of the keys.
	for i, item := range items {
		key, err := q.codec.Encode(item)
		group := ""
		if err == nil {
			group = q.group(item)
		}
		if len(group) > maxGroupBytes {
			err = newError(InvalidArgument, fmt.Sprintf(
				"the group has %d bytes, the limit is %d", len(group), maxGroupBytes))
		}
		if err != nil {
			result.Refused = append(result.Refused, Refused{Index: i, Err: err})
			continue
		}
		keys = append(keys, key)
		indexes = append(indexes, i)
		if q.groupOf != nil {
			groups = append(groups, group)
		}
	}
	added, err := q.backend.addBatch(keys, groups, options, patient)
	result.Added, result.Deduplicated, result.Held = added.Added, added.Deduplicated, added.Held
	for _, r := range added.Refused {
		result.Refused = append(result.Refused, Refused{Index: indexes[r.Index], Err: r.Err})
	}
	sort.Slice(result.Refused, func(i, j int) bool {
		return result.Refused[i].Index < result.Refused[j].Index
	})
	return result, err
}
