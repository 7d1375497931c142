//go:build cgo

package wq

import (
	"context"
	"errors"
	"math/rand"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

func osThreads(t *testing.T) int {
	t.Helper()
	if testing.Short() {
		t.Skip("Go's runtime starts more threads on a loaded machine")
	}
	tasks, err := os.ReadDir("/proc/self/task")
	must(t, err)
	return len(tasks)
}

// A thousand workers wait, then each gets an item, works (waits) on it, and is done.
func TestAThousandGetsCostNoThreads(t *testing.T) {
	const workers = 1000
	q := memoryQueue(t)
	before := osThreads(t)
	var done sync.WaitGroup
	hold := make(chan bool)
	for i := 0; i < workers; i++ {
		done.Add(1)
		go func() {
			defer done.Done()
			item := take(t, q)
			<-hold
			q.Done(item)
		}()
	}
	eventually(t, "all wait", func() bool { return q.backend.waitingGets() == workers })
	if waiting := osThreads(t) - before; waiting > 12 {
		t.Errorf("%d goroutines in Get cost %d threads", workers, waiting)
	}
	for i := 0; i < workers; i++ {
		q.Add(strconv.Itoa(i))
	}
	eventually(t, "each has one", func() bool {
		return q.backend.waitingGets() == 0 && q.Len() == 0
	})
	if holding := osThreads(t) - before; holding > 12 {
		t.Errorf("%d goroutines with items cost %d threads", workers, holding)
	}
	close(hold)
	done.Wait()
	wantCounts(t, q, "")
}

// A thousand goroutines add at once, each waiting for the disk.
func TestAThousandAddsCostNoThreads(t *testing.T) {
	const adders = 1000
	dir := t.TempDir() + "/store"
	store := diskStore(t, dir)
	q := openQueue(t, store, QueueOptions[string]{Durability: Power})
	q.Add("warm")
	before := osThreads(t)
	var done sync.WaitGroup
	for i := 0; i < adders; i++ {
		done.Add(1)
		go func(i int) {
			defer done.Done()
			q.Add(strconv.Itoa(i % (adders - 1))) // One item is added twice.
			if i%100 == 0 {
				q.Add("") // Refused; the Adds of the same call are made.
			}
		}(i)
	}
	done.Wait()
	if cost := osThreads(t) - before; cost > 12 {
		t.Errorf("%d goroutines in Add cost %d threads", adders, cost)
	}
	wantLen(t, q, adders)
	err := q.Err()
	wantCode(t, err, InvalidArgument)
	if !strings.Contains(err.Error(), "empty") {
		t.Error(err)
	}
	must(t, store.Close())

	store = diskStore(t, dir)
	wantLen(t, openQueue(t, store, QueueOptions[string]{}), adders)
	must(t, store.Close())
}

// To join Adds that do not wait doubles what they cost.
func TestOnlyAddsThatWaitForTheDiskAreJoined(t *testing.T) {
	logged, err := Open(t.TempDir()+"/logged", StoreOptions{CreateIfMissing: true})
	must(t, err)
	unlogged, err := Open(t.TempDir()+"/unlogged",
		StoreOptions{CreateIfMissing: true, NoProcessLog: true})
	must(t, err)
	hasLog := logged.ProcessLogStatus() == nil // The file system may be one without.
	for _, c := range []struct {
		store   *Store
		options QueueOptions[string]
		want    bool
	}{
		{logged, QueueOptions[string]{}, !hasLog},
		{logged, QueueOptions[string]{Durability: Process}, !hasLog},
		{logged, QueueOptions[string]{Durability: Async}, false},
		{logged, QueueOptions[string]{Durability: Power}, true},
		{logged, QueueOptions[string]{Durability: Power, MaxPending: 10}, false},
		{unlogged, QueueOptions[string]{}, true},
		{unlogged, QueueOptions[string]{Durability: Process}, true},
		{unlogged, QueueOptions[string]{Durability: Async}, false},
		{memoryStore(t), QueueOptions[string]{Durability: Power}, false},
	} {
		q := openQueue(t, c.store, c.options)
		if got := q.backend.(*linkedQueue).waits; got != c.want {
			t.Errorf("%+v: joined: %v", c.options, got)
		}
		q.Add("a")
		must(t, q.Close())
	}
	must(t, logged.Close())
	must(t, unlogged.Close())
}

func TestNoItemIsTakenWithoutAWaitingGet(t *testing.T) {
	q := memoryQueue(t)
	got := waiting(t, q)
	must(t, second(q.AddBatch([]string{"a", "b", "c"}, AddOptions{})))
	within(t, got)
	wantCounts(t, q, "2 queued 1 processing")
}

func TestTheLongestWaitingGetIsFirst(t *testing.T) {
	q := memoryQueue(t)
	const workers = 5
	got := make([]<-chan string, workers)
	for i := range got {
		got[i] = waiting(t, q)
	}
	for i := range got {
		q.Add(strconv.Itoa(i))
	}
	for i, c := range got {
		wantFrom(t, c, strconv.Itoa(i))
	}
}

// Contexts end at any instant while keys are added: each key is handed out once for each Add, and
// no key is held that no Get returned.
func TestNoItemIsLostWhenContextsEnd(t *testing.T) {
	q := memoryQueue(t)
	const items, workers = 2000, 16
	var taken atomic.Int32
	var working sync.WaitGroup
	for w := 0; w < workers; w++ {
		working.Add(1)
		go func(random *rand.Rand) {
			defer working.Done()
			for {
				ctx, cancel := context.WithTimeout(context.Background(),
					time.Duration(random.Intn(300))*time.Microsecond)
				item, err := q.GetContext(ctx)
				cancel()
				switch {
				case err == nil:
					taken.Add(1)
					q.Done(item)
				case errors.Is(err, ShuttingDown):
					return
				case !errors.Is(err, context.DeadlineExceeded):
					t.Errorf("%v", err)
					return
				}
			}
		}(rand.New(rand.NewSource(int64(w))))
	}
	for i := 0; i < items; i++ {
		q.Add(strconv.Itoa(i))
	}
	q.ShutDownWithDrain()
	working.Wait()
	if taken.Load() != items {
		t.Fatalf("%d items were handed out, want %d", taken.Load(), items)
	}
	must(t, q.Err())
}

// Stores are closed during calls of all kinds.
func TestCloseWhileInCalls(t *testing.T) {
	for round := 0; round < 20; round++ {
		store, err := OpenInMemory(StoreOptions{})
		must(t, err)
		q := openQueue(t, store, QueueOptions[string]{})
		var begun atomic.Int32
		var calling sync.WaitGroup
		for w := 0; w < 8; w++ {
			calling.Add(1)
			go func(w int) {
				defer calling.Done()
				for i := 0; ; i++ {
					if i == 10 {
						begun.Add(1)
					}
					item, shutdown := strconv.Itoa(i), false
					switch w % 4 {
					case 0:
						q.Add(item)
						shutdown = q.ShuttingDown()
					case 1:
						item, shutdown = q.Get()
						q.Done(item)
					case 2:
						shutdown = errors.Is(store.Health(), ShuttingDown)
					case 3:
						shutdown = second(q.Counts()) != nil
					}
					if shutdown {
						return
					}
				}
			}(w)
		}
		eventually(t, "all are at it", func() bool { return begun.Load() == 8 })
		must(t, store.Close())
		calling.Wait()
		must(t, store.Close())
	}
}
