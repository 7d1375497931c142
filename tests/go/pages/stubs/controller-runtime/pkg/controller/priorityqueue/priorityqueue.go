// Package priorityqueue has the shapes of controller-runtime's package.
package priorityqueue

import (
	"time"

	"k8s.io/client-go/util/workqueue"
)

type AddOpts struct {
	After       time.Duration
	RateLimited bool
	Priority    *int
}

type PriorityQueue[T comparable] interface {
	workqueue.TypedRateLimitingInterface[T]
	AddWithOpts(o AddOpts, items ...T)
	GetWithPriority() (item T, priority int, shutdown bool)
}
