// Package controller has the shapes of controller-runtime's package, and a controller with one
// worker.
package controller

import (
	"context"
	"errors"
	"time"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

type Options struct {
	Reconciler  reconcile.Reconciler
	RateLimiter workqueue.TypedRateLimiter[reconcile.Request]
	NewQueue    func(controllerName string,
		rateLimiter workqueue.TypedRateLimiter[reconcile.Request],
	) workqueue.TypedRateLimitingInterface[reconcile.Request]
}

type Controller interface{ Start(context.Context) error }

func New(name string, mgr manager.Manager, options Options) (Controller, error) {
	c := &controller{name, options}
	return c, mgr.Add(c)
}

// Source adds to the queue of a controller that has been started.
var Source = func(priorityqueue.PriorityQueue[reconcile.Request]) {}

type controller struct {
	name    string
	options Options
}

// fresh is the limiter of options that have none.
type fresh struct{}

func (fresh) When(reconcile.Request) time.Duration {
	panic("the queue asks the limiter of this process")
}
func (fresh) Forget(reconcile.Request)          {}
func (fresh) NumRequeues(reconcile.Request) int { return 0 }

func (c *controller) Start(ctx context.Context) error {
	q, ok := c.options.NewQueue(c.name, fresh{}).(priorityqueue.PriorityQueue[reconcile.Request])
	if !ok {
		return errors.New("it is no priority queue")
	}
	go func() {
		<-ctx.Done()
		q.ShutDown()
	}()
	Source(q)
	for {
		request, priority, shutdown := q.GetWithPriority()
		if shutdown {
			return nil
		}
		if _, err := c.options.Reconciler.Reconcile(ctx, request); err != nil {
			q.AddWithOpts(priorityqueue.AddOpts{RateLimited: true, Priority: &priority}, request)
		} else {
			q.Forget(request)
		}
		q.Done(request)
	}
}
