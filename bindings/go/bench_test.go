//go:build cgo

package wq

import (
	"context"
	"strconv"
	"sync"
	"testing"
)

// Each benchmark reports "ns/op" for one key, whatever its batch size. README.md says how to run
// them.

func BenchmarkCrossing(b *testing.B) { // A call into C that does nothing.
	for i := 0; i < b.N; i++ {
		crossing()
	}
}

// benchQueue returns an empty queue on disk.
func benchQueue(b *testing.B, durability Durability) *Queue[string] {
	return benchQueueOf(b, durability, StoreOptions{CreateIfMissing: true})
}

func benchQueueOf(b *testing.B, durability Durability, options StoreOptions) *Queue[string] {
	store, err := Open(b.TempDir(), options)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := store.Close(); err != nil {
			b.Error(err)
		}
	})
	q, err := OpenQueue(store, "bench", QueueOptions[string]{Durability: durability})
	if err != nil {
		b.Fatal(err)
	}
	return q
}

// benchKeys returns n keys like those of controllers.
func benchKeys(n int) []string {
	keys := make([]string, n)
	for i := range keys {
		keys[i] = "namespace-" + strconv.Itoa(i%100) + "/pod-" + strconv.Itoa(i)
	}
	return keys
}

// checkLen fails a benchmark whose queue has another length.
func checkLen(b *testing.B, q *Queue[string], want int) {
	b.StopTimer()
	if got := q.Len(); got != want || q.Err() != nil {
		b.Fatalf("%d keys are queued, not %d (%v)", got, want, q.Err())
	}
}

func benchAdd(b *testing.B, q *Queue[string]) {
	keys := benchKeys(b.N)
	b.ResetTimer()
	for _, key := range keys {
		q.Add(key)
	}
	if err := q.Flush(Process); err != nil {
		b.Fatal(err)
	}
	checkLen(b, q, b.N)
}

func BenchmarkAddAsync(b *testing.B)   { benchAdd(b, benchQueue(b, Async)) }
func BenchmarkAddProcess(b *testing.B) { benchAdd(b, benchQueue(b, Process)) }
func BenchmarkAddAsyncMeasured(b *testing.B) {
	benchAdd(b, benchQueueOf(b, Async, StoreOptions{CreateIfMissing: true, Metrics: true}))
}

func BenchmarkAddProcess16(b *testing.B) {
	q, keys := benchQueue(b, Process), benchKeys(b.N)
	var group sync.WaitGroup
	b.ResetTimer()
	for w := 0; w < 16; w++ {
		group.Add(1)
		go func(w int) {
			defer group.Done()
			for i := w; i < len(keys); i += 16 {
				q.Add(keys[i])
			}
		}(w)
	}
	group.Wait()
	checkLen(b, q, b.N)
}

const benchBatch = 1000

// batches calls body with the keys, in batches.
func batches(b *testing.B, keys []string, body func(keys []string) error) {
	for len(keys) > 0 {
		n := benchBatch
		if n > len(keys) {
			n = len(keys)
		}
		if err := body(keys[:n]); err != nil {
			b.Fatal(err)
		}
		keys = keys[n:]
	}
}

func benchAddBatch(b *testing.B, durability Durability) {
	q, keys := benchQueue(b, durability), benchKeys(b.N)
	b.ResetTimer()
	batches(b, keys, func(keys []string) error {
		_, err := q.AddBatch(keys, AddOptions{})
		return err
	})
	if err := q.Flush(Process); err != nil {
		b.Fatal(err)
	}
	checkLen(b, q, b.N)
}

func BenchmarkAddBatchAsync(b *testing.B)   { benchAddBatch(b, Async) }
func BenchmarkAddBatchProcess(b *testing.B) { benchAddBatch(b, Process) }
func BenchmarkAddBatchPower(b *testing.B)   { benchAddBatch(b, Power) }

// filled returns a queue of b.N keys.
func filled(b *testing.B) *Queue[string] {
	q, keys := benchQueue(b, Async), benchKeys(b.N)
	batches(b, keys, func(keys []string) error {
		_, err := q.AddBatch(keys, AddOptions{})
		return err
	})
	if err := q.Flush(Process); err != nil {
		b.Fatal(err)
	}
	b.ResetTimer()
	return q
}

func BenchmarkGetDone(b *testing.B) {
	q := filled(b)
	for i := 0; i < b.N; i++ {
		key, shutdown := q.Get()
		if shutdown {
			b.Fatal("shut down")
		}
		q.Done(key)
	}
	if err := q.Flush(Process); err != nil {
		b.Fatal(err)
	}
	checkLen(b, q, 0)
}

func BenchmarkGetDoneBatch(b *testing.B) {
	q := filled(b)
	for n := 0; n < b.N; {
		keys, err := q.GetBatch(context.Background(), benchBatch)
		if err == nil {
			err = q.FinishBatch(keys)
		}
		if err != nil {
			b.Fatal(err)
		}
		n += len(keys)
	}
	if err := q.Flush(Process); err != nil {
		b.Fatal(err)
	}
	checkLen(b, q, 0)
}

// BenchmarkWakeUp passes a key to a waiting Get, and back through a second queue.
func BenchmarkWakeUp(b *testing.B) {
	q, back := benchQueue(b, Async), benchQueue(b, Async)
	go func() {
		for {
			key, shutdown := q.Get()
			if shutdown {
				return
			}
			q.Done(key)
			back.Add(key)
		}
	}()
	b.ResetTimer()
	for i := 0; i < b.N; i++ {
		q.Add("ball")
		key, _ := back.Get()
		back.Done(key)
	}
	b.StopTimer()
	q.ShutDown()
}
