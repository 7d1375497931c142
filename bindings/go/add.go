package wq

// This file adds items with options, one by one and as batches.

// #include "border.h"
import "C"

import (
	"runtime"
	"sort"
)

// Outcome is the result of an Add.
type Outcome int32

const (
	Added        Outcome = C.WQ_ADDED
	Deduplicated Outcome = C.WQ_DEDUPLICATED // It was dirty already, or is delayed no later.
	Held         Outcome = C.WQ_HELD         // It is quarantined, and stays so.
)

// AddWith adds the item: at once, after a delay, or after the limiter's delay. With both, the
// shorter delay counts, and so does the failure. ShuttingDown:
// nothing changed. NotDurable: applied in memory, but the store failed. InvalidArgument: an empty
// or oversized key, a lane that the order does not have. Blocks: for at most one write, as the
// durability asks.
func (q *Queue[T]) AddWith(item T, options AddOptions) (Outcome, error) {
	switch {
	case options.RateLimited:
		return q.addWith(item, options, C.WQGO_RATE_LIMITED)
	case options.After > 0:
		return q.addWith(item, options, C.WQGO_AFTER)
	}
	return q.addWith(item, options, C.WQGO_AT_ONCE)
}

func (q *Queue[T]) addWith(item T, options AddOptions, how C.wqgo_how) (Outcome, error) {
	key, err := q.codec.Encode(item)
	if err != nil {
		return 0, err
	}
	o := options.toC()
	failure := ""
	if options.RateLimited {
		failure = textOf(options.Failure)
		if options.After != 0 {
			o.has_max_delay = 1
			o.max_delay_us = microseconds(options.After)
		}
		if q.limiter != nil {
			o.has_retry_delay = 1
			o.retry_delay_us = microseconds(q.limiter.When(item))
		}
	}
	r := C.wqgo_add_with(q.handle, key, how, microseconds(options.After), failure, o, q.group(item))
	runtime.KeepAlive(q.store)
	return Outcome(r.outcome), errorOf(r)
}

func (q *Queue[T]) group(item T) string {
	if q.groupOf == nil {
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

// AddBatch adds many items with one call into C and one wait for the disk. An item that has no key,
// or an invalid key, is refused; the others are added, and the error is nil.
func (q *Queue[T]) AddBatch(items []T, options AddOptions) (BatchResult, error) {
	var result BatchResult
	if options.RateLimited || options.After > 0 {
		return result, newError(InvalidArgument, "AddBatch has no delays")
	}
	o := options.toC()
	batches, groups := q.groupBatches(items, &result)
	var notDurable error
	for _, group := range groups {
		err := q.addGroupBatch(batches[group], group, o, &result)
		if err != nil && codeOf(err) != NotDurable { // NotDurable: it was applied.
			return result, err
		}
		notDurable = err
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
	b *groupBatch, group string, o C.wqgo_add_options, result *BatchResult) error {
	list := newKeyList(b.keys)
	defer keyLists.Put(list)
	batch, refused := list.add(q.handle, o, group)
	runtime.KeepAlive(q.store)
	err := errorOf(batch.result)
	if err != nil && codeOf(err) != NotDurable {
		return err
	}
	result.Added += int(batch.added)
	result.Deduplicated += int(batch.deduplicated)
	result.Held += int(batch.held)
	for _, r := range refused {
		result.Refused = append(result.Refused, Refused{Index: b.indexes[r.index], Err: Code(r.code)})
	}
	return err
}
