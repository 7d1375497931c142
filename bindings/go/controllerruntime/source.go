package controllerruntime

// This file has the sources of a controller: the informers of its kinds, and their lists.

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"example.org/wq"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/apimachinery/pkg/util/wait"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

// SourceOptions are the options of Kind and Informer; the zero value is right for a controller
// whose cache has all objects of the kind.
type SourceOptions[object client.Object] struct {
	// Predicates decide what reaches the handler. What they drop is recorded as seen, so that a
	// controller's own write of a status is no change for the next restart.
	Predicates []predicate.TypedPredicate[object]
	// Scope is what the cache has of the kind: namespaces, selectors. When it changes, objects that
	// are not listed any more are not taken for deleted.
	Scope string
	// Fingerprint is what the controller's code is; a new one asks for a full pass. "": a hash of
	// the executable, its arguments and its environment, without the variables that a shell, systemd
	// or the namespace's services set, and without those that are the host's name. docs/sources.md
	// says which controller needs another one, such as a random one.
	Fingerprint string
	// Keep returns what the handler must know of an object that was deleted or changed while the
	// controller was down, encoded as JSON; at most 4096 bytes, otherwise as if Keep were nil. The
	// handler's Delete, or its Update as the old object, gets an object that was decoded from that.
	// Nil: the metadata, without managed fields; without annotations, then labels and finalizers, then
	// owners, if it is too long.
	Keep func(o object) any
}

// Source is a source of a controller that remembers, in the store of the controller's queue, what
// it has seen of each object. Its handler adds the keys of objects that are new or have changed
// since, and at the end of the first list of those that were deleted while nobody looked. The queue
// of a controller must be one of NewQueue; without a controller, any of a store on disk that the
// process owns.
//
//   - An Add of the handler and the record of its object are one atomic step.
//   - An update of which the handler adds nothing is recorded as seen, as what a predicate drops.
//   - What the handler adds with a delay or rate limited goes to the queue as it is, and its object
//     counts as changed at the next list. So does an object with more keys than a source takes. If
//     it adds others at once, or at a deletion, the keys that the object had are added at once too.
//   - What the handler adds after it has returned is lost if the process ends before. A handler
//     that does needs a Fingerprint that is new with each process.
//   - Deletions that a predicate drops add the keys that the object had.
//   - An event without a change, such as one of cache.Options.SyncPeriod, does nothing:
//     use QueueOptions.Resync.
//
// While the store has failed, the source goes on in memory. What fails is repeated until it works,
// such as an observation that a full queue refuses, or that takes a row which cannot be read now;
// the events behind it wait. Start may be called again when its context has ended, with a queue
// that is not shut down.
type Source[object client.Object, request comparable] struct {
	name     string
	kind     object // What is decoded is a copy of it.
	ends     bool   // The queue, when the context of Start ends.
	informer func(ctx context.Context) (cache.Informer, error)
	handler  handler.TypedEventHandler[object, request]
	options  SourceOptions[object]

	last *run[object, request] // Of the last Start.
}

// run is what a Start has begun.
type run[object client.Object, request comparable] struct {
	*Source[object, request]
	span
	rows    *wq.Source[request]
	queue   durableQueue[request]
	list    wq.ListOptions
	synced  chan struct{}         // Closed when the first list has ended.
	failure atomic.Pointer[error] // The last one.
}

// span is the time of a run.
type span struct {
	ctx   context.Context // Its end is the end of the run.
	ended chan struct{}   // Closed when nothing is observed any more.
}

// durableQueue is what a source needs of a queue of package wq.
type durableQueue[request comparable] interface {
	workqueue.TypedRateLimitingInterface[request]
	OpenSource(name string) (*wq.Source[request], error)
	AddBatch(items []request, options wq.AddOptions) (wq.BatchResult, error)
}

var _ source.SyncingSource = (*Source[client.Object, reconcile.Request])(nil)

// Kind is source.TypedKind with a memory: see Source. The name is that of the source in the queue,
// where it must be the only one, at each start the same: 1 to 64 of [A-Za-z0-9._-].
//
// When the context of Start ends, it shuts the queue down. Controller-runtime does that some time
// later, and until then its workers go on: with a context that has ended each key would fail.
func Kind[object client.Object, request comparable](name string, from cache.Cache, kind object,
	to handler.TypedEventHandler[object, request], options SourceOptions[object],
) *Source[object, request] {
	return &Source[object, request]{name: name, kind: kind, ends: true, handler: to, options: options,
		informer: func(ctx context.Context) (cache.Informer, error) {
			return from.GetInformer(ctx, kind)
		}}
}

// Informer is Kind for an informer, such as a SharedIndexInformer of client-go. Without a
// controller call Start with the queue, WaitForSync, and then begin to work. If the handler reads
// other informers, wait for their HasSynced before Start.
func Informer[object client.Object, request comparable](name string, from cache.Informer,
	kind object, to handler.TypedEventHandler[object, request], options SourceOptions[object],
) *Source[object, request] {
	return &Source[object, request]{name: name, kind: kind, handler: to, options: options,
		informer: func(context.Context) (cache.Informer, error) { return from, nil }}
}

func (s *Source[object, request]) String() string {
	return fmt.Sprintf("wq source %s of %T", s.name, s.kind)
}

// Start opens the source in the queue, and observes the informer until the context ends. It does
// not wait for the list. An error: the queue is not one of package wq on disk, is shutting down, or
// refuses the name; a source of this name runs already; or there is no fingerprint. Nil, and
// nothing is begun, if the context has ended.
func (s *Source[object, request]) Start(
	ctx context.Context, queue workqueue.TypedRateLimitingInterface[request]) error {
	durable, ok := queue.(durableQueue[request])
	if !ok {
		return fmt.Errorf("%v: the controller's queue is a %T: its Options.NewQueue must be "+
			"controllerruntime.NewQueue", s, queue)
	}
	if ctx.Err() != nil { // Then the queue may be shutting down, which is no failure.
		s.last = &run[object, request]{Source: s, span: span{ctx: ctx}}
		return nil
	}
	if queue.ShuttingDown() {
		return fmt.Errorf("%v: the queue is shutting down: start with a new one", s)
	}
	rows, err := durable.OpenSource(s.name)
	if err != nil {
		return fmt.Errorf("%v: %w", s, err)
	}
	options := wq.ListOptions{Scope: s.options.Scope, Fingerprint: s.options.Fingerprint}
	if options.Fingerprint == "" {
		if options.Fingerprint, err = ownFingerprint(); err != nil {
			return fmt.Errorf("%v: SourceOptions.Fingerprint is not set: %w", s, err)
		}
	}
	place := placeOf{queue, s.name}
	running.Lock()
	defer running.Unlock()
	before := running.in[place]
	if before != nil && before.ctx.Err() == nil {
		return fmt.Errorf("%v: a source of this name runs already in the queue", s)
	}
	r := &run[object, request]{Source: s, span: span{ctx, make(chan struct{})}, rows: rows,
		queue: durable, list: options, synced: make(chan struct{})}
	running.in[place] = &r.span
	if s.ends {
		context.AfterFunc(ctx, queue.ShutDown)
	}
	s.last = r
	go r.run(place, before)
	return nil
}

// running has the last runs of the sources in this process that have not ended: two of one name
// would supersede each other's lists, and take each other's objects for deleted.
var running = struct {
	sync.Mutex
	in map[placeOf]*span
}{in: map[placeOf]*span{}}

type placeOf struct {
	queue any
	name  string
}

// WaitForSync waits until the first list has ended: what has changed or was deleted is in the
// queue. Nil, too, if this context or that of Start was cancelled, as of controller-runtime's Kind.
// An error: the list has not ended at the deadline of this context. The source goes on.
func (s *Source[object, request]) WaitForSync(ctx context.Context) error {
	r := s.last
	select {
	case <-r.synced:
		return nil
	case <-r.ctx.Done():
		return nil
	case <-ctx.Done():
	}
	if errors.Is(ctx.Err(), context.Canceled) {
		return nil
	}
	if err := r.failure.Load(); err != nil {
		return fmt.Errorf("%v has not synced: %w", s, *err)
	}
	return fmt.Errorf("%v has not synced: the list did not end in time", s)
}

// How long to wait after a failure, and after a further one.
const (
	minRetry = 10 * time.Millisecond
	maxRetry = time.Second
)

// minWait is how long the first try waits for room in the queue; then the context is looked at.
var minWait = 10 * time.Second

// repeat makes the call until it works, or the context ends. A try may wait so long for room in the
// queue, a later one for longer: it stands in line anew.
func (r *run[object, request]) repeat(call func(wait time.Duration) error) {
	wait := minWait
	for delay := minRetry; r.ctx.Err() == nil; delay = min(2*delay, maxRetry) {
		err := call(wait)
		if err == nil {
			r.failure.Store(nil)
			return
		}
		wait = min(2*wait, 32*minWait)
		r.failure.Store(&err)
		if delay == minRetry {
			log.FromContext(r.ctx).Error(err, "the source tries again until it works",
				"source", r.String())
		}
		select {
		case <-r.ctx.Done():
		case <-time.After(delay):
		}
	}
}

// run follows the informer until the context ends, once the run before in this place has ended.
func (r *run[object, request]) run(place placeOf, before *span) {
	defer func() {
		running.Lock()
		defer running.Unlock()
		if running.in[place] == &r.span {
			delete(running.in, place)
		}
		close(r.ended)
	}()
	if before != nil {
		<-before.ended
	}
	r.repeat(func(time.Duration) error { return r.follow() })
}

// follow observes the informer until the context ends, or returns why it cannot begin. Its
// registration begins with an event for each object that the informer has: that is the list. There
// is no other, since what changes between two registrations is no update.
func (r *run[object, request]) follow() error {
	informer, err := r.informer(r.ctx)
	if err != nil {
		return err
	}
	list, err := r.rows.BeginList(r.list)
	if err != nil {
		return err
	}
	defer list.Close()
	events := &eventHandler[object, request]{run: r}
	logger := log.FromContext(r.ctx)
	registration, err := informer.AddEventHandlerWithOptions(
		events, toolscache.HandlerOptions{Logger: &logger})
	if err != nil {
		return err
	}
	defer func() {
		_ = informer.RemoveEventHandler(registration)
		events.mu.Lock() // The informer may still send events: that of now has ended.
		defer events.mu.Unlock()
	}()
	select {
	case <-registration.HasSyncedChecker().Done():
	case <-r.ctx.Done():
		return nil
	}
	r.endList(list, informer, events)
	if r.ctx.Err() == nil {
		close(r.synced)
	}
	<-r.ctx.Done()
	return nil
}

// endList adds the keys of the deleted objects. With a context that has ended it does not: then
// objects were perhaps not observed, but are there.
func (r *run[object, request]) endList(list *wq.SourceList[request], informer cache.Informer,
	events *eventHandler[object, request]) {
	late, cancel := context.WithTimeout(r.ctx, maxLag)
	defer cancel()
	var store toolscache.Store // Nil: of several namespaces.
	if shared, ok := informer.(interface{ GetStore() toolscache.Store }); ok {
		store = shared.GetStore()
	}
	r.repeat(func(wait time.Duration) error {
		for r.ctx.Err() == nil {
			gone, err := list.NextDeleted()
			if errors.Is(err, wq.NotFound) {
				return list.End(wq.AddOptions{WaitForRoom: wait})
			}
			if err != nil {
				return err
			}
			if store != nil {
				_, seen := versionIn(gone)
				awaitVersion(late, store, seen)
			}
			if r.ctx.Err() == nil {
				events.observeMissing(list, gone, store)
			}
		}
		return nil
	})
}

// maxLag bounds the wait for an informer that is behind what the source has seen. One that stays
// behind is of a cluster that was restored from a backup.
const maxLag = 30 * time.Second

// awaitVersion waits until the informer's store is as new as this resourceVersion: a first list may
// be older than what the source has seen, and then the object's event is on its way.
func awaitVersion(ctx context.Context, store toolscache.Store, seen string) {
	_ = wait.PollUntilContextCancel(ctx, 20*time.Millisecond, true,
		func(context.Context) (done bool, err error) {
			order, err := resourceversion.CompareResourceVersion(
				store.LastStoreSyncResourceVersion(), seen)
			return err != nil || order >= 0, nil
		})
}
