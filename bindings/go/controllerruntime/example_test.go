package controllerruntime_test

import (
	"context"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"example.org/wq"
	"example.org/wq/controllerruntime"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// The code that the README.md of this package and that of wq show.

var setupLog = ctrl.Log.WithName("setup")

func readmeMain(mgr ctrl.Manager) {
	store, err := wq.Open("/var/lib/controller/wq", wq.StoreOptions{
		CreateIfMissing: true, Metrics: true, Logger: mgr.GetLogger().WithName("wq")})
	if err != nil {
		setupLog.Error(err, "wq")
		os.Exit(1)
	}
	defer store.Close()
	if err := mgr.AddReadyzCheck("wq", controllerruntime.Healthz(store)); err != nil {
		setupLog.Error(err, "wq")
		os.Exit(1)
	}
	if err := controllerruntime.RegisterMetrics(store); err != nil {
		setupLog.Error(err, "wq")
		os.Exit(1)
	}
}

type readmeReconciler struct {
	reconcile.Reconciler
	Store *wq.Store
}

func (r *readmeReconciler) SetupWithManager(mgr ctrl.Manager) error {
	own := controllerruntime.Kind("deployments", mgr.GetCache(), &appsv1.Deployment{},
		&handler.TypedEnqueueRequestForObject[*appsv1.Deployment]{},
		controllerruntime.SourceOptions[*appsv1.Deployment]{
			Predicates: []predicate.TypedPredicate[*appsv1.Deployment]{
				predicate.TypedGenerationChangedPredicate[*appsv1.Deployment]{}}})
	owned := controllerruntime.Kind("configmaps", mgr.GetCache(), &corev1.ConfigMap{},
		handler.TypedEnqueueRequestForOwner[*corev1.ConfigMap](
			mgr.GetScheme(), mgr.GetRESTMapper(), &appsv1.Deployment{}, handler.OnlyControllerOwner()),
		controllerruntime.SourceOptions[*corev1.ConfigMap]{})
	return ctrl.NewControllerManagedBy(mgr).Named("deployments").
		WatchesRawSource(own).WatchesRawSource(owned).
		WithOptions(controller.Options{
			NewQueue: controllerruntime.NewQueue(r.Store, wq.QueueOptions[reconcile.Request]{})}).
		Complete(r)
}

type resyncedReconciler struct {
	client.Reader
	Store *wq.Store
	Queue *controllerruntime.PriorityQueue[reconcile.Request]
}

func (r *resyncedReconciler) newQueue(name string, _ workqueue.TypedRateLimiter[reconcile.Request],
) workqueue.TypedRateLimitingInterface[reconcile.Request] {
	r.Queue = controllerruntime.NewPriorityQueue(r.Store, name, wq.QueueOptions[reconcile.Request]{
		Resync: wq.Resync{Period: 10 * time.Hour, Jitter: 0.1}})
	return r.Queue
}

func (r *resyncedReconciler) Reconcile(
	ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	var object corev1.ConfigMap
	err := r.Get(ctx, request.NamespacedName, &object)
	if apierrors.IsNotFound(err) {
		if err := r.Queue.Delete(request); err != nil {
			return reconcile.Result{}, err
		}
		if err = r.Get(ctx, request.NamespacedName, &object); err == nil {
			r.Queue.Add(request) // Once more, then with resyncs.
		}
	}
	return reconcile.Result{}, client.IgnoreNotFound(err)
}

func readmeElection(config *rest.Config, store *wq.Store, replica string) (ctrl.Manager, error) {
	mgr, err := ctrl.NewManager(config, ctrl.Options{
		LeaderElection: true, LeaderElectionReleaseOnCancel: true,
		LeaderElectionResourceLockInterface: controllerruntime.NewLock(store, replica)})
	return mgr, err
}

var _ = []any{readmeMain, (*readmeReconciler).SetupWithManager, readmeElection,
	(*resyncedReconciler).newQueue, (*resyncedReconciler).Reconcile}

func queueAlone(ctx context.Context, mgr ctrl.Manager, r reconcile.Reconciler) error {
	store, err := wq.Open("/var/lib/controller/wq", wq.StoreOptions{
		CreateIfMissing: true, Logger: mgr.GetLogger().WithName("wq")})
	if err != nil {
		return err
	}
	defer store.Close()
	_, err = controller.New("pods", mgr, controller.Options{
		Reconciler: r,
		NewQueue: func(name string, _ workqueue.TypedRateLimiter[reconcile.Request],
		) workqueue.TypedRateLimitingInterface[reconcile.Request] {
			return wq.NewPriorityQueue[priorityqueue.AddOpts](
				store, name, wq.QueueOptions[reconcile.Request]{})
		},
	})
	if err != nil {
		return err
	}
	err = mgr.AddReadyzCheck("wq", func(*http.Request) error { return store.Health() })
	if err != nil {
		return err
	}
	return mgr.Start(ctx)
}

func TestTheReadmesShowCodeThatCompiles(t *testing.T) {
	code, err := os.ReadFile("example_test.go")
	if err != nil {
		t.Fatal(err)
	}
	for page, count := range map[string]int{"README.md": 5, "../README.md": 1} {
		readme, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		blocks := strings.Split(string(readme), "```go\n")[1:]
		if len(blocks) != count {
			t.Fatalf("%s has %d blocks", page, len(blocks))
		}
		for _, block := range blocks {
			block, _, _ = strings.Cut(block, "```")
			block = "\t" + strings.ReplaceAll(strings.TrimSpace(block), "\n", "\n\t")
			if !strings.Contains(string(code), block) {
				t.Errorf("this does not compile in example_test.go:\n%s", block)
			}
		}
	}
}
