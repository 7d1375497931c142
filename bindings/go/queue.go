package wq

// This file has the queue and the methods of client-go's workqueue.TypedRateLimitingInterface.

import (
	"context"
	"fmt"
	"time"
)

// Queue is a durable workqueue.TypedRateLimitingInterface. It has that interface's methods, methods
// that return errors, and methods that the interface lacks.
//
// A queue of a Store is linked: this process owns the store. A queue of a Client is remote: another
// process owns it. README.md lists what a remote queue does differently, and what it does not have.
//
// An item must be encodable. DefaultCodec encodes every item except the empty string: see Codec.
type Queue[T comparable] struct {
	backend  backend
	name     string
	codec    Codec[T]
	limiter  RateLimiter[T] // May be nil.
	groupOf  func(item T) string
	stops    bool // StopOnShutDown.
	failures *failures
}

// Opener is where queues are opened: a *Store, or a *Client.
type Opener interface {
	openQueue(name string, request openRequest) (backend, error)
	failureLogger() Logger // May be nil.
}

// openRequest is what the opening of a queue needs.
type openRequest struct {
	options    QueueOptions[string] // Without Codec, Limiter and GroupOf.
	hasLimiter bool
	groupOf    func(key string) string // Nil: there are no groups.
	// Order, ReAddRaisesLane and MergeDelays are the constructor's, not the caller's: a remote queue
	// has those of its owner.
	controllers bool
	failures    *failures // For the errors of calls that were not waited for.
}

// backend is a queue, by key. Thread-safe. Its errors are those of Queue's methods.
type backend interface {
	add(key string) error
	addWith(key string, call addCall) (Outcome, error)
	// addBatch adds keys. groups: of each key; nil if the queue has no GroupOf. The result's indexes
	// are those of the keys. If the error is neither nil nor NotDurable, the result may lack keys
	// that were added before.
	addBatch(
		keys, groups []string, options AddOptions, patient bool) (BatchResult, error)
	len() (int, error)
	getter
	doneBatch(keys []string) error
	// done ends the processing of a key for a caller that does not wait: a remote queue reports the
	// server's refusal later.
	done(key string) error
	change(key string, what change) error
	releaseAfter(key string, delay time.Duration) error
	numRequeues(key string) (int, error)
	causes(key string) (Causes, error)
	addedAgain(key string) (bool, error)
	token(key string) (uint64, error)
	quarantine(key, reason string) error
	isQuarantined(key string) (bool, error)
	quarantined() ([]QuarantinedKey, error)

	shutDown() error
	stop() error
	drain(ctx context.Context) error
	shuttingDown() bool
	close() error

	flush(durability Durability) error
	pause(duration time.Duration) error
	resume() error
	counts() (Counts, error)
	list(limit int) ([]QueuedKey, error)
	positionOf(key string) (int, error)
	setCursor(name, value string) error
	cursor(name string) (string, error)
	eraseCursor(name string) error
	cursors() (map[string]string, error)
	openSource(name string) (sourceBackend, error)
	removeSource(name string) error
	sources() ([]SourceInfo, error)
	join() (workerBackend, error)
}

// getter hands out keys.
type getter interface {
	// get waits for a key, and takes at most max. A key that is handed out while the context ends is
	// returned.
	get(ctx context.Context, max int) ([]taken, error)
	waitingGets() int // For tests.
}

// taken is a key that was handed out. Its lane is set if the queue's order has priorities.
type taken struct {
	key  string
	lane Lane
}

// change is a change of a key that has no options.
type change int32

const (
	changeDone change = iota
	changeForget
	changeRemove
	changeCancelDelay
	changeEndDelay
	changeRelease
	changeDrop
	changeDelete
)

// OpenQueue opens the queue of this name, 1 to 64 of [A-Za-z0-9._-]. NotFound: it does not exist,
// and MustExist is set. InvalidArgument: an invalid name or option.
//
// Of a *Store: AlreadyExists: it is open already; Queue.Close and Store.Close close it. Blocks: for
// reading its records. Of a *Client: IOError: the server cannot be reached. Blocks: for an answer.
func OpenQueue[T comparable](
	store Opener, name string, options QueueOptions[T]) (*Queue[T], error) {
	return newQueue(store, name, options, false)
}

func newQueue[T comparable](
	store Opener, name string, options QueueOptions[T], controllers bool) (*Queue[T], error) {
	q := &Queue[T]{
		name: name, codec: options.Codec, limiter: options.Limiter, groupOf: options.GroupOf,
		stops: options.StopOnShutDown, failures: &failures{}}
	logger := store.failureLogger()
	q.failures.log = func(err error) { logFailure(logger, name, err) }
	if q.codec == nil {
		codec, err := DefaultCodec[T]()
		if err != nil {
			return nil, err
		}
		q.codec = codec
	}
	request := openRequest{options: options.untyped(), hasLimiter: options.Limiter != nil,
		controllers: controllers, failures: q.failures}
	if q.groupOf != nil {
		request.groupOf = q.groupOfKey
	}
	var err error
	q.backend, err = store.openQueue(name, request)
	if err != nil {
		return nil, err
	}
	return q, nil
}

// Close stops the queue (waiting Gets return) and writes its changes, so that the store can open it
// again: its items stay there, and those that workers hold are handed out again after that. Later
// changes fail with ShuttingDown. A queue of a store in memory loses its items. Idempotent.
// NotDurable: a write has failed; the queue is stopped, and not closed. Blocks: for one sync. Of a
// remote queue it gives back what is held, and ends the worker's connection.
func (q *Queue[T]) Close() error { return q.backend.close() }

// Name returns the queue's name.
func (q *Queue[T]) Name() string { return q.name }

// Err returns the latest error of a call that does not return errors; nil: none failed. It stays
// set: Store.Health reports the present state of the store.
func (q *Queue[T]) Err() error { return q.failures.err() }

// Errors returns a channel that receives the errors of calls that do not return them, from the
// first call of Errors on. It need not be read: errors that do not fit are dropped.
func (q *Queue[T]) Errors() <-chan error { return q.failures.errors() }

// Add marks the item as needing work. Of a remote queue it waits for a server that cannot be
// reached, until ShutDown. An item in quarantine stays there, and is not handed out: IsQuarantined
// tells, AddWith returns Held, and the metric wq_held_adds_total counts such Adds.
func (q *Queue[T]) Add(item T) {
	q.failures.report(q.add(item))
}

func (q *Queue[T]) add(item T) error {
	if q.groupOf != nil {
		_, err := q.addWith(item, AddOptions{}, addAtOnce, true)
		return err
	}
	key, err := q.codec.Encode(item)
	if err != nil {
		return err
	}
	return q.backend.add(key)
}

// Len returns how many items are ready to be handed out.
func (q *Queue[T]) Len() int {
	n, err := q.backend.len()
	q.failures.report(err)
	return n
}

// Get waits for the next item, which the caller holds until Done. shutdown: the queue is shutting
// down and empty or paused, or the store is closed, or (see Err) a call failed.
func (q *Queue[T]) Get() (item T, shutdown bool) {
	item, err := q.GetContext(context.Background())
	q.reportEnd(err)
	return item, err != nil
}

// reportEnd records the error that ended a wait, unless it is a shutdown.
func (q *Queue[T]) reportEnd(err error) {
	if codeOf(err) != ShuttingDown {
		q.failures.report(err)
	}
}

// Done ends the processing of the item. If the item was added since Get, it is queued again. Of a
// remote queue it does not wait for the server.
//
// Deferred by a worker that panics, `defer q.Done(item)`, it counts a failure of the item, which is
// so handed out again, also by the next process, and the panic goes on.
func (q *Queue[T]) Done(item T) {
	if cause := recover(); cause != nil {
		defer panic(cause)
		_, err := q.AddWith(item, AddOptions{
			RateLimited: true, Failure: fmt.Errorf("its worker panicked: %v", cause)})
		q.failures.report(err)
	}
	key, err := q.codec.Encode(item)
	if err == nil {
		err = q.backend.done(key)
	}
	q.failures.report(err)
}

// ShutDown refuses Adds from now on; Get hands out what is queued, then reports shutdown. Items
// that are not processed stay in the store. With StopOnShutDown, and of a remote queue, it is Stop.
func (q *Queue[T]) ShutDown() {
	if q.stops {
		q.failures.report(q.Stop())
		return
	}
	q.failures.report(q.backend.shutDown())
}

// ShutDownWithDrain shuts the queue down as ShutDown does, and returns when no item is held and
// none would be handed out (the queue is empty, or paused), or when ShutDown or Stop is called. So
// it waits for workers that take what is queued: without any it does not return, where client-go's
// returns as soon as no item is held. With StopOnShutDown it is Stop. Of a remote queue it waits
// until this process holds no item.
func (q *Queue[T]) ShutDownWithDrain() {
	if q.stops {
		q.ShutDown()
		return
	}
	q.reportEnd(q.Drain(context.Background()))
}

// ShuttingDown reports whether the queue is shutting down, or its store is closed.
func (q *Queue[T]) ShuttingDown() bool { return q.backend.shuttingDown() }

// AddAfter adds the item once the duration has passed, also across restarts; of two delays the
// earlier end wins.
func (q *Queue[T]) AddAfter(item T, duration time.Duration) {
	_, err := q.addWith(item, AddOptions{After: duration}, addAfter, true)
	q.failures.report(err)
}

// AddRateLimited counts a failure of the item, and adds it after the limiter's delay. An item that
// failed more often than MaxRequeues is quarantined. The limiter is asked first, in any case. Of a
// remote queue Done counts the failure, and an item that is not held is added at once, without one.
func (q *Queue[T]) AddRateLimited(item T) {
	_, err := q.addWith(item, AddOptions{RateLimited: true}, addRateLimited, true)
	q.failures.report(err)
}

// Forget clears the failures of the item. The worker still has to call Done.
func (q *Queue[T]) Forget(item T) {
	if q.limiter != nil {
		q.limiter.Forget(item)
	}
	q.failures.report(q.change(item, changeForget))
}

// NumRequeues returns how often the item has failed since its last Forget; it survives restarts. Of
// a remote queue the item must be held.
func (q *Queue[T]) NumRequeues(item T) int {
	n, err := ask(q, item, q.backend.numRequeues)
	q.failures.report(err)
	return n
}

// Cause says why an item needs work, as an Add of it did.
type Cause struct {
	Reason      string // "": none.
	TraceParent string // Of W3C Trace Context; "": none.
}

// Causes are the distinct causes of an item's Adds, in their order; at most 8 are kept.
type Causes struct {
	List    []Cause
	LeftOut int // At least so many Adds had another one.
}

// Causes returns why the item needs work: if it is held, as it was handed out; otherwise for the
// next hand-out. A retry has the causes of what failed. NotFound: the item is neither dirty, held
// nor delayed. Of a remote queue the item must be held.
func (q *Queue[T]) Causes(item T) (Causes, error) {
	return ask(q, item, q.backend.causes)
}

// withKey makes a call about one item.
func (q *Queue[T]) withKey(item T, body func(key string) error) error {
	key, err := q.codec.Encode(item)
	if err != nil {
		return err
	}
	return body(key)
}

// ask makes a call about one item, and returns its result.
func ask[T comparable, Result any](
	q *Queue[T], item T, body func(key string) (Result, error)) (Result, error) {
	key, err := q.codec.Encode(item)
	if err != nil {
		var none Result
		return none, err
	}
	return body(key)
}

// change makes a change that needs only the item.
func (q *Queue[T]) change(item T, what change) error {
	return q.withKey(item, func(key string) error { return q.backend.change(key, what) })
}
