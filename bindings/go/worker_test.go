//go:build cgo

package wq

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"
)

func shardedQueue(t *testing.T, shards int) *Queue[string] {
	t.Helper()
	return openQueue(t, memoryStore(t), QueueOptions[string]{
		Shards: shards, GroupOf: func(item string) string { return strings.SplitN(item, "/", 2)[0] }})
}

func join(t *testing.T, q *Queue[string]) *Worker[string] {
	t.Helper()
	w, err := q.Join()
	must(t, err)
	return w
}

// shardsOf returns how many shards each worker serves.
func shardsOf(t *testing.T, workers ...*Worker[string]) []int {
	t.Helper()
	var all []int
	for _, w := range workers {
		shards, err := w.Shards()
		must(t, err)
		all = append(all, len(shards))
	}
	return all
}

func TestAShardHandsOutOneItemAtATime(t *testing.T) {
	q := shardedQueue(t, 4)
	w := join(t, q)
	for _, item := range []string{"a/1", "a/2", "a/3"} {
		q.Add(item)
	}
	for _, want := range []string{"a/1", "a/2", "a/3"} {
		item, shutdown := w.Get()
		if shutdown || item != want {
			t.Fatalf("got %q, want %q", item, want)
		}
		ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
		if other, err := w.GetContext(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("%q was handed out while %q is held (%v)", other, want, err)
		}
		cancel()
		q.Done(item)
	}
	must(t, q.Err())
	must(t, w.Leave())
}

func TestShardsNeedWorkersAndWorkersNeedShards(t *testing.T) {
	wantCode(t, second(memoryQueue(t).Join()), InvalidArgument)
	q := shardedQueue(t, 2)
	q.Add("a")
	if _, shutdown := q.Get(); !shutdown {
		t.Fatal("only workers take items of shards")
	}
	wantCode(t, q.Err(), InvalidArgument)
	for _, shards := range []int{-1, 1 << 16} {
		wantCode(t, second(OpenQueue(memoryStore(t), "q", QueueOptions[string]{Shards: shards})),
			InvalidArgument)
	}
}
