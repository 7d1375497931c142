// Package pages runs the code that the pages of the Go package show: pages.sh copies it into
// functions.
package pages

import (
	"context"
	"errors"
	"os"
	"testing"

	"example.org/wq"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// What the comments of the package show, as far as it is code on its own.
var (
	_ = func(mgr manager.Manager) wq.StoreOptions {
		return wq.StoreOptions{Logger: mgr.GetLogger().WithName("wq")}
	}
	_ priorityqueue.PriorityQueue[string] = (*wq.PriorityQueue[string, priorityqueue.AddOpts])(nil)
)

// cluster is what docs/sources.md leaves to the reader.
type cluster interface {
	List() []object
	Watch() <-chan event
}

type object struct{ Name, Version, Owner string }

type event struct {
	object
	Deleted bool
}

// reconciler calls a function.
type reconciler func(reconcile.Request) error

func (r reconciler) Reconcile(
	_ context.Context, request reconcile.Request) (reconcile.Result, error) {
	return reconcile.Result{}, r(request)
}

func pod(name string) reconcile.Request {
	return reconcile.Request{
		NamespacedName: reconcile.NamespacedName{Namespace: "default", Name: name}}
}

// run runs the program of README.md until stop is called by the reconciler.
func run(t *testing.T, dir string, source func(priorityqueue.PriorityQueue[reconcile.Request]),
	reconcile func(request reconcile.Request, stop func()) error) *manager.Recorded {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	mgr := manager.New()
	controller.Source = source
	err := readme(ctx, mgr, reconciler(func(r Request) error { return reconcile(r, stop) }), dir)
	if err != nil {
		t.Fatal(err)
	}
	return mgr
}

type Request = reconcile.Request

func TestTheReadmesProgramKeepsPrioritiesAndBackoffsOverRestarts(t *testing.T) {
	dir := t.TempDir() + "/store"
	low, high := -100, 10
	var order []string
	run(t, dir, func(q priorityqueue.PriorityQueue[Request]) {
		q.AddWithOpts(priorityqueue.AddOpts{Priority: &low}, pod("low"), pod("low too"))
		q.AddWithOpts(priorityqueue.AddOpts{Priority: &high}, pod("high"))
	}, func(request Request, stop func()) error {
		order = append(order, request.Name)
		stop()
		return nil
	})

	const failures = 5 // In all.
	for restart := 1; restart <= failures; restart++ {
		var queue priorityqueue.PriorityQueue[Request]
		run(t, dir, func(q priorityqueue.PriorityQueue[Request]) {
			queue = q
			if n := q.NumRequeues(pod("failing")); n != restart-1 {
				t.Fatalf("after %d failures it has %d", restart-1, n)
			}
			q.Add(pod("failing"))
		}, func(request Request, stop func()) error {
			if request.Name != "failing" {
				order = append(order, request.Name)
				return nil
			}
			stop()
			return errors.New("failing")
		})
		if !queue.ShuttingDown() {
			t.Fatal("the queue outlives its store")
		}
	}
	if len(order) != 3 || order[0] != "high" || order[1] != "low" || order[2] != "low too" {
		t.Fatalf("the order is %q", order)
	}
}

func TestTheReadmesCheckIsReadinessNotLiveness(t *testing.T) {
	mgr := run(t, t.TempDir()+"/store", func(q priorityqueue.PriorityQueue[Request]) {
		q.Add(pod("a"))
	}, func(_ Request, stop func()) error {
		stop()
		return nil
	})
	if len(mgr.Healthz) != 0 || len(mgr.Readyz) != 1 {
		t.Fatalf("%d liveness checks, %d readiness checks", len(mgr.Healthz), len(mgr.Readyz))
	}
	if err := mgr.Readyz["wq"](nil); !errors.Is(err, wq.ShuttingDown) { // The store is closed.
		t.Fatal(err)
	}
}

func TestThePackagesLoopEndsWithoutAnErrorAtAShutDown(t *testing.T) {
	before, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chdir(t.TempDir()); err != nil { // The loop's store is pods.wq.
		t.Fatal(err)
	}
	defer os.Chdir(before)
	for i := 1; i <= 2; i++ {
		handed := 0
		err := comment(context.Background(), func(pods *wq.Queue[string], key string) {
			handed++
			if key != "default/pod-1" {
				t.Errorf("got %q", key)
			}
			pods.ShutDown()
			pods.Add("late") // An event source that still runs.
		})
		if err != nil || handed != 1 {
			t.Fatalf("run %d: %v, %d keys", i, err, handed)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	err = comment(ctx, func(*wq.Queue[string], string) { cancel() })
	if !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
}
