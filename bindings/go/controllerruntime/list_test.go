package controllerruntime

import (
	"sync"
	"testing"

	"example.org/wq"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
)

func TestAContextThatEndsDuringTheListDeletesNothing(t *testing.T) {
	refer := map[string][]string{"db": {"orders"}, "cache": {"pages"}, "mail": {"letters"}}
	for _, when := range []string{"the list", "Create", "Delete"} {
		t.Run(when, func(t *testing.T) {
			dir, server := t.TempDir()+"/store", newAPIServer("db", "cache", "mail")
			first := watchSecrets(t, dir, server, forLabel(refer), wq.QueueOptions[string]{})
			first.wantAll(t, "letters", "orders", "pages")

			server.Delete(secret(1, "db"))
			server.Delete(secret(2, "cache"))
			begun, goOn := make(chan struct{}), make(chan struct{})
			begin := sync.OnceFunc(func() { close(begun) })
			block := func(at string) {
				if at == when {
					begin()
					<-goOn
				}
			}
			server.list = func() (runtime.Object, error) {
				block("the list")
				if when == "the list" {
					return nil, errFailing
				}
				return server.FakeControllerSource.List(metav1.ListOptions{})
			}
			second := watchSecrets(t, dir, server, beforeEach(block, refer), wq.QueueOptions[string]{})
			within(t, when, begun)
			second.cancel()
			second.sync(t) // Without an error, as the context has ended.
			close(goOn)
			within(t, "the source ends", second.source.last.ended)
			second.wantWork(t)
			if of := second.seen(t); of.Objects != 3 {
				t.Fatalf("%+v", of)
			}
			second.stop(t)
		})
	}
}

// seenByServerBehind returns a store that has seen two Secrets, and a server that is behind: it
// lists what was there before the second one.
func seenByServerBehind(t *testing.T, refer map[string][]string,
	predicates ...predicate.TypedPredicate[*corev1.Secret]) (string, *slowWatch) {
	t.Helper()
	dir, server := t.TempDir()+"/store", newAPIServer("db")
	old, err := server.FakeControllerSource.List(metav1.ListOptions{})
	must(t, err)
	server.Add(secret(2, "cache"))
	first := watchSecrets(t, dir, server, forLabel(refer), wq.QueueOptions[string]{}, predicates...)
	first.sync(t)
	if len(predicates) == 0 {
		first.wantWork(t, "orders", "pages")
	}
	first.stop(t)

	server.list = func() (runtime.Object, error) { return old, nil }
	slow := &slowWatch{apiServer: server, goOn: make(chan struct{})}
	return dir, slow
}

func TestAnObjectThatAListDoesNotHaveYetIsNotDeleted(t *testing.T) {
	refer := map[string][]string{"db": {"orders"}, "cache": {"pages"}}
	drop := predicate.NewTypedPredicateFuncs(func(*corev1.Secret) bool { return false })
	for name, predicates := range map[string][]predicate.TypedPredicate[*corev1.Secret]{
		"its row has a version": nil, "its row has none": {drop}} {
		t.Run(name, func(t *testing.T) {
			dir, slow := seenByServerBehind(t, refer, predicates...)
			informer := &readInformer{SharedIndexInformer: newInformer(t, slow, &corev1.Secret{}),
				missed: sync.OnceFunc(func() { close(slow.goOn) }), read: func() {}}
			second := watchInformer(t, openStore(t, dir), informer, forLabel(refer),
				wq.QueueOptions[string]{}, predicates...)
			second.sync(t)
			second.wantWork(t)
			if of := second.seen(t); of.Objects != 2 || of.Deleted != 0 {
				t.Fatalf("%+v", of)
			}
			second.stop(t)
		})
	}
}

// The end of a list finds an object, and meanwhile it is changed.
func TestAnObjectThatIsThereAfterAllDoesNotOvertakeItsUpdate(t *testing.T) {
	refer := map[string][]string{"db": {"orders"}, "cache": {"pages"}, "mail": {"letters"}}
	dir, slow := seenByServerBehind(t, refer)
	informer := &readInformer{SharedIndexInformer: newInformer(t, slow, &corev1.Secret{}),
		missed: sync.OnceFunc(func() { close(slow.goOn) })}
	var second *secrets
	begun := make(chan struct{})
	informer.read = func() {
		<-begun
		slow.Modify(secret(2, "mail"))
		if informer.events.mu.TryLock() { // Otherwise the update waits.
			informer.events.mu.Unlock()
			eventually(t, "the update", func() bool { return second.seen(t).Changed == 1 })
		}
	}
	second = watchInformer(t, openStore(t, dir), informer, forLabel(refer), wq.QueueOptions[string]{})
	close(begun)
	second.sync(t)
	eventually(t, "the update", func() bool { return second.seen(t).Changed >= 1 })
	second.wantWork(t, "letters", "pages")
	second.stop(t)

	slow.list = nil
	slow.Delete(secret(2, "mail"))
	third := watchSecrets(t, dir, slow, forLabel(refer), wq.QueueOptions[string]{})
	third.wantAll(t, "letters", "pages")
}

// readInformer tells when the end of a list misses an object, and when it has read it.
type readInformer struct {
	toolscache.SharedIndexInformer
	events       *eventHandler[*corev1.Secret, string]
	missed, read func()
}

func (i *readInformer) AddEventHandlerWithOptions(events toolscache.ResourceEventHandler,
	options toolscache.HandlerOptions) (toolscache.ResourceEventHandlerRegistration, error) {
	i.events = events.(*eventHandler[*corev1.Secret, string])
	return i.SharedIndexInformer.AddEventHandlerWithOptions(events, options)
}

func (i *readInformer) GetStore() toolscache.Store {
	return readStore{i.SharedIndexInformer.GetStore(), i}
}

type readStore struct {
	toolscache.Store
	informer *readInformer
}

func (s readStore) LastStoreSyncResourceVersion() string {
	s.informer.missed()
	return s.Store.LastStoreSyncResourceVersion()
}

func (s readStore) GetByKey(key string) (item any, exists bool, err error) {
	defer s.informer.read()
	return s.Store.GetByKey(key)
}

// slowWatch watches only once it is told to.
type slowWatch struct {
	*apiServer
	goOn chan struct{}
}

func (s *slowWatch) Watch(options metav1.ListOptions) (watch.Interface, error) {
	<-s.goOn
	return s.apiServer.Watch(options)
}
