package wq

// This file hands out items and finishes them, also by workers of a queue with shards.

import (
	"context"
	"fmt"
	"sync/atomic"
)

// GetContext waits for the next item as Get does, at most until the context ends. It returns
// ctx.Err() or ShuttingDown as errors. A key that is handed out while the context ends is returned.
func (q *Queue[T]) GetContext(ctx context.Context) (T, error) {
	item, _, err := q.getFrom(ctx, q.backend)
	return item, err
}

// getFrom returns the item's lane, too, if the getter has lanes.
func (q *Queue[T]) getFrom(ctx context.Context, from getter) (item T, lane Lane, err error) {
	for {
		keys, err := from.get(ctx, 1)
		if err != nil {
			return item, 0, err
		}
		if item, err := q.codec.Decode(keys[0].key); err == nil {
			return item, keys[0].lane, nil
		} else {
			q.failures.report(q.quarantineKey(keys[0].key, err))
		}
	}
}

// quarantineKey quarantines a key that the codec cannot decode, because a requeue would hand it out
// without end. It returns the error to report.
func (q *Queue[T]) quarantineKey(key string, cause error) error {
	reason := "it is no item of this program: " + cause.Error()
	err := q.backend.quarantine(key, reason)
	if err == nil || codeOf(err) == NotDurable { // NotDurable: it was applied.
		if e := q.backend.done(key); e != nil {
			err = e
		}
	}
	if err != nil {
		return err
	}
	return newError(InvalidArgument, fmt.Sprintf("the key %q is quarantined: %s", key, reason))
}

// GetBatch takes all queued items, at most max, and waits only for the first.
func (q *Queue[T]) GetBatch(ctx context.Context, max int) ([]T, error) {
	return q.getBatchFrom(ctx, max, q.backend)
}

func (q *Queue[T]) getBatchFrom(ctx context.Context, max int, from getter) ([]T, error) {
	if max <= 0 {
		return nil, newError(InvalidArgument, "max is not positive")
	}
	keys, err := from.get(ctx, max)
	items := make([]T, 0, len(keys))
	for _, k := range keys {
		if item, err := q.codec.Decode(k.key); err == nil {
			items = append(items, item)
		} else {
			q.failures.report(q.quarantineKey(k.key, err))
		}
	}
	if err == nil && len(items) == 0 { // No key was an item.
		return q.getBatchFrom(ctx, max, from)
	}
	return items, err
}

// Finish is Done with an error as its result; of a remote queue it waits for the server.
// NotProcessing: no worker holds the item.
func (q *Queue[T]) Finish(item T) error { return q.change(item, changeDone) }

// FinishBatch finishes many items with one call. NotProcessing: some items are not held; the
// others are done. InvalidArgument: an item has no key; no item is done.
func (q *Queue[T]) FinishBatch(items []T) error {
	keys, err := q.keysOf(items)
	if err != nil {
		return err
	}
	return q.backend.doneBatch(keys)
}

func (q *Queue[T]) keysOf(items []T) ([]string, error) {
	keys := make([]string, 0, len(items))
	for _, item := range items {
		key, err := q.codec.Encode(item)
		if err != nil {
			return nil, noKey(err)
		}
		keys = append(keys, key)
	}
	return keys, nil
}

// AddedAgain reports whether an item that a worker holds was added again since Get: its work is
// stale.
func (q *Queue[T]) AddedAgain(item T) (bool, error) {
	return ask(q, item, q.backend.addedAgain)
}

// Token returns the token of an item that the caller holds, of a remote queue. It grows with every
// assignment of the store, also over restarts of the server. A worker whose connection has broken
// may still be running when its item is assigned to another: it passes the token to what it writes
// to, which refuses a lower token than it has seen. NotProcessing: the item is not held, or the
// server has given it to another worker. NotSupported: the queue is linked; then the worker ends
// with the store's owner.
func (q *Queue[T]) Token(item T) (uint64, error) {
	return ask(q, item, q.backend.token)
}

// Worker serves some of the shards of a queue with shards, and keeps them while no worker joins or
// leaves. At most one item of a shard is held at a time, and its items are handed out in their
// order. Any number of workers may join; a worker beyond the number of shards waits until another
// leaves.
//
//	worker, err := q.Join()
//	if err != nil {
//		return err
//	}
//	defer worker.Leave()
//	for {
//		item, err := worker.GetContext(ctx)
//		if errors.Is(err, wq.ShuttingDown) {
//			return nil
//		}
//		if err != nil {
//			return err
//		}
//		reconcile(item)
//		q.Done(item)
//	}
//
// Any goroutine may make the calls; one that waits holds no thread.
type Worker[T comparable] struct {
	queue   *Queue[T]
	backend workerBackend
	left    atomic.Bool
}

// workerBackend is a worker, by key.
type workerBackend interface {
	getter
	shards() ([]int, error)
	leave() error // Called once.
}

// Join makes a worker of a queue with QueueOptions.Shards, which keeps its shards until Leave.
// InvalidArgument: the queue has no shards. NotSupported: the queue is remote; the server gives
// shards to its Gets.
func (q *Queue[T]) Join() (*Worker[T], error) {
	worker, err := q.backend.join()
	if err != nil {
		return nil, err
	}
	return &Worker[T]{queue: q, backend: worker}, nil
}

// Get waits for the next item of the worker's shards as Queue.Get does. shutdown: also after Leave.
func (w *Worker[T]) Get() (item T, shutdown bool) {
	item, err := w.GetContext(context.Background())
	w.queue.reportEnd(err)
	return item, err != nil
}

// GetContext waits as Queue.GetContext does, for an item of the worker's shards.
func (w *Worker[T]) GetContext(ctx context.Context) (T, error) {
	item, _, err := w.queue.getFrom(ctx, w.backend)
	return item, w.leftError(err)
}

// GetBatch takes items as Queue.GetBatch does, at most one of each of the worker's shards.
func (w *Worker[T]) GetBatch(ctx context.Context, max int) ([]T, error) {
	items, err := w.queue.getBatchFrom(ctx, max, w.backend)
	return items, w.leftError(err)
}

// leftError replaces ShuttingDown after Leave by an error that says so.
func (w *Worker[T]) leftError(err error) error {
	if codeOf(err) == ShuttingDown && w.left.Load() {
		err = newError(ShuttingDown, "the worker has left")
	}
	return err
}

// Shards returns the shards that the worker serves now, ascending.
func (w *Worker[T]) Shards() ([]int, error) {
	own, err := w.backend.shards()
	return own, w.leftError(err)
}

// Leave gives the worker's shards to the other workers; waiting Gets end with shutdown. Items that
// it holds stay held until Done. Idempotent.
func (w *Worker[T]) Leave() error {
	if w.left.Swap(true) {
		return nil
	}
	return w.backend.leave()
}
