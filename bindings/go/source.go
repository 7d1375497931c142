package wq

// This file has the sources of a queue, and their lists.

import "sync/atomic"

// Source feeds a queue with objects, and remembers in the store which version of each it has seen:
// so that a restarted controller, whose watch lists all objects anew, reconciles only what has
// changed or was deleted meanwhile. docs/sources.md has a table of what an observation does, and
// says which fingerprint a controller needs.
//
//	pods, err := q.OpenSource("pods")
//	list, err := pods.BeginList(wq.ListOptions{Fingerprint: build})
//	defer list.Close()
//	for _, pod := range cluster.List() { // Unchanged ones move nothing.
//		if _, err = list.Observe(wq.Observation[string]{Object: pod.Name, Version: pod.Version,
//			Items: []string{pod.Owner}}, wq.AddOptions{}); err != nil {
//			return err
//		}
//	}
//	err = list.End(wq.AddOptions{}) // The rest was deleted.
//
// Any goroutine may make the calls; the order of two observations of one object is that of the
// calls. An observation that returned NotDurable, which may not have been made, is repeated once
// the store is well again.
type Source[T comparable] struct {
	queue   *Queue[T]
	backend sourceBackend
}

// SeenObject is what the source remembers of an object.
type SeenObject[T comparable] struct {
	Object, Version, Tombstone string
	Items                      []T // Without those that the codec cannot decode.
}

// Observation is what is seen of an object. Object, Version and Tombstone are any bytes.
type Observation[T comparable] struct {
	Object string // 1 to 4096 bytes: "namespace/name".
	// Version differs when the object does, such as its uid and resourceVersion: at most 128 bytes.
	// "": the object counts as changed.
	Version string
	// Items are what to reconcile, such as the object's owner; at most 1000, and 64 KiB of keys. Those
	// of the observation before that are not among them are added, too, once. Of an object whose
	// version has not changed only those are added that are new, or are no more.
	Items []T
	// Tombstone is what the caller needs to know of the object once it is deleted: at most 4096 bytes.
	Tombstone string
	// Filtered: the change is not to be reconciled. Its version is recorded, and nothing is added. But
	// if a change before it may have been missed, the object is recorded as changed, so that the next
	// list does not pass it over, and keeps its items beside these: if it was not observed unfiltered
	// before; if an observation of it was refused since, or has not returned yet; or if it was not
	// seen since the queue was opened or the list began, and has not the version of before. Filtered
	// once more, it is unchanged if its items and its tombstone are.
	// Without Items those of the observation before stay, which costs a read of the row.
	Filtered bool
	// Before, if not nil, asks what a changed object was. If the observation would change what the
	// source remembers, and its version is not the one remembered, or both are "" and the
	// tombstones differ, it becomes that, and nothing is done, as if the observation were refused.
	// Otherwise its Object becomes "", and the observation is made. So a mapping that reads other
	// objects can map what the object was, too: its items are added by Queue.AddBatch, and the
	// object is observed again without Before.
	Before *SeenObject[T]
}

// ObserveResult is what an observation did.
type ObserveResult struct {
	Changed                   bool // Otherwise nothing was done.
	Added, Deduplicated, Held int  // Of the items, by Outcome.
}

// ListOptions are the options of BeginList. Both are any bytes.
type ListOptions struct {
	// Scope is what the list covers: cluster, kind, namespaces, selector. What was seen in another
	// scope counts as changed, and is not taken for deleted.
	Scope string
	// Fingerprint is what the caller's code is. What was seen under another one counts as changed: a
	// new fingerprint asks for a full pass.
	Fingerprint string
}

// SourceInfo counts what a source has seen.
type SourceInfo struct {
	Name    string
	Objects int
	// Observations since the queue was opened, Changed with the filtered ones, and deletions.
	Unchanged, Changed, Deleted uint64
}

// sourceBackend is a source, or a list of it, by key. Thread-safe.
type sourceBackend interface {
	observe(o observed, options AddOptions) (ObserveResult, error)
	beginList(options ListOptions) (sourceBackend, error)
	nextDeleted() ([]string, error) // Object, version, tombstone, keys.
	endList(options AddOptions) error
	free() // Abandons a list.
}

// observed is an Observation, by key.
type observed struct {
	object, version, tombstone string
	keys                       []string
	filtered, deleted          bool
	before                     *[]string // Not nil: see Observation.Before. Empty: no row.
}

// OpenSource returns the source of this name, 1 to 64 of [A-Za-z0-9._-], which is made if there is
// none. InvalidArgument: an invalid name; more than 1000 sources; the store is in memory.
// NotSupported: the queue is remote.
func (q *Queue[T]) OpenSource(name string) (*Source[T], error) {
	backend, err := q.backend.openSource(name)
	if err != nil {
		return nil, err
	}
	return &Source[T]{queue: q, backend: backend}, nil
}

// RemoveSource removes the source and all that it remembers; its items stay. NotFound: there is
// none. Blocks: for a sync, and for erasing its objects.
func (q *Queue[T]) RemoveSource(name string) error { return q.backend.removeSource(name) }

// Sources returns the queue's sources by name.
func (q *Queue[T]) Sources() ([]SourceInfo, error) { return q.backend.sources() }

// Observe records that the object is as the observation says, and adds its items, unless it is
// unchanged: its version is not "" and is the recorded one, and so are its items, and the source's
// fingerprint and scope. InvalidArgument: a bound is exceeded, an item has no valid key, or the
// options have a delay. Full: the queue has no room for all items. NotFound: the source was
// removed. After these nothing has changed. Blocks: as AddWith; for reading the row if the items
// differ, if the observation is filtered and has none, or for Before.
func (s *Source[T]) Observe(o Observation[T], options AddOptions) (ObserveResult, error) {
	return s.queue.observe(s.backend, o, false, options)
}

// ObserveDeleted adds these items and those that are recorded, and forgets the object.
func (s *Source[T]) ObserveDeleted(
	object string, items []T, options AddOptions) (ObserveResult, error) {
	return s.queue.observe(s.backend, Observation[T]{Object: object, Items: items}, true, options)
}

// BeginList begins a list of all objects. A source has one list at a time: the one before is
// superseded. Observations from now on have its scope and fingerprint.
func (s *Source[T]) BeginList(options ListOptions) (*SourceList[T], error) {
	backend, err := s.backend.beginList(options)
	if err != nil {
		return nil, err
	}
	return &SourceList[T]{queue: s.queue, backend: backend}, nil
}

// SourceList is a list of all objects of a source. Its calls return InvalidArgument once it has
// ended, or was closed, or a later list has superseded it, or its source was removed. It makes one
// call at a time.
type SourceList[T comparable] struct {
	queue   *Queue[T]
	backend sourceBackend
	closed  atomic.Bool
}

var errListClosed = newError(InvalidArgument, "the list is closed")

// Observe is Source.Observe of an object that is there. Of one that is unchanged nothing moves,
// whatever state its items are in.
func (l *SourceList[T]) Observe(o Observation[T], options AddOptions) (ObserveResult, error) {
	if l.closed.Load() {
		return ObserveResult{}, errListClosed
	}
	return l.queue.observe(l.backend, o, false, options)
}

// NextDeleted returns the next object of this scope that was neither listed nor observed since
// BeginList. The caller may map it to more items, and pass them to ObserveDeleted; End does the
// rest. NotFound: there is no other. Blocks: for reading rows.
func (l *SourceList[T]) NextDeleted() (SeenObject[T], error) {
	if l.closed.Load() {
		return SeenObject[T]{}, errListClosed
	}
	row, err := l.backend.nextDeleted()
	if err != nil {
		return SeenObject[T]{}, err
	}
	return l.queue.seenObject(row), nil
}

func (q *Queue[T]) seenObject(row []string) SeenObject[T] {
	seen := SeenObject[T]{Object: row[0], Version: row[1], Tombstone: row[2]}
	for _, key := range row[3:] {
		if item, err := q.codec.Decode(key); err == nil {
			seen.Items = append(seen.Items, item)
		}
	}
	return seen
}

// ObserveDeleted is Source.ObserveDeleted, unless the object was seen since BeginList: what
// NextDeleted has returned may be there again.
func (l *SourceList[T]) ObserveDeleted(
	object string, items []T, options AddOptions) (ObserveResult, error) {
	if l.closed.Load() {
		return ObserveResult{}, errListClosed
	}
	return l.queue.observe(l.backend, Observation[T]{Object: object, Items: items}, true, options)
}

// End ends the list: of what NextDeleted would return still, it adds the items, and forgets the
// objects. After an error the list goes on, and End may be repeated. Blocks: for reading rows.
func (l *SourceList[T]) End(options AddOptions) error {
	if l.closed.Load() {
		return errListClosed
	}
	if err := checkNoDelay(options); err != nil {
		return err
	}
	return l.backend.endList(options)
}

// Close frees the list. Without End it is abandoned: nothing is taken for deleted. Idempotent.
// Blocks: until its calls have returned.
func (l *SourceList[T]) Close() {
	if !l.closed.Swap(true) {
		l.backend.free()
	}
}

func checkNoDelay(options AddOptions) error {
	if options.RateLimited || options.After > 0 {
		return newError(InvalidArgument, "an observation has no delay")
	}
	return nil
}

func (q *Queue[T]) observe(by sourceBackend, o Observation[T], deleted bool,
	options AddOptions) (ObserveResult, error) {
	seen := observed{object: o.Object, version: o.Version, tombstone: o.Tombstone,
		filtered: o.Filtered, deleted: deleted}
	if o.Before != nil {
		*o.Before = SeenObject[T]{}
	}
	bad := checkNoDelay(options)
	if bad == nil {
		seen.keys, bad = q.keysOf(o.Items)
	}
	if bad != nil {
		seen.keys = []string{""} // It is refused, and the object counts as seen.
		_, _ = by.observe(seen, AddOptions{})
		return ObserveResult{}, bad
	}
	if o.Before == nil {
		return by.observe(seen, options)
	}
	var row []string
	seen.before = &row
	result, err := by.observe(seen, options)
	if len(row) > 0 {
		*o.Before = q.seenObject(row)
	}
	return result, err
}
