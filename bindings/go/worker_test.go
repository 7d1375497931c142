//go:build cgo

package wq

import (
	"context"
	"errors"
	"runtime"
	"strconv"
	"strings"
	"sync"
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

func TestWorkersShareTheShards(t *testing.T) {
	q := shardedQueue(t, 100)
	a := join(t, q)
	if n := shardsOf(t, a); n[0] != 100 {
		t.Fatal(n)
	}
	b := join(t, q)
	if n := shardsOf(t, a, b); n[0] != 50 || n[1] != 50 {
		t.Fatal(n)
	}
	must(t, a.Leave())
	must(t, a.Leave())
	if n := shardsOf(t, b); n[0] != 100 {
		t.Fatal(n)
	}
	wantCode(t, second(a.Shards()), ShuttingDown)
	wantCode(t, second(a.GetContext(context.Background())), ShuttingDown)
	_, shutdown := a.Get()
	if !shutdown || q.Err() != nil {
		t.Fatal(shutdown, q.Err())
	}
}

func TestAWorkerThatWaitsGetsTheShardsOfOneThatLeaves(t *testing.T) {
	q := shardedQueue(t, 1)
	first, idle := join(t, q), join(t, q)
	q.Add("a")
	got, left := make(chan string), make(chan bool)
	go func() {
		item, _ := idle.Get()
		got <- item
	}()
	eventually(t, "it waits", func() bool { return idle.source.waitingGets() == 1 })
	must(t, first.Leave())
	if item := within(t, got); item != "a" {
		t.Fatalf("%q", item)
	}
	go func() { // Its shard's item is held, so it waits until Leave.
		_, shutdown := idle.Get()
		left <- shutdown
	}()
	eventually(t, "it waits", func() bool { return idle.source.waitingGets() == 1 })
	must(t, idle.Leave())
	if !within(t, left) {
		t.Fatal("the worker has left")
	}
	q.Done("a")
	must(t, q.Err())
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

// Workers join and leave while items of 20 groups are added: no two hold items of one group, and no
// item is lost.
func TestNoTwoHoldItemsOfOneShard(t *testing.T) {
	const groups, each = 20, 50
	q := shardedQueue(t, 5)
	var mu sync.Mutex
	held, done := map[string]bool{}, 0
	var working sync.WaitGroup
	work := func(w *Worker[string], items int) {
		defer working.Done()
		for i := 0; i < items; i++ {
			batch, err := w.GetBatch(context.Background(), 3)
			if errors.Is(err, ShuttingDown) {
				break
			}
			mu.Lock()
			for _, item := range batch {
				group := q.group(item)
				if held[group] {
					t.Errorf("two workers hold items of %q", group)
				}
				held[group] = true
			}
			mu.Unlock()
			runtime.Gosched()
			mu.Lock()
			for _, item := range batch {
				held[q.group(item)] = false
				done++
			}
			mu.Unlock()
			if err := q.FinishBatch(batch); err != nil {
				t.Error(err)
			}
		}
		if err := w.Leave(); err != nil {
			t.Error(err)
		}
	}
	for _, items := range []int{10, 20, 40, groups * each, groups * each, groups * each} {
		working.Add(1)
		go work(join(t, q), items)
	}
	for i := 0; i < groups*each; i++ {
		q.Add(strconv.Itoa(i%groups) + "/" + strconv.Itoa(i/groups))
	}
	q.ShutDownWithDrain()
	working.Wait()
	if done != groups*each {
		t.Fatalf("%d items were handed out, want %d", done, groups*each)
	}
	must(t, q.Err())
}
