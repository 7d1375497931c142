package e2e

// This file has the controller, a process of its own: this test's program with WQ_E2E_CONTROLLER.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"example.org/wq"
	"example.org/wq/controllerruntime"
	"github.com/go-logr/logr/funcr"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

// settings are those of a controller's process, as JSON in WQ_E2E_CONTROLLER.
type settings struct {
	Cluster cluster
	Journal string // The file that gets what the process does.
	Store   string // The directory of the store; "": the queue is controller-runtime's own.
	Replica string // The name of this replica; "": the store is not replicated.
}

func TestMain(m *testing.M) {
	text := os.Getenv("WQ_E2E_CONTROLLER")
	if text == "" {
		os.Exit(m.Run())
	}
	var s settings
	err := json.Unmarshal([]byte(text), &s)
	if err == nil {
		err = run(s)
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

// entry is a line of a journal.
type entry struct {
	At         time.Time
	Event      string
	Name       string `json:",omitempty"`
	Generation int64  `json:",omitempty"` // Of the widget; 0: there is none.
	Busy       int    `json:",omitempty"`
}

// The events of a journal.
const (
	warm       = "warm"       // The informers have all objects.
	synced     = "synced"     // The first lists have ended.
	reconciled = "reconciled" // Of the widget Name.
	busy       = "busy"       // The keys that are pending or processing.
)

// journal is the file that a controller writes: a line for a write, so that a kill loses none.
type journal struct {
	mu   sync.Mutex
	file *os.File
}

func (j *journal) write(e entry) {
	e.At = time.Now()
	line, err := json.Marshal(e)
	if err != nil {
		panic(err)
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if _, err := j.file.Write(append(line, '\n')); err != nil {
		panic(err)
	}
}

// run is the controller: it ends with SIGTERM.
func run(s settings) error {
	log.SetLogger(funcr.New(func(prefix, args string) { fmt.Fprintln(os.Stderr, prefix, args) },
		funcr.Options{}))
	file, err := os.OpenFile(s.Journal, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	ctx := ctrl.SetupSignalHandler()
	r := &reconciler{journal: &journal{file: file}}
	options := ctrl.Options{Scheme: scheme, Metrics: metricsserver.Options{BindAddress: "0"}}
	if s.Store != "" {
		storeOptions := wq.StoreOptions{CreateIfMissing: true, Logger: log.Log.WithName("wq")}
		if s.Replica != "" {
			storeOptions.Replication = &wq.Replication{
				Endpoints: []string{s.Cluster.Etcd}, Prefix: "/wq", Name: s.Replica}
		}
		store, err := wq.Open(s.Store, storeOptions)
		if err != nil {
			return err
		}
		defer store.Close()
		r.store = store
		if s.Replica != "" {
			options.LeaderElection, options.LeaderElectionReleaseOnCancel = true, true
			options.LeaderElectionResourceLockInterface = controllerruntime.NewLock(store, s.Replica)
		}
	}
	m, err := ctrl.NewManager(s.Cluster.config(), options)
	if err != nil {
		return err
	}
	if err := r.setUp(ctx, m); err != nil {
		return err
	}
	return m.Start(ctx)
}

// reconciler writes the status of a widget, and its child.
type reconciler struct {
	client.Client
	journal *journal
	store   *wq.Store // Nil: the queue is controller-runtime's own.

	mu    sync.Mutex
	queue *controllerruntime.PriorityQueue[reconcile.Request]
}

const bySecret = "spec.secret"

// setUp adds the controller to the manager.
func (r *reconciler) setUp(ctx context.Context, m ctrl.Manager) error {
	r.Client = m.GetClient()
	if err := m.GetFieldIndexer().IndexField(ctx, &widget{}, bySecret, func(o client.Object) []string {
		return []string{o.(*widget).Spec.Secret}
	}); err != nil {
		return err
	}
	var (
		own    = &handler.TypedEnqueueRequestForObject[*widget]{}
		owned  = handler.TypedEnqueueRequestForOwner[*corev1.ConfigMap](scheme, m.GetRESTMapper(), &widget{})
		mapped = handler.TypedEnqueueRequestsFromMapFunc(r.readersOf)
		change = predicate.TypedGenerationChangedPredicate[*widget]{}
		cache  = m.GetCache()
	)
	how := controller.Options{MaxConcurrentReconciles: 8, Reconciler: r}
	sources := []source.SyncingSource{
		source.Kind(cache, &widget{}, own, change),
		source.Kind(cache, &corev1.ConfigMap{}, owned),
		source.Kind(cache, &corev1.Secret{}, mapped)}
	if r.store != nil {
		newQueue := controllerruntime.NewQueue(r.store, wq.QueueOptions[reconcile.Request]{
			Backoff: wq.Exponential(2*time.Second, time.Hour)})
		how.NewQueue = func(name string, limiter workqueue.TypedRateLimiter[reconcile.Request],
		) workqueue.TypedRateLimitingInterface[reconcile.Request] {
			queue := newQueue(name, limiter)
			r.mu.Lock()
			defer r.mu.Unlock()
			r.queue = queue.(*controllerruntime.PriorityQueue[reconcile.Request])
			return queue
		}
		// The settings of replicas differ, and so do the fingerprints of their environments.
		const code = "1"
		sources = []source.SyncingSource{
			controllerruntime.Kind("widgets", cache, &widget{}, own,
				controllerruntime.SourceOptions[*widget]{Fingerprint: code,
					Predicates: []predicate.TypedPredicate[*widget]{change}}),
			controllerruntime.Kind("configmaps", cache, &corev1.ConfigMap{}, owned,
				controllerruntime.SourceOptions[*corev1.ConfigMap]{Fingerprint: code}),
			controllerruntime.Kind("secrets", cache, &corev1.Secret{}, mapped,
				controllerruntime.SourceOptions[*corev1.Secret]{Fingerprint: code})}
	}
	c, err := controller.New("widgets", m, how)
	if err != nil {
		return err
	}
	var left atomic.Int32
	left.Store(int32(len(sources)))
	for _, s := range sources {
		if err := c.Watch(syncedSource{s, func() {
			if left.Add(-1) == 0 {
				r.journal.write(entry{Event: synced})
			}
		}}); err != nil {
			return err
		}
	}
	return m.Add(&reporter{reconciler: r, manager: m})
}

// readersOf returns the widgets that read a Secret.
func (r *reconciler) readersOf(ctx context.Context, s *corev1.Secret) (requests []reconcile.Request) {
	var widgets widgetList
	if err := r.List(ctx, &widgets, client.MatchingFields{bySecret: s.Name}); err != nil {
		panic(err)
	}
	for _, w := range widgets.Items {
		requests = append(requests, reconcile.Request{NamespacedName: types.NamespacedName{
			Namespace: w.Namespace, Name: w.Name}})
	}
	return requests
}

func (r *reconciler) Reconcile(ctx context.Context, request reconcile.Request) (
	reconcile.Result, error) {
	var w widget
	err := client.IgnoreNotFound(r.Get(ctx, request.NamespacedName, &w))
	r.journal.write(entry{Event: reconciled, Name: request.Name, Generation: w.Generation})
	switch {
	case err != nil || w.Name == "":
		return reconcile.Result{}, err
	case w.Spec.Kind == fails:
		return reconcile.Result{}, errors.New("the widget fails")
	case w.Spec.Kind == quarantined && r.store != nil:
		r.mu.Lock()
		defer r.mu.Unlock()
		return reconcile.Result{}, r.queue.Quarantine(request, errors.New("the widget is no good"))
	case w.Spec.Secret == hubSecret:
		time.Sleep(20 * time.Millisecond) // As long as a call of another system.
	case w.Spec.Kind == parent:
		child := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: w.Name, Namespace: namespace}}
		if err := controllerutil.SetControllerReference(&w, child, scheme); err != nil {
			return reconcile.Result{}, err
		}
		if err := r.Create(ctx, child); err != nil && !apierrors.IsAlreadyExists(err) {
			return reconcile.Result{}, err
		}
	}
	if w.Status.Generation == w.Generation {
		return reconcile.Result{}, nil
	}
	w.Status.Generation = w.Generation
	return reconcile.Result{}, client.IgnoreNotFound(r.Status().Update(ctx, &w))
}

// syncedSource calls a function when its first list has ended.
type syncedSource struct {
	source.SyncingSource
	synced func()
}

func (s syncedSource) WaitForSync(ctx context.Context) error {
	err := s.SyncingSource.WaitForSync(ctx)
	if err == nil && ctx.Err() == nil {
		s.synced()
	}
	return err
}

// reporter writes to the journal when the informers are warm, and how much there is to do.
type reporter struct {
	*reconciler
	manager ctrl.Manager
}

// NeedLeaderElection is false: a standby has the informers, too.
func (*reporter) NeedLeaderElection() bool { return false }

func (r *reporter) Start(ctx context.Context) error {
	for _, kind := range []client.Object{&widget{}, &corev1.ConfigMap{}, &corev1.Secret{}} {
		if _, err := r.manager.GetCache().GetInformer(ctx, kind); err != nil {
			return err
		}
	}
	if !r.manager.GetCache().WaitForCacheSync(ctx) {
		return nil
	}
	r.journal.write(entry{Event: warm})
	for last := -1; ; {
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(50 * time.Millisecond):
		}
		r.mu.Lock()
		queue := r.queue
		r.mu.Unlock()
		if queue == nil {
			continue
		}
		counts, err := queue.Counts()
		if err != nil {
			continue // The queue is closed: the ownership has ended.
		}
		if now := counts.Queued + counts.Processing; now != last {
			last = now
			r.journal.write(entry{Event: busy, Busy: now})
		}
	}
}
