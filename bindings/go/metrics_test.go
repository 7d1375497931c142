//go:build cgo

package wq

import (
	"math"
	"strings"
	"sync"
	"testing"
	"time"
)

func measuredStore(t *testing.T) *Store {
	t.Helper()
	store, err := OpenInMemory(StoreOptions{Metrics: true})
	must(t, err)
	t.Cleanup(func() { must(t, store.Close()) })
	return store
}

// metric returns the value of the sample of this name of the queue "q", not of a bucket.
func metric(t *testing.T, store *Store, name string) float64 {
	t.Helper()
	var text strings.Builder
	must(t, store.WriteMetrics(&text))
	for _, s := range parseSamples(text.String()) {
		if s.name == name && s.queue == "q" {
			return s.value
		}
	}
	t.Fatalf("%s is missing in %s", name, text.String())
	return 0
}

func TestMetricsCountCalls(t *testing.T) {
	store := measuredStore(t)
	q := openQueue(t, store, QueueOptions[string]{})
	var adding sync.WaitGroup
	for _, item := range []string{"a", "b", "c", "a"} {
		adding.Add(1)
		go func(item string) {
			defer adding.Done()
			q.Add(item)
		}(item)
	}
	adding.Wait()
	q.Done(take(t, q))
	take(t, q)
	q.AddAfter("d", time.Hour)
	q.AddRateLimited("e")
	for name, want := range map[string]float64{
		"workqueue_adds_total": 3, "workqueue_depth": 1, "workqueue_retries_total": 2,
		"workqueue_queue_duration_seconds_count": 2, "workqueue_work_duration_seconds_count": 1,
	} {
		if got := metric(t, store, name); got != want {
			t.Errorf("%s is %v, want %v", name, got, want)
		}
	}
	if metric(t, store, "workqueue_queue_duration_seconds_sum") <= 0 ||
		metric(t, store, "workqueue_unfinished_work_seconds") < 0 {
		t.Error("no time has passed")
	}
}

// As in client-go, AddAfter and AddRateLimited are retries, whatever the delay; other Adds are not.
func TestOnlyAddsWithADelayAreRetries(t *testing.T) {
	store := measuredStore(t)
	q := openQueue(t, store, QueueOptions[string]{
		Order: TwoLanes, GroupOf: func(string) string { return "g" }})
	q.Add("a")
	must(t, q.AddWithLane("b", SlowLane))
	second(q.AddWith("c", AddOptions{Durability: Async}))
	second(q.AddBatch([]string{"d"}, AddOptions{}))
	if n := metric(t, store, "workqueue_retries_total"); n != 0 {
		t.Error(n)
	}
	q.AddAfter("e", 0)
	q.AddAfter("f", time.Hour)
	second(q.AddWith("g", AddOptions{After: time.Hour}))
	q.AddRateLimited("h")
	must(t, q.Err())
	if n := metric(t, store, "workqueue_retries_total"); n != 4 {
		t.Error(n)
	}
}

// Of what is reported the number in each bucket is right, and the sum.
func TestAHistogramIsReportedByItsBucketsAndItsSum(t *testing.T) {
	var reported recorded
	reported.mu = &sync.Mutex{}
	bounds := []float64{0.1, 1, 10, math.Inf(1)}
	var h histogram
	for _, step := range []struct {
		counts []float64 // Cumulative.
		sum    float64
		want   [4]int // New, in each bucket.
	}{
		{[]float64{0, 0, 0, 0}, 0, [4]int{}},
		{[]float64{1, 3, 3, 3}, 1.5, [4]int{1, 2, 0, 0}},
		{[]float64{1, 3, 3, 3}, 1.5, [4]int{}},
		{[]float64{1, 3, 4, 6}, 58.5, [4]int{0, 0, 1, 2}},
	} {
		reported.values = nil
		h.observe(histogram{bounds, step.counts, step.sum}, &reported)
		var got [4]int
		for _, v := range reported.values {
			i := 0
			for v > bounds[i] {
				i++
			}
			got[i]++
		}
		if got != step.want || math.Abs(h.sum-step.sum) > 1e-9 {
			t.Errorf("%v: got %v and %v", step, reported.values, h.sum)
		}
	}
}

func TestMetricsOfAnUnmeasuredAndOfAClosedStore(t *testing.T) {
	wantCode(t, memoryStore(t).WriteMetrics(&strings.Builder{}), InvalidArgument)
	store, err := OpenInMemory(StoreOptions{Metrics: true})
	must(t, err)
	must(t, store.Close())
	wantCode(t, store.WriteMetrics(&strings.Builder{}), ShuttingDown)
	_, err = Open(t.TempDir()+"/none", StoreOptions{Metrics: true})
	wantCode(t, err, NotFound)
}
