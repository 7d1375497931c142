package controllerruntime

import (
	"context"
	"fmt"
	"os/signal"
	"runtime"
	"slices"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"example.org/wq"
	corev1 "k8s.io/api/core/v1"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

const objects = 1000

// The objects that are reconciled again later, and those whose reconcile fails.
const late, failing = 25, 25

func lateOrFailing(n int) (reconcile.Result, error) {
	switch {
	case n < late:
		return reconcile.Result{RequeueAfter: time.Hour}, nil
	case n < late+failing:
		return reconcile.Result{}, errFailing
	}
	return reconcile.Result{}, nil
}

func from(first, count int) []int {
	all := make([]int, count)
	for i := range all {
		all[i] = first + i
	}
	return all
}

// exceptStatus drops the controller's own writes.
func exceptStatus() SourceOptions[*corev1.ConfigMap] {
	return SourceOptions[*corev1.ConfigMap]{Predicates: []predicate.TypedPredicate[*corev1.ConfigMap]{
		predicate.TypedGenerationChangedPredicate[*corev1.ConfigMap]{}}}
}

func TestARestartReconcilesOnlyWhatChanged(t *testing.T) {
	options := programOptions{reconcile: lateOrFailing, configMaps: exceptStatus()}
	dir, in := t.TempDir()+"/store", newCluster()
	in.put(from(0, objects)...)
	for i := range 10 {
		in.secrets.Add(secret(i, configMap(300+i, 1).Name))
	}
	first := startProgram(t, dir, in, options)
	eventually(t, "all are reconciled, and their status seen", func() bool {
		return first.seen("configmaps").Changed >= 2*objects
	})
	if counts := first.wantReconciled(from(0, objects)...); counts.Delayed != late+failing {
		t.Fatalf("%+v", counts)
	}
	first.stop()

	in.put(from(100, 5)...)
	in.remove(from(200, 5)...)
	in.put(from(objects, 5)...)
	in.secrets.Delete(secret(0, configMap(300, 1).Name))
	in.secrets.Modify(secret(1, configMap(301, 1).Name))
	changed := slices.Concat(from(100, 5), from(200, 5), from(300, 2), from(objects, 5))
	second := startProgram(t, dir, in, options)
	counts := second.wantReconciled(changed...)
	if counts.Delayed != late+failing || counts.Failing != failing {
		t.Fatalf("%+v", counts)
	}
	if of := second.seen("configmaps"); of.Objects != objects || of.Deleted != 5 {
		t.Fatalf("%+v", of)
	}
	second.stop()

	options.configMaps.Fingerprint = "another"
	third := startProgram(t, dir, in, options)
	eventually(t, "a new fingerprint", func() bool { return len(third.numbers()) == objects })
}

func TestWhatAPredicateDropsIsNoChangeAtTheRestart(t *testing.T) {
	const ignored = 3
	options := programOptions{configMaps: exceptStatus()}
	options.configMaps.Predicates = append(options.configMaps.Predicates,
		predicate.NewTypedPredicateFuncs(func(o *corev1.ConfigMap) bool {
			return o.Name != configMap(ignored, 1).Name
		}))
	dir, in := t.TempDir()+"/store", newCluster()
	in.put(from(0, ignored+1)...)
	first := startProgram(t, dir, in, options)
	eventually(t, "the writes of their status are seen", func() bool {
		return first.seen("configmaps").Changed >= 2*ignored+1
	})
	first.wantReconciled(0, 1, 2)
	first.stop()

	in.put(2)
	second := startProgram(t, dir, in, options)
	second.wantReconciled(2)
	if of := second.seen("configmaps"); of.Objects != ignored+1 || of.Deleted != 0 {
		t.Fatalf("%+v", of)
	}
}

// secrets are the Secrets of an informer of client-go, and a queue without a controller.
type secrets struct {
	store  *wq.Store
	queue  *wq.Queue[string]
	source *Source[*corev1.Secret, string]
	cancel context.CancelFunc
}

func watchSecrets(t *testing.T, dir string, from toolscache.ListerWatcher,
	to handler.TypedEventHandler[*corev1.Secret, string], options wq.QueueOptions[string],
	predicates ...predicate.TypedPredicate[*corev1.Secret]) *secrets {
	t.Helper()
	return watchInformer(t, openStore(t, dir), newInformer(t, from, &corev1.Secret{}), to, options,
		predicates...)
}

func watchInformer(t *testing.T, store *wq.Store, from cache.Informer,
	to handler.TypedEventHandler[*corev1.Secret, string], options wq.QueueOptions[string],
	predicates ...predicate.TypedPredicate[*corev1.Secret]) *secrets {
	t.Helper()
	w := &secrets{store: store}
	var err error
	w.queue, err = wq.OpenQueue(w.store, "secrets", options)
	must(t, err)
	var ctx context.Context
	ctx, w.cancel = context.WithCancel(context.Background())
	w.source = Informer("secrets", from, &corev1.Secret{}, to,
		SourceOptions[*corev1.Secret]{Predicates: predicates})
	must(t, w.source.Start(ctx, w.queue))
	return w
}

func (w *secrets) seen(t *testing.T) wq.SourceInfo { return seenBy(t, w.queue, "secrets") }

// sync waits for the first list.
func (w *secrets) sync(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	must(t, w.source.WaitForSync(ctx))
}

// drain does what is queued.
func (w *secrets) drain() (items []string) {
	for w.queue.Len() > 0 {
		item, _ := w.queue.Get()
		items = append(items, item)
		w.queue.Done(item)
	}
	return items
}

// wantWork checks what is queued, and does it.
func (w *secrets) wantWork(t *testing.T, want ...string) {
	t.Helper()
	got := w.drain()
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Fatalf("%q, want %q", got, want)
	}
}

// wantAll checks what the first list adds, and that there is nothing else to do. It stops w.
func (w *secrets) wantAll(t *testing.T, want ...string) {
	t.Helper()
	w.sync(t)
	w.wantWork(t, want...)
	w.stop(t)
}

func (w *secrets) stop(t *testing.T) {
	t.Helper()
	w.cancel()
	within(t, "the source ends", w.source.last.ended)
	must(t, w.store.Close())
}

// forLabel maps a secret to the keys that refer to its label now.
func forLabel(refer map[string][]string) handler.TypedEventHandler[*corev1.Secret, string] {
	return handler.TypedEnqueueRequestsFromMapFunc(
		func(_ context.Context, s *corev1.Secret) []string { return refer[s.Labels["for"]] })
}

// beforeEach calls `at` with "Create", "Update" or "Delete" before it maps an event as forLabel.
func beforeEach(at func(what string),
	refer map[string][]string) handler.TypedFuncs[*corev1.Secret, string] {
	to := forLabel(refer)
	return handler.TypedFuncs[*corev1.Secret, string]{
		CreateFunc: func(ctx context.Context, e event.TypedCreateEvent[*corev1.Secret],
			q workqueue.TypedRateLimitingInterface[string]) {
			at("Create")
			to.Create(ctx, e, q)
		},
		UpdateFunc: func(ctx context.Context, e event.TypedUpdateEvent[*corev1.Secret],
			q workqueue.TypedRateLimitingInterface[string]) {
			at("Update")
			to.Update(ctx, e, q)
		},
		DeleteFunc: func(ctx context.Context, e event.TypedDeleteEvent[*corev1.Secret],
			q workqueue.TypedRateLimitingInterface[string]) {
			at("Delete")
			to.Delete(ctx, e, q)
		}}
}

func TestAFullQueueTakesTheKeysOfAnObjectThatHasTooMany(t *testing.T) {
	w := watchSecrets(t, t.TempDir()+"/store", newAPIServer("many"),
		forLabel(map[string][]string{"many": tooMany}),
		wq.QueueOptions[string]{MaxPending: 100, WhenFull: wq.RefuseAdds})
	done := map[string]bool{}
	eventually(t, "all are work", func() bool {
		for _, item := range w.drain() {
			done[item] = true
		}
		return len(done) == len(tooMany)
	})
	w.sync(t)
	w.stop(t)
}

func TestASourceThatWaitsForRoomEndsWithItsContext(t *testing.T) {
	before := minWait
	minWait = time.Millisecond
	t.Cleanup(func() { minWait = before })
	for _, label := range []string{"one", "many"} {
		t.Run(label, func(t *testing.T) {
			server := newAPIServer()
			w := watchSecrets(t, t.TempDir()+"/store", server, forLabel(map[string][]string{
				"one": {"orders"}, "many": tooMany}), wq.QueueOptions[string]{MaxPending: 1})
			w.sync(t)
			w.queue.Add("pending")
			server.Add(secret(1, label))
			eventually(t, "an event waits", func() bool {
				counts, err := w.queue.Counts()
				must(t, err)
				return counts.Full > 0
			})
			w.stop(t)
		})
	}
}

// A deletion is made, and its row forgotten, once all keys are added.
func TestADeletionThatWaitsForRoomIsNotForgottenWhenItsContextEnds(t *testing.T) {
	type queue = workqueue.TypedRateLimitingInterface[string]
	to := handler.TypedFuncs[*corev1.Secret, string]{
		CreateFunc: func(_ context.Context, _ event.TypedCreateEvent[*corev1.Secret], q queue) {
			q.Add("one")
		},
		DeleteFunc: func(_ context.Context, _ event.TypedDeleteEvent[*corev1.Secret], q queue) {
			for _, key := range tooMany {
				q.Add(key)
			}
		}}
	before := minWait
	minWait = time.Millisecond
	t.Cleanup(func() { minWait = before })
	dir, server := t.TempDir()+"/store", newAPIServer("x")
	full := watchSecrets(t, dir, server, to, wq.QueueOptions[string]{MaxPending: 1})
	full.sync(t)
	server.Delete(secret(1, "x"))
	eventually(t, "the deletion waits", func() bool {
		counts, err := full.queue.Counts()
		must(t, err)
		return counts.Full > 0
	})
	full.stop(t)
	again := watchSecrets(t, dir, server, to, wq.QueueOptions[string]{})
	again.wantAll(t, slices.Sorted(slices.Values(append([]string{"one"}, tooMany...)))...)
}

// limitFiles limits the size of files, as on a full disk.
func limitFiles(t *testing.T, limit syscall.Rlimit) {
	t.Helper()
	must(t, syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit))
}

// openFailing opens a store on a disk that is full between two calls of what is returned. Only
// Recover recovers it.
func openFailing(t *testing.T, dir string) (store *wq.Store, fill, free func()) {
	t.Helper()
	signal.Ignore(syscall.SIGXFSZ)
	var before syscall.Rlimit
	must(t, syscall.Getrlimit(syscall.RLIMIT_FSIZE, &before))
	store, err := wq.Open(dir, wq.StoreOptions{CreateIfMissing: true, NoProcessLog: true,
		RecoveryBackoffMin: time.Hour, RecoveryBackoffMax: time.Hour})
	must(t, err)
	t.Cleanup(func() {
		limitFiles(t, before)
		must(t, store.Close())
		signal.Reset(syscall.SIGXFSZ)
	})
	return store, func() { limitFiles(t, syscall.Rlimit{Cur: 0, Max: before.Max}) },
		func() { limitFiles(t, before) }
}

func TestASourceGoesOnInMemoryWhileTheStoreHasFailed(t *testing.T) {
	dir, server := t.TempDir()+"/store", newAPIServer()
	to := handler.TypedEnqueueRequestsFromMapFunc(
		func(_ context.Context, s *corev1.Secret) []string { return []string{s.Labels["for"]} })
	store, fill, free := openFailing(t, dir)
	informer := &readInformer{SharedIndexInformer: newInformer(t, server, &corev1.Secret{}),
		missed: func() {}, read: func() {}}
	first := watchInformer(t, store, informer, to, wq.QueueOptions[string]{})
	first.sync(t)
	fill()
	for n, label := range []string{"first", "second", "third"} {
		server.Add(secret(n, label))
		eventually(t, label, func() bool { return first.queue.Len() == 1 })
		first.wantWork(t, label)
		eventually(t, "the failure", func() bool { return store.Health() != nil })
		same, _, err := informer.GetStore().GetByKey("web/" + secret(n, "").Name)
		must(t, err)
		resynced := make(chan struct{})
		go func() {
			informer.events.OnUpdate(same, same)
			close(resynced)
		}()
		within(t, "an event without a change", resynced)
	}
	free()
	must(t, store.Recover())
	first.stop(t)

	second := watchSecrets(t, dir, server, to, wq.QueueOptions[string]{})
	second.sync(t)
	second.wantWork(t)
	if of := second.seen(t); of.Unchanged != 3 {
		t.Fatalf("%+v", of)
	}
	second.stop(t)
}

// Updates whose observations fail come before others, which a predicate drops, as it does creates.
func TestAChangeThatWasNotObservedIsNotPassedOver(t *testing.T) {
	const changes = 4
	for _, why := range []string{"the queue is full", "the disk is full"} {
		t.Run(why, func(t *testing.T) {
			store, fill, free := openFailing(t, t.TempDir()+"/store")
			server := newAPIServer()
			for n := range changes {
				server.Add(secret(n, "old"))
			}
			var handled atomic.Int32
			to := handler.TypedFuncs[*corev1.Secret, string]{UpdateFunc: func(_ context.Context,
				e event.TypedUpdateEvent[*corev1.Secret], q workqueue.TypedRateLimitingInterface[string]) {
				handled.Add(1)
				q.Add(e.ObjectNew.Labels["for"])
			}}
			options := wq.QueueOptions[string]{}
			if why == "the queue is full" {
				options.MaxPending, options.WhenFull = 1, wq.RefuseAdds
			}
			w := watchInformer(t, store, newInformer(t, server, &corev1.Secret{}), to, options,
				predicate.TypedFuncs[*corev1.Secret]{
					CreateFunc: func(event.TypedCreateEvent[*corev1.Secret]) bool { return false },
					UpdateFunc: func(e event.TypedUpdateEvent[*corev1.Secret]) bool {
						return e.ObjectOld.Labels["for"] != e.ObjectNew.Labels["for"]
					}})
			w.sync(t)
			if why == "the disk is full" {
				fill()
				w.queue.Add("failing")
				if store.Recover() == nil { // The rows cannot be read now.
					t.Fatal("the disk is not full")
				}
			}
			for n := range changes {
				server.Modify(secret(n, fmt.Sprint(n)))
				server.Modify(secret(n, fmt.Sprint(n))) // As a write of its status.
			}
			eventually(t, "a failure", func() bool { return w.source.last.failure.Load() != nil })
			if why == "the disk is full" {
				free()
				must(t, store.Recover())
			}
			done := map[string]bool{}
			eventually(t, "all changes are work", func() bool {
				for _, item := range w.drain() {
					done[item] = true
				}
				return done["0"] && done["1"] && done["2"] && done["3"]
			})
			if handled.Load() != changes {
				t.Fatalf("the handler was called %d times", handled.Load())
			}
			w.stop(t)
		})
	}
}

// tooMany keys are more than a source takes of an object.
var tooMany = func() []string {
	keys := make([]string, 1001)
	for i := range keys {
		keys[i] = fmt.Sprint("key ", i)
	}
	return keys
}()

func TestAPriorityOfASourceIsThatOfTheQueue(t *testing.T) {
	store, server := openStore(t, t.TempDir()+"/store"), newAPIServer("db")
	for i, priority := range []int{-1 << 40, -5, 0, 7, 1<<32 - 100, 1 << 40} {
		add := func(to workqueue.TypedRateLimitingInterface[reconcile.Request]) {
			to.(priorityqueue.PriorityQueue[reconcile.Request]).AddWithOpts(
				priorityqueue.AddOpts{Priority: &priority}, reconcile.Request{})
		}
		queue := NewPriorityQueue(store, fmt.Sprint(i), wq.QueueOptions[reconcile.Request]{})
		add(queue)
		item, want, _ := queue.GetWithPriority()
		queue.Done(item)
		s := Informer("secrets", newInformer(t, server, &corev1.Secret{}), &corev1.Secret{},
			handler.TypedFuncs[*corev1.Secret, reconcile.Request]{CreateFunc: func(_ context.Context,
				_ event.TypedCreateEvent[*corev1.Secret],
				q workqueue.TypedRateLimitingInterface[reconcile.Request]) {
				add(q)
			}},
			SourceOptions[*corev1.Secret]{})
		ctx, cancel := context.WithCancel(t.Context())
		must(t, s.Start(ctx, queue))
		must(t, s.WaitForSync(ctx))
		if _, got, _ := queue.GetWithPriority(); got != want {
			t.Errorf("%d: %d, want %d", priority, got, want)
		}
		cancel()
		within(t, "the source ends", s.last.ended)
	}
}

func TestASourceMayBeStartedAgainWhenItsContextHasEnded(t *testing.T) {
	server := newAPIServer("db")
	w := watchSecrets(t, t.TempDir()+"/store", server,
		forLabel(map[string][]string{"db": {"orders"}}), wq.QueueOptions[string]{})
	for range 20 {
		w.cancel()
		var ctx context.Context
		ctx, w.cancel = context.WithCancel(context.Background())
		must(t, w.source.Start(ctx, w.queue))
	}
	w.wantAll(t, "orders")
}

func TestARunBeginsWhenTheOneBeforeHasEnded(t *testing.T) {
	queue, err := wq.OpenQueue(openStore(t, t.TempDir()+"/store"), "secrets",
		wq.QueueOptions[string]{})
	must(t, err)
	informer := newInformer(t, newAPIServer("db"), &corev1.Secret{})
	var first *run[*corev1.Secret, string]
	begun, goOn := make(chan struct{}), make(chan struct{})
	var calls atomic.Int32
	ctx, cancel := context.WithCancel(t.Context())
	s := Informer("secrets", informer, &corev1.Secret{},
		forLabel(map[string][]string{"db": {"orders"}}), SourceOptions[*corev1.Secret]{})
	s.informer = func(context.Context) (cache.Informer, error) {
		if calls.Add(1) == 1 {
			close(begun)
			<-goOn
			for range 1000 {
				runtime.Gosched() // The second run has begun by then.
			}
			return informer, nil
		}
		select {
		case <-first.ended:
		default:
			t.Error("two runs at once")
			cancel()
		}
		return informer, nil
	}
	must(t, s.Start(ctx, queue))
	first = s.last
	within(t, "the first run", begun)
	cancel()
	ctx, cancel = context.WithCancel(t.Context())
	must(t, s.Start(ctx, queue))
	close(goOn)
	must(t, s.WaitForSync(ctx))
	if queue.Len() != 1 || calls.Load() != 2 {
		t.Fatal(queue.Len(), calls.Load())
	}
	cancel()
	within(t, "the source ends", s.last.ended)
	running.Lock()
	defer running.Unlock()
	if _, ok := running.in[placeOf{queue, "secrets"}]; ok {
		t.Fatal("the run is kept for good")
	}
}

func TestAWaitThatEndsTooEarlyEndsNoSource(t *testing.T) {
	goOn := make(chan struct{})
	w := watchSecrets(t, t.TempDir()+"/store", newAPIServer("db"),
		handler.TypedFuncs[*corev1.Secret, string]{CreateFunc: func(_ context.Context,
			_ event.TypedCreateEvent[*corev1.Secret], q workqueue.TypedRateLimitingInterface[string]) {
			<-goOn
			q.Add("orders")
		}}, wq.QueueOptions[string]{})
	past, cancel := context.WithDeadline(t.Context(), time.Time{})
	defer cancel()
	for range 2 {
		if w.source.WaitForSync(past) == nil {
			t.Fatal("the list has ended before its event")
		}
	}
	close(goOn)
	w.wantAll(t, "orders")
}

func TestAKindEndsItsQueueWithItsContext(t *testing.T) {
	queue := NewPriorityQueue(openStore(t, t.TempDir()+"/store"), "queue",
		wq.QueueOptions[reconcile.Request]{})
	queue.Add(reconcile.Request{})
	s := Kind("secrets", newManager(t, newCluster(), manager.Options{}).GetCache(), &corev1.Secret{},
		&handler.TypedEnqueueRequestForObject[*corev1.Secret]{}, SourceOptions[*corev1.Secret]{})
	ctx, cancel := context.WithCancel(t.Context())
	must(t, s.Start(ctx, queue))
	cancel()
	eventually(t, "nothing is handed out", queue.ShuttingDown)
	if _, shutdown := queue.Get(); !shutdown {
		t.Fatal("a key was handed out")
	}
	within(t, "the source ends", s.last.ended)
	must(t, s.Start(ctx, queue)) // As it may be while a manager ends.
	must(t, s.WaitForSync(t.Context()))
}

func TestASecondSourceOfANameIsRefused(t *testing.T) {
	w := watchSecrets(t, t.TempDir()+"/store", newAPIServer(), forLabel(nil),
		wq.QueueOptions[string]{})
	again := Informer("secrets", newInformer(t, newAPIServer(), &corev1.Secret{}), &corev1.Secret{},
		forLabel(nil), SourceOptions[*corev1.Secret]{})
	if err := again.Start(t.Context(), w.queue); err == nil {
		t.Fatal("it was started")
	}
	w.stop(t)
}

func TestAQueueWithoutSourcesIsRefused(t *testing.T) {
	s := Informer("secrets", newInformer(t, newAPIServer(), &corev1.Secret{}), &corev1.Secret{},
		forLabel(nil), SourceOptions[*corev1.Secret]{})
	limiter := workqueue.DefaultTypedControllerRateLimiter[string]()
	if err := s.Start(t.Context(), workqueue.NewTypedRateLimitingQueue(limiter)); err == nil {
		t.Fatal("it was started")
	}
}
