package wq

// This file adds items with options, one by one and as batches.

import (
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

// AddBatch adds many items with one call and one wait for the disk. An item that has no key,
// or an invalid key, is refused; the others are added, and the error is nil.
func (q *Queue[T]) AddBatch(items []T, options AddOptions) (BatchResult, error) {
	return q.addBatch(items, options, false)
}

func (q *Queue[T]) addBatch(items []T, options AddOptions, patient bool) (BatchResult, error) {
	var result BatchResult
	if options.RateLimited || options.After > 0 {
		return result, newError(InvalidArgument, "AddBatch has no delays")
	}
	batches, groups := q.groupBatches(items, &result)
	var notDurable error
	for _, group := range groups {
		err := q.addGroupBatch(batches[group], group, options, patient, &result)
		if err != nil && codeOf(err) != NotDurable { // NotDurable: it was applied.
			return result, err
		}
		if err != nil {
			notDurable = err
		}
	}
	sort.Slice(result.Refused, func(i, j int) bool {
		return result.Refused[i].Index < result.Refused[j].Index
	})
	return result, notDurable
}

// groupBatch is the keys of one group.
type groupBatch struct {
	keys    []string
	indexes []int // Of the keys among the items.
}

// groupBatches splits the items by group; groups is in the order of their first items.
func (q *Queue[T]) groupBatches(
	items []T, result *BatchResult) (batches map[string]*groupBatch, groups []string) {
	batches = make(map[string]*groupBatch, 1)
	var b *groupBatch
	for i, item := range items {
		key, err := q.codec.Encode(item)
		if err != nil {
			result.Refused = append(result.Refused, Refused{Index: i, Err: err})
			continue
		}
		if b == nil || q.groupOf != nil {
			group := q.group(item)
			if b = batches[group]; b == nil {
				b = &groupBatch{keys: make([]string, 0, len(items)), indexes: make([]int, 0, len(items))}
				batches[group] = b
				groups = append(groups, group)
			}
		}
		b.keys = append(b.keys, key)
		b.indexes = append(b.indexes, i)
	}
	return batches, groups
}

func (q *Queue[T]) addGroupBatch(
	b *groupBatch, group string, options AddOptions, patient bool,
	result *BatchResult) error {
	added, err := q.backend.addBatch(b.keys, group, options, patient)
	if err != nil && codeOf(err) != NotDurable {
		return err
	}
	result.Added += added.Added
	result.Deduplicated += added.Deduplicated
	result.Held += added.Held
	for _, r := range added.Refused {
		result.Refused = append(result.Refused, Refused{Index: b.indexes[r.Index], Err: r.Err})
	}
	return err
}
