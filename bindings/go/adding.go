package wq

// #include "border.h"
import "C"

import (
	"runtime"
	"sort"
	"sync"
)

// Outcome is what an Add did.
type Outcome int32

const (
	Added        Outcome = C.WQ_ADDED
	Deduplicated Outcome = C.WQ_DEDUPLICATED // It needed work already, or is delayed no later.
	Held         Outcome = C.WQ_HELD         // It is quarantined, and stays so.
)

// AddWith adds the item: at once, after a time, or after the limiter's. ShuttingDown: nothing changed.
// NotDurable: applied in memory, but the store failed. InvalidArgument: an empty or oversized key, a
// lane that the order does not have. Blocks: for at most one write, by the durability asked for.
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

// AddWithLane adds the item to a lane, which the queue's order must have; a queued one moves there.
func (q *Queue[T]) AddWithLane(item T, lane Lane) error {
	_, err := q.AddWith(item, AddOptions{Lane: &lane})
	return err
}

// BatchResult is what AddBatch did.
type BatchResult struct {
	Added        int
	Deduplicated int
	Held         int       // Quarantined ones.
	Refused      []Refused // In the order of the items. The others are added.
}

// Refused is an item that could not be added.
type Refused struct {
	Index int // Among the items of the call.
	Err   error
}

// AddBatch adds many items, with one crossing of the border and one wait for the disk. An item that has
// no key, or a bad one, is refused without harm to the others; the error is nil then.
func (q *Queue[T]) AddBatch(items []T, options AddOptions) (BatchResult, error) {
	var result BatchResult
	if options.RateLimited || options.After > 0 {
		return result, newError(InvalidArgument, "AddBatch has no delays")
	}
	o := options.toC()
	parts, order := q.parts(items, &result)
	var notDurable error
	for _, group := range order {
		err := q.addPart(parts[group], group, o, &result)
		if err != nil && codeOf(err) != NotDurable { // What is not durable was applied: go on.
			return result, err
		}
		notDurable = err
	}
	sort.Slice(result.Refused, func(i, j int) bool { return result.Refused[i].Index < result.Refused[j].Index })
	return result, notDurable
}

// part is the keys of one group.
type part struct {
	keys    []string
	indexes []int // Of the keys among the items.
}

// parts are the items by group, and the groups in the order in which they came.
func (q *Queue[T]) parts(items []T, result *BatchResult) (parts map[string]*part, order []string) {
	parts = make(map[string]*part, 1)
	var p *part
	for i, item := range items {
		key, err := q.codec.Encode(item)
		if err != nil {
			result.Refused = append(result.Refused, Refused{Index: i, Err: err})
			continue
		}
		if p == nil || q.groupOf != nil {
			group := q.group(item)
			if p = parts[group]; p == nil {
				p = &part{keys: make([]string, 0, len(items)), indexes: make([]int, 0, len(items))}
				parts[group] = p
				order = append(order, group)
			}
		}
		p.keys = append(p.keys, key)
		p.indexes = append(p.indexes, i)
	}
	return parts, order
}

func (q *Queue[T]) addPart(p *part, group string, o C.wqgo_add_options, result *BatchResult) error {
	parcel := pack(p.keys)
	defer parcels.Put(parcel)
	batch, refused := parcel.add(q.handle, o, group)
	runtime.KeepAlive(q.store)
	err := errorOf(batch.result)
	if err != nil && codeOf(err) != NotDurable {
		return err
	}
	result.Added += int(batch.added)
	result.Deduplicated += int(batch.deduplicated)
	result.Held += int(batch.held)
	for _, r := range refused {
		result.Refused = append(result.Refused, Refused{Index: p.indexes[r.index], Err: Code(r.code)})
	}
	return err
}

// together makes one call into C of the Adds of many goroutines. An Add that waits for the disk holds a
// thread; those that come meanwhile wait here, parked, and go together in the next call. So a thousand
// goroutines in Add cost one thread, and one write of the disk is for all of them. An Add that is alone
// goes at once.
type together struct {
	mu      sync.Mutex
	busy    bool         // Somebody is in C.
	waiting []*joinedAdd // Those who came meanwhile.
}

// joinedAdd is an Add that waits for others.
type joinedAdd struct {
	key string
	err error        // Valid when it is told, unless it leads.
	led []*joinedAdd // Whom it has to add, itself first; empty: it was added.
	// Told once: it leads, or it was added.
	told chan struct{}
}

var joinedAdds = sync.Pool{New: func() any { return &joinedAdd{told: make(chan struct{}, 1)} }}

// At most so many go together.
const maxTogether = 1024

func (t *together) add(queue C.wq_queue, key string) error {
	t.mu.Lock()
	if !t.busy {
		t.busy = true
		t.mu.Unlock()
		defer t.passOn()
		return errorOf(C.wqgo_add(queue, key))
	}
	j := joinedAdds.Get().(*joinedAdd)
	j.key, j.err, j.led = key, nil, nil
	t.waiting = append(t.waiting, j)
	t.mu.Unlock()
	<-j.told
	if len(j.led) > 0 {
		t.lead(queue, j.led)
	}
	err := j.err
	j.key, j.led = "", nil
	joinedAdds.Put(j)
	return err
}

// passOn lets one of those who wait lead the next call.
func (t *together) passOn() {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := len(t.waiting)
	if n == 0 {
		t.busy = false
		return
	}
	if n > maxTogether {
		n = maxTogether
	}
	led := t.waiting[:n:n]
	if t.waiting = t.waiting[n:]; len(t.waiting) == 0 {
		t.waiting = nil
	}
	led[0].led = led
	led[0].told <- struct{}{}
}

// lead adds for all of them, and tells those behind the first.
func (t *together) lead(queue C.wq_queue, led []*joinedAdd) {
	p := pack(nil)
	for _, j := range led {
		p.append(j.key)
	}
	batch, refused := p.add(queue, C.wqgo_add_options{}, "")
	err := errorOf(batch.result)
	for _, j := range led {
		j.err = err
	}
	for _, r := range refused { // Alone, they are told why.
		j := led[r.index]
		j.err = errorOf(C.wqgo_add(queue, j.key))
	}
	parcels.Put(p)
	t.passOn()
	for _, j := range led[1:] {
		j.told <- struct{}{}
	}
}
