package controllerruntime

// This file makes observations of the events of an informer.

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"example.org/wq"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
)

// eventHandler observes the events of one registration.
type eventHandler[object client.Object, request comparable] struct {
	*run[object, request]
	mu sync.Mutex // Held for each event: there may be several at once.
}

func (e *eventHandler[object, request]) OnAdd(obj any, isInInitialList bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.add(obj, isInInitialList)
}

func (e *eventHandler[object, request]) add(obj any, isInInitialList bool) {
	o, ok := e.objectOf(obj)
	if !ok {
		return
	}
	create := event.TypedCreateEvent[object]{Object: o, IsInInitialList: isInInitialList}
	// The object's own key is added, whatever the object was.
	_, own := any(e.handler).(*handler.TypedEnqueueRequestForObject[object])
	e.owing(o, func() {
		handle := e.unlessDropped(
			func(p predicate.TypedPredicate[object]) bool { return p.Create(create) },
			func(ctx context.Context, to *recorder[request]) { e.handler.Create(ctx, create, to) })
		e.observe(o, false, handle, !own || handle == nil)
	})
}

// owing makes the call that handles an event of the object. If it panics, after which client-go may
// go on, the object counts as changed until an observation of it is made.
func (e *eventHandler[object, request]) owing(o object, handle func()) {
	returned := false
	defer func() {
		if !returned { // An observation that is refused is owed, and no row takes such a version.
			_, _ = e.rows.Observe(wq.Observation[request]{
				Object: nameOf(o), Version: strings.Repeat("x", 1<<10)}, wq.AddOptions{})
		}
	}()
	handle()
	returned = true
}

func (e *eventHandler[object, request]) OnUpdate(oldObj, newObj any) {
	e.mu.Lock()
	defer e.mu.Unlock()
	before, ok := e.objectOf(oldObj)
	o, isNew := e.objectOf(newObj)
	if !ok || !isNew {
		return
	}
	if version := versionOf(o); version != "" && version == versionOf(before) {
		return // A resync: its observation would wait for a store that has failed.
	}
	update := event.TypedUpdateEvent[object]{ObjectOld: before, ObjectNew: o}
	e.owing(o, func() {
		if before.GetUID() != o.GetUID() { // Deleted and made again while the watch was broken.
			e.remove(before, true)
			e.add(o, false)
			return
		}
		e.observe(o, true, e.unlessDropped(
			func(p predicate.TypedPredicate[object]) bool { return p.Update(update) },
			func(ctx context.Context, to *recorder[request]) {
				e.handler.Update(ctx, update, to)
			}), false)
	})
}

func (e *eventHandler[object, request]) OnDelete(obj any) {
	e.mu.Lock()
	defer e.mu.Unlock()
	unknown, isUnknown := obj.(toolscache.DeletedFinalStateUnknown)
	if isUnknown {
		obj = unknown.Obj
	}
	o, ok := obj.(object)
	switch {
	case ok:
		e.remove(o, isUnknown)
	case isUnknown:
		e.observeDeleted(unknown.Key, nil, e.rows.ObserveDeleted)
	default:
		e.objectOf(obj) // Says what it is.
	}
}

func (e *eventHandler[object, request]) remove(o object, isUnknown bool) {
	deleted := event.TypedDeleteEvent[object]{Object: o, DeleteStateUnknown: isUnknown}
	e.observeDeleted(nameOf(o), e.unlessDropped(
		func(p predicate.TypedPredicate[object]) bool { return p.Delete(deleted) },
		func(ctx context.Context, to *recorder[request]) { e.handler.Delete(ctx, deleted, to) }),
		e.rows.ObserveDeleted)
}

// handling calls the handler; nil: a predicate drops the event, and may guard the handler against
// such objects.
type handling[request comparable] func(ctx context.Context, to *recorder[request])

func (e *eventHandler[object, request]) unlessDropped(
	wants func(p predicate.TypedPredicate[object]) bool, handle handling[request]) handling[request] {
	for _, p := range e.options.Predicates {
		if !wants(p) {
			return nil
		}
	}
	return handle
}

func (e *eventHandler[object, request]) objectOf(obj any) (object, bool) {
	o, ok := obj.(object)
	if !ok {
		log.FromContext(e.ctx).Error(nil, "an event without an object of the source's kind",
			"source", e.String(), "type", fmt.Sprintf("%T", obj))
	}
	return o, ok
}

// observeMissing observes an object that the list did not have. It is there after all if the
// informer's store, which may be nil, has it; as no event is observed meanwhile, none of a newer
// state is overtaken. Otherwise it was deleted while nobody looked.
func (e *eventHandler[object, request]) observeMissing(list *wq.SourceList[request],
	gone wq.SeenObject[request], store toolscache.Store) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if store != nil {
		if living, ok, _ := store.GetByKey(gone.Object); ok {
			e.add(living, true)
			return
		}
	}
	e.removeKept(gone, list.ObserveDeleted)
}

// removeKept observes the deletion of an object of which there is only what is kept. The predicates
// are not asked, since that may be too little for them.
func (e *eventHandler[object, request]) removeKept(row wq.SeenObject[request],
	observe func(string, []request, wq.AddOptions) (wq.ObserveResult, error)) {
	kept := objectFrom(e.kind, row.Object, row.Tombstone)
	deleted := event.TypedDeleteEvent[object]{Object: kept, DeleteStateUnknown: true}
	e.observeDeleted(row.Object, func(_ context.Context, to *recorder[request]) {
		e.guard("the handler's Delete", kept,
			func(ctx context.Context) { e.handler.Delete(ctx, deleted, to) })
	}, observe)
}

// observe observes an object that is there. An update of which the handler adds nothing is one that
// the handler filters. So counts any event of which it adds only with a delay: otherwise the keys
// that the object had would be added at once, as those that are no more. asksBefore: the handler
// may have missed an update, or a deletion.
func (e *eventHandler[object, request]) observe(
	o object, update bool, handle handling[request], asksBefore bool) {
	seen := wq.Observation[request]{Object: nameOf(o), Version: versionOf(o),
		Tombstone: tombstoneOf(o, e.options.Keep)}
	var before wq.SeenObject[request]
	if asksBefore {
		seen.Before = &before
	}
	dropped := handle == nil
	e.record(handle, func(added *recorder[request], wait time.Duration) (wq.ObserveResult, error) {
		for {
			if added.delayed || added.refused {
				seen.Version = ""
			}
			seen.Items = added.items
			seen.Filtered = dropped ||
				(update || added.delayed) && len(added.items) == 0 && !added.refused
			did, err := e.rows.Observe(seen, added.options(wait))
			if err != nil || before.Object == "" {
				return did, err
			}
			if e.catchUp(before, o, dropped, added) {
				dropped, update = false, true
			}
			if err := e.ctx.Err(); err != nil {
				return wq.ObserveResult{}, err // It may have cut the handler short.
			}
			seen.Before, before = nil, wq.SeenObject[request]{}
		}
	})
}

// catchUp does what the handler has missed of an object that was changed, or deleted and made
// again, while nobody looked: others may refer to what it was since its row was written. True: its
// Create was dropped, and an Update is not, whose items are in `added` instead.
func (e *eventHandler[object, request]) catchUp(
	row wq.SeenObject[request], now object, dropped bool, added *recorder[request]) bool {
	uid, version := versionIn(row)
	if !dropped && uid+"/"+version == versionOf(now) {
		return false // Nothing was missed, but it has no version, as its Create adds with a delay.
	}
	if uid != "" && uid != string(now.GetUID()) {
		order, err := resourceversion.CompareResourceVersion(now.GetResourceVersion(), version)
		if err != nil || order >= 0 {
			e.removeKept(row, e.rows.ObserveDeleted)
			return false
		}
		// The list may be behind, and the row's object be there: its Update maps both.
	}
	kept := objectFrom(e.kind, row.Object, row.Tombstone)
	update := event.TypedUpdateEvent[object]{ObjectOld: kept, ObjectNew: now}
	wanted := true // Also by a predicate that fails.
	if dropped {
		e.guard("a predicate's Update", now, func(context.Context) {
			wanted = !slices.ContainsFunc(e.options.Predicates,
				func(p predicate.TypedPredicate[object]) bool { return !p.Update(update) })
		})
	}
	if !wanted {
		return false
	}
	updated := &recorder[request]{TypedRateLimitingInterface: e.queue}
	if !e.guard("the handler's Update", now,
		func(ctx context.Context) { e.handler.Update(ctx, update, updated) }) {
		updated.AddWithOpts(priorityqueue.AddOpts{}, row.Items...)
		if dropped { // Then the row may have no items, and nothing else maps what the object is.
			e.guard("the handler's Create", now, func(ctx context.Context) {
				e.handler.Create(ctx, event.TypedCreateEvent[object]{Object: now}, updated)
			})
		}
	}
	updated.close()
	if !dropped {
		e.addAll(updated)
		return false
	}
	added.items, added.delayed, added.priority = updated.items, updated.delayed, updated.priority
	return true
}

// guard calls what may need more of an object than what is kept of it. False: it does.
func (e *eventHandler[object, request]) guard(
	what string, o object, call func(ctx context.Context)) (ok bool) {
	ctx, cancel := context.WithCancel(e.ctx)
	defer cancel()
	defer func() {
		if failure := recover(); failure != nil {
			ok = false
			log.FromContext(ctx).Error(nil, what+" fails with what is kept of an object: "+
				"set SourceOptions.Keep", "source", e.String(), "object", nameOf(o), "panic", failure)
		}
	}()
	call(ctx)
	return true
}

// addAll adds the items without an observation.
func (e *eventHandler[object, request]) addAll(added *recorder[request]) {
	items := added.items
	e.repeat(func(wait time.Duration) error { // A full queue takes some of them.
		result, err := e.queue.AddBatch(items, added.options(wait))
		if err != nil && !errors.Is(err, wq.NotDurable) {
			return err
		}
		var refused []request
		for _, r := range result.Refused {
			if errors.Is(r.Err, wq.Full) { // Otherwise it will never work.
				refused, err = append(refused, items[r.Index]), r.Err
			}
		}
		if items = refused; len(items) > 0 {
			return err
		}
		return nil
	})
}

func (e *eventHandler[object, request]) observeDeleted(name string,
	handle handling[request],
	observe func(string, []request, wq.AddOptions) (wq.ObserveResult, error)) {
	e.record(handle, func(added *recorder[request], wait time.Duration) (wq.ObserveResult, error) {
		return observe(name, added.items, added.options(wait))
	})
}

// record makes an observation of what the handler adds. The caller holds the lock. An observation
// that fails is repeated, and the events behind it wait: a later one may be filtered, and recorded
// over a change that was never made.
func (e *eventHandler[object, request]) record(handle handling[request],
	observe func(added *recorder[request], wait time.Duration) (wq.ObserveResult, error)) {
	if e.ctx.Err() != nil {
		return
	}
	added := &recorder[request]{TypedRateLimitingInterface: e.queue}
	if handle != nil {
		ctx, cancel := context.WithCancel(e.ctx)
		handle(ctx, added)
		cancel()
	}
	if e.ctx.Err() != nil {
		return // It may have cut the handler short.
	}
	added.close()
	e.repeat(func(wait time.Duration) error {
		did, err := observe(added, wait)
		if errors.Is(err, wq.InvalidArgument) && !added.refused { // Such as too many keys.
			log.FromContext(e.ctx).Error(err, "the keys of an object are added, but not remembered",
				"source", e.String())
			e.addAll(added)
			if err := e.ctx.Err(); err != nil {
				return err // Not all of them were added.
			}
			added.items, added.refused = nil, true
			did, err = observe(added, wait)
		}
		if errors.Is(err, wq.InvalidArgument) || // It will never work.
			errors.Is(err, wq.NotDurable) && did.Changed { // It was made, in memory.
			return nil
		}
		return err
	})
}

// recorder is the queue that a handler sees: it keeps the Adds until the handler has returned.
type recorder[request comparable] struct {
	workqueue.TypedRateLimitingInterface[request] // The controller's queue.

	mu       sync.Mutex // A handler may add from its own goroutines.
	closed   bool
	items    []request
	priority *int // The highest one; nil: of no item.
	delayed  bool // Items with a delay went to the queue as they are.
	refused  bool // So did all others: no observation takes them.
}

func (r *recorder[request]) Add(item request) { r.AddWithOpts(priorityqueue.AddOpts{}, item) }

func (r *recorder[request]) AddAfter(item request, after time.Duration) {
	r.AddWithOpts(priorityqueue.AddOpts{After: after}, item)
}

func (r *recorder[request]) AddRateLimited(item request) {
	r.AddWithOpts(priorityqueue.AddOpts{RateLimited: true}, item)
}

func (r *recorder[request]) AddWithOpts(o priorityqueue.AddOpts, items ...request) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delayed := o.After > 0 || o.RateLimited
	if r.closed || delayed {
		r.add(o, items)
	}
	if r.closed {
		return // Its observation is made, or being made.
	}
	if delayed {
		r.delayed = true
		return
	}
	if o.Priority == nil {
		o.Priority = new(0)
	}
	if r.priority == nil || *r.priority < *o.Priority {
		r.priority = o.Priority
	}
	r.items = append(r.items, items...)
}

func (r *recorder[request]) GetWithPriority() (item request, priority int, shutdown bool) {
	item, shutdown = r.Get()
	return item, 0, shutdown
}

// close ends the recording. An item that was added twice counts once.
func (r *recorder[request]) close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	if len(r.items) < 2 {
		return
	}
	seen := make(map[request]bool, len(r.items))
	r.items = slices.DeleteFunc(r.items, func(item request) bool {
		again := seen[item]
		seen[item] = true
		return again
	})
}

func (r *recorder[request]) add(o priorityqueue.AddOpts, items []request) {
	if priorities, ok := r.TypedRateLimitingInterface.(priorityqueue.PriorityQueue[request]); ok {
		priorities.AddWithOpts(o, items...)
		return
	}
	for _, item := range items {
		switch {
		case o.RateLimited:
			r.TypedRateLimitingInterface.AddRateLimited(item)
		case o.After > 0:
			r.TypedRateLimitingInterface.AddAfter(item, o.After)
		default:
			r.TypedRateLimitingInterface.Add(item)
		}
	}
}

// options are those of the recorded Adds, which wait so long for room in the queue.
func (r *recorder[request]) options(wait time.Duration) wq.AddOptions {
	options := wq.AddOptions{WaitForRoom: wait}
	_, ok := r.TypedRateLimitingInterface.(priorityqueue.PriorityQueue[request])
	if ok && r.priority != nil {
		nearest := min(max(*r.priority, math.MinInt32), math.MaxInt32)
		options.Lane = wq.InLane(wq.Lane(nearest))
	}
	return options
}
