package controllerruntime

// This file has the queues, in controller-runtime's types.

import (
	"example.org/wq"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// PriorityQueue is a durable priorityqueue.PriorityQueue. The key of a reconcile.Request is
// "namespace/name", or "name" without a namespace.
type PriorityQueue[request comparable] = wq.PriorityQueue[request, priorityqueue.AddOpts]

var _ priorityqueue.PriorityQueue[reconcile.Request] = (*PriorityQueue[reconcile.Request])(nil)

// NewPriorityQueue opens the queue of a controller. It panics if that fails, as NewQueue of
// controller-runtime returns no error: for example, another process owns a replicated store.
func NewPriorityQueue[request comparable](
	store wq.Opener, controller string, options wq.QueueOptions[request]) *PriorityQueue[request] {
	return wq.NewPriorityQueue[priorityqueue.AddOpts](store, controller, options)
}

// NewQueue returns a function for controller.Options.NewQueue: it calls NewPriorityQueue.
//
// The limiter that controller-runtime passes is left out on purpose: it begins again with each
// process. The queue's own, QueueOptions.Backoff, continues. If it must be the process's, it is in
// QueueOptions.Limiter.
func NewQueue[request comparable](store wq.Opener, options wq.QueueOptions[request]) func(
	string, workqueue.TypedRateLimiter[request]) workqueue.TypedRateLimitingInterface[request] {
	return func(controller string, _ workqueue.TypedRateLimiter[request],
	) workqueue.TypedRateLimitingInterface[request] {
		return NewPriorityQueue(store, controller, options)
	}
}
