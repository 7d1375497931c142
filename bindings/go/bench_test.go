//go:build cgo

package wq

import (
	"strconv"
	"testing"
)

// The benchmarks that `wqbench --scenario bindings` runs. Each reports "ns/op" for one key.

func BenchmarkCrossing(b *testing.B) { // A call into C that does nothing.
	for i := 0; i < b.N; i++ {
		crossing()
	}
}

func BenchmarkAddProcess(b *testing.B) {
	store, err := Open(b.TempDir(), StoreOptions{CreateIfMissing: true})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := store.Close(); err != nil {
			b.Error(err)
		}
	})
	q, err := OpenQueue(store, "bench", QueueOptions[string]{Durability: Process})
	if err != nil {
		b.Fatal(err)
	}
	keys := make([]string, b.N) // Like those of controllers.
	for i := range keys {
		keys[i] = "namespace-" + strconv.Itoa(i%100) + "/pod-" + strconv.Itoa(i)
	}
	b.ResetTimer()
	for _, key := range keys {
		q.Add(key)
	}
	if err := q.Flush(Process); err != nil {
		b.Fatal(err)
	}
	b.StopTimer()
	if got := q.Len(); got != b.N || q.Err() != nil {
		b.Fatalf("%d keys are queued, not %d (%v)", got, b.N, q.Err())
	}
}
