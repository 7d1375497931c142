package controllerruntime

// What the tests share: an API server of one kind, and programs that are started again.

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"example.org/wq"
	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	listwatch "k8s.io/client-go/tools/cache/testing"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

func TestMain(m *testing.M) {
	log.SetLogger(logr.Discard())
	m.Run()
}

// patience bounds the wait for what must happen.
const patience = 5 * time.Minute

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// eventually waits until the condition holds.
func eventually(t testing.TB, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !holds(); {
		if time.Now().After(end) {
			t.Fatal("it does not happen: " + what)
		}
		<-time.After(time.Millisecond)
	}
}

// within waits until the channel is closed, or has a value, which it returns.
func within[V any](t testing.TB, what string, c <-chan V) V {
	t.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(patience):
		t.Fatal("it does not happen: " + what)
		panic("not reached")
	}
}

// cluster has the objects of the kinds that a program watches.
type cluster struct {
	configMaps, secrets *apiServer

	mu          sync.Mutex
	generations map[int]int64 // Of the ConfigMaps.
}

func newCluster() *cluster {
	return &cluster{
		configMaps: newAPIServer(), secrets: newAPIServer(), generations: map[int]int64{}}
}

// put makes the ConfigMaps with these numbers, or changes them.
func (c *cluster) put(numbers ...int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, n := range numbers {
		c.generations[n]++
		if o := configMap(n, c.generations[n]); c.generations[n] == 1 {
			c.configMaps.Add(o)
		} else {
			c.configMaps.Modify(o)
		}
	}
}

func (c *cluster) remove(numbers ...int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, n := range numbers {
		c.configMaps.Delete(configMap(n, c.generations[n]))
		delete(c.generations, n)
	}
}

// writeStatus changes the ConfigMap, but not its generation, if it is there.
func (c *cluster) writeStatus(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if generation := c.generations[n]; generation > 0 {
		c.configMaps.Modify(configMap(n, generation))
	}
}

// apiServer lists and watches the objects of one kind.
type apiServer struct {
	*listwatch.FakeControllerSource
	list func() (runtime.Object, error) // Nil: as the server has them.
}

// newAPIServer has Secrets with these labels, whose numbers begin with 1.
func newAPIServer(secrets ...string) *apiServer {
	s := &apiServer{FakeControllerSource: listwatch.NewFakeControllerSource()}
	for i, label := range secrets {
		s.Add(secret(i+1, label))
	}
	return s
}

func (*apiServer) IsWatchListSemanticsUnSupported() bool { return true }

func (s *apiServer) List(options metav1.ListOptions) (runtime.Object, error) {
	if s.list != nil {
		return s.list()
	}
	return s.FakeControllerSource.List(options)
}

// metadata is of an object with the n-th name.
func metadata(n int, generation int64) metav1.ObjectMeta {
	name := fmt.Sprintf("object-%04d", n)
	return metav1.ObjectMeta{
		Namespace: "web", Name: name, UID: types.UID("uid of " + name), Generation: generation}
}

func configMap(n int, generation int64) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metadata(n, generation)}
}

// number is the inverse of metadata.
func number(t testing.TB, name string) int {
	n, err := strconv.Atoi(strings.TrimPrefix(name, "object-"))
	must(t, err)
	return n
}

// newInformer is one of client-go, which runs until the test ends.
func newInformer(
	t *testing.T, from toolscache.ListerWatcher, kind runtime.Object) toolscache.SharedIndexInformer {
	informer := toolscache.NewSharedIndexInformer(from, kind, 0, toolscache.Indexers{})
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		informer.RunWithContext(ctx)
		close(ended)
	}()
	t.Cleanup(func() {
		cancel()
		<-ended
	})
	return informer
}

func openStore(t testing.TB, dir string) *wq.Store {
	t.Helper()
	store, err := wq.Open(dir, wq.StoreOptions{CreateIfMissing: true, Metrics: true})
	must(t, err)
	t.Cleanup(func() { must(t, store.Close()) })
	return store
}

// secret is one that a label refers to.
func secret(n int, label string) *corev1.Secret {
	s := &corev1.Secret{ObjectMeta: metadata(n, 0)}
	s.Labels = map[string]string{"for": label}
	return s
}

// newManager is a real manager, whose cache has the objects of this cluster.
func newManager(t testing.TB, from *cluster, options manager.Options) manager.Manager {
	t.Helper()
	options.Metrics = metricsserver.Options{BindAddress: "0"}
	options.MapperProvider = func(*rest.Config, *http.Client) (meta.RESTMapper, error) {
		mapper := meta.NewDefaultRESTMapper(nil)
		mapper.Add(corev1.SchemeGroupVersion.WithKind("ConfigMap"), meta.RESTScopeNamespace)
		mapper.Add(corev1.SchemeGroupVersion.WithKind("Secret"), meta.RESTScopeNamespace)
		return mapper, nil
	}
	options.Cache = cache.Options{NewInformer: func(_ toolscache.ListerWatcher, kind runtime.Object,
		resync time.Duration, indexers toolscache.Indexers) toolscache.SharedIndexInformer {
		if _, ok := kind.(*corev1.Secret); ok {
			return toolscache.NewSharedIndexInformer(from.secrets, kind, resync, indexers)
		}
		return toolscache.NewSharedIndexInformer(from.configMaps, kind, resync, indexers)
	}}
	m, err := manager.New(&rest.Config{Host: "http://127.0.0.1:1"}, options)
	must(t, err)
	return m
}

// program is a run of a controller of ConfigMaps, which writes their status. A Secret is mapped to
// the ConfigMap that its label names.
type program struct {
	t      *testing.T
	store  *wq.Store
	cancel context.CancelFunc
	ended  chan error

	mu         sync.Mutex
	queue      *PriorityQueue[reconcile.Request]
	reconciled map[int]bool
}

// programOptions are those of a program.
type programOptions struct {
	reconcile  func(n int) (reconcile.Result, error) // Nil: it succeeds.
	configMaps SourceOptions[*corev1.ConfigMap]
}

func startProgram(t *testing.T, dir string, from *cluster, options programOptions) *program {
	t.Helper()
	p := &program{t: t, store: openStore(t, dir), ended: make(chan error, 1),
		reconciled: map[int]bool{}}
	m := newManager(t, from, manager.Options{})
	skip := true
	how := controller.Options{SkipNameValidation: &skip, MaxConcurrentReconciles: 4,
		Reconciler: reconcile.Func(func(_ context.Context, r reconcile.Request,
		) (reconcile.Result, error) {
			n := number(t, r.Name)
			p.mu.Lock()
			p.reconciled[n] = true
			p.mu.Unlock()
			from.writeStatus(n)
			if options.reconcile == nil {
				return reconcile.Result{}, nil
			}
			return options.reconcile(n)
		})}
	own := &handler.TypedEnqueueRequestForObject[*corev1.ConfigMap]{}
	referred := handler.TypedEnqueueRequestsFromMapFunc(
		func(_ context.Context, s *corev1.Secret) []reconcile.Request {
			return []reconcile.Request{{NamespacedName: types.NamespacedName{
				Namespace: s.Namespace, Name: s.Labels["for"]}}}
		})
	newQueue := NewQueue(p.store, wq.QueueOptions[reconcile.Request]{
		Backoff: wq.Exponential(time.Hour, time.Hour)})
	how.NewQueue = func(name string, limiter workqueue.TypedRateLimiter[reconcile.Request],
	) workqueue.TypedRateLimitingInterface[reconcile.Request] {
		queue := newQueue(name, limiter)
		p.mu.Lock()
		defer p.mu.Unlock()
		p.queue = queue.(*PriorityQueue[reconcile.Request])
		return queue
	}
	c, err := controller.New("controller", m, how)
	must(t, err)
	must(t, c.Watch(Kind("configmaps", m.GetCache(), &corev1.ConfigMap{}, own, options.configMaps)))
	must(t, c.Watch(Kind("secrets", m.GetCache(), &corev1.Secret{}, referred,
		SourceOptions[*corev1.Secret]{})))
	ctx, cancel := context.WithCancel(context.Background())
	p.cancel = cancel
	go func() { p.ended <- m.Start(ctx) }()
	t.Cleanup(p.stop)
	return p
}

// stop ends the program, and closes its store. Idempotent.
func (p *program) stop() {
	p.cancel()
	if p.store != nil {
		must(p.t, within(p.t, "the manager ends", p.ended))
		must(p.t, p.store.Close())
		p.store = nil
	}
}

// numbers returns what was reconciled, sorted.
func (p *program) numbers() []int {
	p.mu.Lock()
	defer p.mu.Unlock()
	var all []int
	for n := range p.reconciled {
		all = append(all, n)
	}
	slices.Sort(all)
	return all
}

// settle waits until nothing is to be done.
func (p *program) settle() wq.Counts {
	p.t.Helper()
	var counts wq.Counts
	eventually(p.t, "the queue is empty", func() bool {
		p.mu.Lock()
		begun := len(p.reconciled) > 0
		p.mu.Unlock()
		if !begun {
			return false
		}
		var err error
		counts, err = p.queue.Counts()
		must(p.t, err)
		return counts.Queued+counts.Processing == 0
	})
	return counts
}

// wantReconciled checks what was reconciled once nothing is to be done.
func (p *program) wantReconciled(want ...int) wq.Counts {
	p.t.Helper()
	counts := p.settle()
	slices.Sort(want)
	if got := p.numbers(); !slices.Equal(got, want) {
		p.t.Fatalf("reconciled: %d, want %d", got, want)
	}
	return counts
}

// seen returns what a source of the program has seen since it began.
func (p *program) seen(name string) wq.SourceInfo {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.queue == nil {
		return wq.SourceInfo{}
	}
	return seenBy(p.t, p.queue.Queue, name)
}

func seenBy[T comparable](t testing.TB, queue *wq.Queue[T], name string) wq.SourceInfo {
	t.Helper()
	infos, err := queue.Sources()
	must(t, err)
	i := slices.IndexFunc(infos, func(info wq.SourceInfo) bool { return info.Name == name })
	if i < 0 {
		return wq.SourceInfo{}
	}
	return infos[i]
}

var errFailing = errors.New("the object fails")
