package controllerruntime

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"example.org/wq"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
)

func TestADeletionIsMappedAnewByWhatIsKeptOfTheObject(t *testing.T) {
	dir, server := t.TempDir()+"/store", newAPIServer("db", "cache", "mail")
	first := watchSecrets(t, dir, server, forLabel(map[string][]string{
		"db": {"orders", "users"}, "cache": {"pages"}, "mail": {"letters"}}), wq.QueueOptions[string]{})
	first.wantAll(t, "letters", "orders", "pages", "users")

	server.Delete(secret(1, "db"))
	server.Delete(secret(3, "mail")) // It is made again, by the same name.
	again := secret(3, "mail")
	again.UID = "another"
	server.Add(again)
	second := watchSecrets(t, dir, server, forLabel(map[string][]string{
		"db": {"invoices"}, "cache": {"pages"}, "mail": {"letters"}}), wq.QueueOptions[string]{})
	second.sync(t)
	second.wantWork(t, "invoices", "letters", "orders", "users")
	server.Delete(secret(2, "cache"))
	eventually(t, "a deletion is seen at once", func() bool { return second.queue.Len() == 1 })
	second.wantWork(t, "pages")
	second.stop(t)
}

func TestAChangeWhileDownIsMappedByWhatTheObjectWas(t *testing.T) {
	for name, options := range map[string]wq.QueueOptions[string]{
		"": {}, "in a full queue": {MaxPending: 1, WhenFull: wq.RefuseAdds}} {
		t.Run(name, func(t *testing.T) {
			dir, server := t.TempDir()+"/store", newAPIServer("db", "cache")
			first := watchSecrets(t, dir, server, forLabel(map[string][]string{
				"db": {"orders"}, "cache": {"pages"}}), wq.QueueOptions[string]{})
			first.wantAll(t, "orders", "pages")

			server.Modify(secret(1, "mail"))
			refer := forLabel(map[string][]string{
				"db": {"invoices", "orders"}, "cache": {"pages"}, "mail": {"letters"}})
			second := watchSecrets(t, dir, server, refer, options)
			worked := map[string]bool{}
			work := func() bool {
				for _, item := range second.drain() {
					worked[item] = true
				}
				return len(worked) == 3
			}
			eventually(t, "the readers of both are added", work)
			second.sync(t)
			if work(); worked["pages"] {
				t.Fatal(worked)
			}
			second.stop(t)
			third := watchSecrets(t, dir, server, refer, wq.QueueOptions[string]{})
			third.wantAll(t)
		})
	}
}

// A predicate may drop the events of a list, as one that lets updates pass alone.
func TestAChangeWhileDownIsAnUpdateToPredicatesThatDropCreates(t *testing.T) {
	dir, server := t.TempDir()+"/store", newAPIServer("db")
	refer := forLabel(map[string][]string{"db": {"orders"}, "cache": {"pages"}})
	relabelled := predicate.TypedFuncs[*corev1.Secret]{
		CreateFunc: func(event.TypedCreateEvent[*corev1.Secret]) bool { return false },
		UpdateFunc: func(e event.TypedUpdateEvent[*corev1.Secret]) bool {
			return e.ObjectOld.Labels["for"] != e.ObjectNew.Labels["for"]
		}}
	watch := func(items ...string) {
		t.Helper()
		w := watchSecrets(t, dir, server, refer, wq.QueueOptions[string]{}, relabelled)
		w.wantAll(t, items...)
	}
	watch()
	server.Modify(secret(1, "db"))
	watch()
	server.Modify(secret(1, "cache"))
	watch("orders", "pages") // The handler's Update maps both.
	watch()
	server.Add(secret(2, "db")) // A Create, which is dropped.
	watch()
}

// lives adds what it is told of an object.
var lives = handler.TypedFuncs[*corev1.Secret, string]{
	CreateFunc: func(_ context.Context, e event.TypedCreateEvent[*corev1.Secret],
		q workqueue.TypedRateLimitingInterface[string]) {
		q.Add("created " + string(e.Object.UID))
	},
	DeleteFunc: func(_ context.Context, e event.TypedDeleteEvent[*corev1.Secret],
		q workqueue.TypedRateLimitingInterface[string]) {
		q.Add("deleted " + string(e.Object.UID))
	}}

func ofUID(uid types.UID, label string) *corev1.Secret {
	s := secret(1, label)
	s.UID = uid
	return s
}

func TestAnObjectThatWasMadeAgainWhileDownIsDeletedAndCreated(t *testing.T) {
	for _, dropped := range []bool{false, true} {
		dir, server := t.TempDir()+"/store", newAPIServer()
		server.Add(ofUID("one", "db"))
		wanted := predicate.NewTypedPredicateFuncs(
			func(s *corev1.Secret) bool { return !dropped || s.Labels["for"] == "db" })
		first := watchSecrets(t, dir, server, lives, wq.QueueOptions[string]{}, wanted)
		first.wantAll(t, "created one")
		server.Delete(ofUID("one", "db"))
		server.Add(ofUID("another", "cache"))
		items := []string{"created another", "created one", "deleted one"}
		if dropped {
			items = items[1:]
		}
		second := watchSecrets(t, dir, server, lives, wq.QueueOptions[string]{}, wanted)
		second.wantAll(t, items...)
	}
}

func TestAnOlderObjectOfAListThatIsBehindDeletesNothing(t *testing.T) {
	dir, server := t.TempDir()+"/store", newAPIServer()
	server.Add(ofUID("one", "db"))
	old, err := server.FakeControllerSource.List(metav1.ListOptions{})
	must(t, err)
	server.Delete(ofUID("one", "db"))
	server.Add(ofUID("another", "db"))
	first := watchSecrets(t, dir, server, lives, wq.QueueOptions[string]{})
	first.wantAll(t, "created another")

	server.list = func() (runtime.Object, error) { return old, nil }
	slow := &slowWatch{apiServer: server, goOn: make(chan struct{})}
	watch := sync.OnceFunc(func() { close(slow.goOn) })
	defer watch()
	second := watchSecrets(t, dir, slow, lives, wq.QueueOptions[string]{})
	second.sync(t)
	second.wantWork(t, "created another", "created one")
	watch()
	eventually(t, "the newer object is seen", func() bool { return second.queue.Len() == 3 })
	second.wantWork(t, "created another", "created one", "deleted one")
	second.stop(t)
}

func TestWhatIsMissedByAHandlerThatNeedsMoreOfTheOldObjectIsAdded(t *testing.T) {
	for what, items := range map[string][]string{
		"Update": {"letters", "orders"}, "Delete": {"orders"}} {
		t.Run(what, func(t *testing.T) {
			dir, server := t.TempDir()+"/store", newAPIServer("db")
			to := beforeEach(func(now string) {
				if now == what {
					panic("what is kept of the object is too little")
				}
			}, map[string][]string{"db": {"orders"}, "mail": {"letters"}})
			first := watchSecrets(t, dir, server, to, wq.QueueOptions[string]{})
			first.wantAll(t, "orders")
			if what == "Update" {
				server.Modify(secret(1, "mail"))
			} else {
				server.Delete(secret(1, "db"))
			}
			second := watchSecrets(t, dir, server, to, wq.QueueOptions[string]{})
			second.wantAll(t, items...)
		})
	}
}

// The row has no items, since the Create was dropped.
func TestAChangeIsNotMissedByAHandlerThatNeedsMoreOfTheOldObject(t *testing.T) {
	dir, server := t.TempDir()+"/store", newAPIServer("db")
	to := handler.TypedFuncs[*corev1.Secret, string]{
		CreateFunc: forLabel(map[string][]string{"mail": {"letters"}}).Create,
		UpdateFunc: func(_ context.Context, e event.TypedUpdateEvent[*corev1.Secret],
			q workqueue.TypedRateLimitingInterface[string]) {
			q.Add(fmt.Sprint(e.ObjectOld.Data["k"][0]))
		}}
	watch := func(items ...string) {
		t.Helper()
		w := watchSecrets(t, dir, server, to, wq.QueueOptions[string]{},
			predicate.TypedFuncs[*corev1.Secret]{
				CreateFunc: func(event.TypedCreateEvent[*corev1.Secret]) bool { return false }})
		w.wantAll(t, items...)
	}
	watch()
	server.Modify(secret(1, "mail"))
	watch("letters")
	watch()
}

// A list behind a broken watch may have another object of the name. Client-go calls that an update.
func TestAnObjectThatWasMadeAgainIsNoUpdate(t *testing.T) {
	dir, server := t.TempDir()+"/store", newAPIServer("db")
	refer := forLabel(map[string][]string{"db": {"orders"}, "cache": {"pages"}})
	unchanged := predicate.TypedGenerationChangedPredicate[*corev1.Secret]{}
	first := watchSecrets(t, dir, server, refer, wq.QueueOptions[string]{}, unchanged)
	first.sync(t)
	first.wantWork(t, "orders")
	again := secret(1, "cache")
	again.UID = "another"
	server.Modify(again)
	eventually(t, "it is seen", func() bool { return first.queue.Len() == 2 })
	first.wantWork(t, "orders", "pages")
	first.stop(t)

	server.Delete(secret(1, "db")) // The fake has both.
	second := watchSecrets(t, dir, server, refer, wq.QueueOptions[string]{}, unchanged)
	second.wantAll(t)
}

// recovering is an informer that goes on after a panic of a handler.
type recovering struct{ cache.Informer }

func (i recovering) AddEventHandlerWithOptions(events toolscache.ResourceEventHandler,
	options toolscache.HandlerOptions) (toolscache.ResourceEventHandlerRegistration, error) {
	return i.Informer.AddEventHandlerWithOptions(toolscache.ResourceEventHandlerDetailedFuncs{
		AddFunc: func(o any, isInInitialList bool) {
			defer func() { _ = recover() }()
			events.OnAdd(o, isInInitialList)
		},
		UpdateFunc: func(before, o any) {
			defer func() { _ = recover() }()
			events.OnUpdate(before, o)
		}}, options)
}

func TestAnEventThatEndsInAPanicIsNotPassedOver(t *testing.T) {
	for _, where := range []string{"Create", "Update", "a predicate"} {
		t.Run(where, func(t *testing.T) {
			dir, server := t.TempDir()+"/store", newAPIServer("db")
			var panics atomic.Bool
			at := func(place string) {
				if place == where && panics.Swap(false) {
					panic(place)
				}
			}
			to := beforeEach(at, map[string][]string{"db": {"orders"}, "mail": {"orders"}})
			start := func() *secrets {
				informer := recovering{newInformer(t, server, &corev1.Secret{})}
				return watchInformer(t, openStore(t, dir), informer, to, wq.QueueOptions[string]{},
					predicate.TypedFuncs[*corev1.Secret]{
						UpdateFunc: func(e event.TypedUpdateEvent[*corev1.Secret]) bool {
							at("a predicate")
							return e.ObjectOld.Labels["for"] != e.ObjectNew.Labels["for"]
						}})
			}
			w := start()
			w.sync(t)
			w.wantWork(t, "orders")
			if where == "Create" { // That of a list.
				w.stop(t)
			}
			panics.Store(true)
			server.Modify(secret(1, "mail"))
			if where == "Create" {
				w = start()
				w.sync(t)
			}
			eventually(t, "the panic", func() bool { return !panics.Load() })
			before := w.seen(t).Changed
			server.Modify(secret(1, "mail")) // As a write of its status.
			eventually(t, "the update", func() bool { return w.seen(t).Changed > before })
			w.wantWork(t)
			w.stop(t)

			start().wantAll(t, "orders")
			start().wantAll(t)
		})
	}
}

func TestAnUpdateThatTheHandlerIgnoresIsNoChangeAtTheRestart(t *testing.T) {
	dir, server := t.TempDir()+"/store", newAPIServer("db")
	to := handler.TypedFuncs[*corev1.Secret, string]{
		CreateFunc: forLabel(map[string][]string{"db": {"orders"}}).Create}
	first := watchSecrets(t, dir, server, to, wq.QueueOptions[string]{})
	first.sync(t)
	first.wantWork(t, "orders")
	server.Modify(secret(1, "db"))
	eventually(t, "the update is seen", func() bool { return first.seen(t).Changed == 2 })
	first.stop(t)

	second := watchSecrets(t, dir, server, to, wq.QueueOptions[string]{})
	second.wantAll(t)
}

func TestWhatARowCannotHaveCountsAsChanged(t *testing.T) {
	dir, server := t.TempDir()+"/store", newAPIServer("many", "late")
	to := handler.TypedFuncs[*corev1.Secret, string]{CreateFunc: func(_ context.Context,
		e event.TypedCreateEvent[*corev1.Secret], q workqueue.TypedRateLimitingInterface[string]) {
		if e.Object.Labels["for"] == "late" {
			q.AddAfter("later", time.Hour)
			return
		}
		for _, key := range tooMany {
			q.Add(key)
		}
	}}
	slices.Sort(tooMany)
	for range 2 {
		w := watchSecrets(t, dir, server, to, wq.QueueOptions[string]{})
		w.sync(t)
		counts, err := w.queue.Counts()
		must(t, err)
		if counts.Delayed != 1 || counts.Queued != len(tooMany) {
			t.Fatalf("%+v", counts)
		}
		w.wantWork(t, tooMany...)
		if of := w.seen(t); of.Objects != 2 || of.Changed == 0 {
			t.Fatalf("%+v", of)
		}
		w.stop(t)
	}
}

// refusing is a codec of strings, of which one has no key.
type refusing string

func (c refusing) Encode(item string) (string, error) {
	if item == string(c) {
		return "", errFailing
	}
	return item, nil
}

func (refusing) Decode(key string) (string, error) { return key, nil }

func TestAnItemWithoutAKeyDoesNotHoldUpTheOthers(t *testing.T) {
	w := watchSecrets(t, t.TempDir()+"/store", newAPIServer("db"),
		forLabel(map[string][]string{"db": {"good", "bad"}}),
		wq.QueueOptions[string]{Codec: refusing("bad")})
	w.wantAll(t, "good")
}

// delaying adds the key of a secret at its creation, and then only with a delay.
func delaying(later func(q workqueue.TypedRateLimitingInterface[string], key string),
) handler.TypedFuncs[*corev1.Secret, string] {
	type queue = workqueue.TypedRateLimitingInterface[string]
	return handler.TypedFuncs[*corev1.Secret, string]{
		CreateFunc: func(_ context.Context, e event.TypedCreateEvent[*corev1.Secret], q queue) {
			if e.Object.Labels["for"] == "new" {
				q.Add(e.Object.Name)
			} else {
				later(q, e.Object.Name)
			}
		},
		UpdateFunc: func(_ context.Context, e event.TypedUpdateEvent[*corev1.Secret], q queue) {
			later(q, e.ObjectNew.Name)
		}}
}

// Its Update, which adds at once, is not called.
func TestAnUnchangedObjectWhoseCreateIsDelayedAtAListMissedNoUpdate(t *testing.T) {
	type queue = workqueue.TypedRateLimitingInterface[string]
	to := handler.TypedFuncs[*corev1.Secret, string]{
		CreateFunc: func(_ context.Context, e event.TypedCreateEvent[*corev1.Secret], q queue) {
			if e.IsInInitialList {
				q.AddAfter(e.Object.Name, time.Hour)
			} else {
				q.Add(e.Object.Name)
			}
		},
		UpdateFunc: func(_ context.Context, e event.TypedUpdateEvent[*corev1.Secret], q queue) {
			q.Add(e.ObjectNew.Name)
		}}
	dir, server := t.TempDir()+"/store", newAPIServer()
	first := watchSecrets(t, dir, server, to, wq.QueueOptions[string]{})
	first.sync(t)
	server.Add(secret(1, "x"))
	eventually(t, "the object", func() bool { return first.seen(t).Objects == 1 })
	first.wantWork(t, "object-0001")
	first.stop(t)
	for range 2 { // The second time the row has no version.
		again := watchSecrets(t, dir, server, to, wq.QueueOptions[string]{})
		again.sync(t)
		counts, err := again.queue.Counts()
		must(t, err)
		if counts.Queued != 0 || counts.Delayed != 1 {
			t.Fatalf("%+v", counts)
		}
		again.stop(t)
	}
}

func TestADelayedAddOfAKeyThatTheRowHasKeepsItsDelay(t *testing.T) {
	type queue = workqueue.TypedRateLimitingInterface[string]
	for how, later := range map[string]func(q queue, key string){
		"AddAfter":       func(q queue, key string) { q.AddAfter(key, time.Hour) },
		"AddRateLimited": func(q queue, key string) { q.AddRateLimited(key) }} {
		t.Run(how, func(t *testing.T) {
			dir, server := t.TempDir()+"/store", newAPIServer("new")
			options := wq.QueueOptions[string]{MergeDelays: true,
				Backoff: wq.Exponential(time.Hour, time.Hour)}
			wantDelayed := func(w *secrets) {
				t.Helper()
				counts, err := w.queue.Counts()
				must(t, err)
				if counts.Queued != 0 || counts.Delayed != 1 {
					t.Fatalf("%+v", counts)
				}
			}
			first := watchSecrets(t, dir, server, delaying(later), options)
			first.sync(t)
			first.wantWork(t, "object-0001")
			server.Modify(secret(1, "old"))
			eventually(t, "the update", func() bool { return first.seen(t).Changed == 2 })
			wantDelayed(first)
			first.stop(t)

			second := watchSecrets(t, dir, server, delaying(later), options) // And at a list.
			second.sync(t)
			wantDelayed(second)
			second.stop(t)

			server.Delete(secret(1, "old"))
			third := watchSecrets(t, dir, server, delaying(later), options)
			third.sync(t)
			third.wantWork(t, "object-0001") // The row still has it.
			third.stop(t)
		})
	}
}
