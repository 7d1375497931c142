//go:build cgo

package wq

import (
	"testing"
	"time"
)

func TestAClosedQueueOpensAgainWithItsItems(t *testing.T) {
	store := diskStore(t, t.TempDir()+"/store")
	defer func() { must(t, store.Close()) }()
	before := descriptors(t)
	var q *Queue[string]
	for i := 0; i < 3; i++ {
		q = openQueue(t, store, QueueOptions[string]{})
		if i == 0 {
			q.Add("held")
			q.Add("queued")
			q.AddAfter("delayed", time.Hour)
		}
		wantNext(t, q, "held")
		must(t, q.Err())
		must(t, q.Close())
		must(t, q.Close())
		wantCode(t, q.Finish("held"), ShuttingDown)
	}
	eventually(t, "a closed queue has no descriptor", func() bool { return descriptors(t) <= before })
	q = openQueue(t, store, QueueOptions[string]{})
	wantNext(t, q, "held")
	wantNext(t, q, "queued")
	wantNothing(t, q)
	if len(store.queues) != 1 {
		t.Fatalf("the store watches %d queues", len(store.queues))
	}
}
