//go:build cgo

package wq

import (
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

// metric returns the series of this name whose label `name` is the queue "q".
func metric(t *testing.T, store *Store, name string) Metric {
	t.Helper()
	all, err := store.Metrics()
	must(t, err)
	for _, m := range all {
		for _, l := range m.Labels {
			if m.Name == name && l == (Label{"name", "q"}) {
				return m
			}
		}
	}
	t.Fatalf("%s is missing", name)
	return Metric{}
}

func sum(counts []uint64) (n uint64) {
	for _, c := range counts {
		n += c
	}
	return n
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
	} {
		if m := metric(t, store, name); m.Value != want || m.Help == "" || len(m.Counts) != 0 {
			t.Errorf("%s: %+v, want %v", name, m, want)
		}
	}
	waited := metric(t, store, "workqueue_queue_duration_seconds")
	if waited.Kind != Histogram || sum(waited.Counts) != 2 || waited.Sum <= 0 ||
		len(waited.Counts) != len(waited.Bounds)+1 || waited.Bounds[0] >= waited.Bounds[1] {
		t.Errorf("%+v", waited)
	}
	if worked := metric(t, store, "workqueue_work_duration_seconds"); sum(worked.Counts) != 1 {
		t.Errorf("%+v", worked)
	}
	if held := metric(t, store, "workqueue_unfinished_work_seconds"); held.Kind != Gauge {
		t.Errorf("%+v", held)
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
	if m := metric(t, store, "workqueue_retries_total"); m.Value != 0 {
		t.Errorf("%+v", m)
	}
	q.AddAfter("e", 0)
	q.AddAfter("f", time.Hour)
	second(q.AddWith("g", AddOptions{After: time.Hour}))
	q.AddRateLimited("h")
	must(t, q.Err())
	if m := metric(t, store, "workqueue_retries_total"); m.Value != 4 {
		t.Errorf("%+v", m)
	}
}

func TestMetricsAreWrittenForPrometheus(t *testing.T) {
	store := measuredStore(t)
	q := openQueue(t, store, QueueOptions[string]{})
	q.Add("a")
	q.Done(take(t, q))
	var text strings.Builder
	must(t, store.WriteMetrics(&text))
	for _, line := range []string{
		"# TYPE workqueue_adds_total counter",
		"# TYPE workqueue_depth gauge",
		"# TYPE workqueue_work_duration_seconds histogram",
	} {
		if strings.Count(text.String(), line+"\n") != 1 {
			t.Errorf("%q was written %d times", line, strings.Count(text.String(), line))
		}
	}
	for _, part := range []string{"\nworkqueue_adds_total{", `le="+Inf"} 1`,
		"\nworkqueue_work_duration_seconds_count{",
		"\nworkqueue_work_duration_seconds_sum{", `name="q"`} {
		if !strings.Contains(text.String(), part) {
			t.Errorf("%q is missing", part)
		}
	}
}

func TestASeriesIsWrittenInTheTextFormat(t *testing.T) {
	var text strings.Builder
	Metric{Name: "h", Kind: Histogram, Labels: []Label{{"l", "a\\b\"c\nd"}},
		Bounds: []float64{0.5, 1e-8}, Counts: []uint64{1, 0, 2}, Sum: 3.5}.write(&text)
	Metric{Name: "c", Kind: Counter, Value: 7}.write(&text)
	want := `h_bucket{l="a\\b\"c\nd",le="0.5"} 1
h_bucket{l="a\\b\"c\nd",le="1e-08"} 1
h_bucket{l="a\\b\"c\nd",le="+Inf"} 3
h_sum{l="a\\b\"c\nd"} 3.5
h_count{l="a\\b\"c\nd"} 3
c 7
`
	if text.String() != want {
		t.Errorf("got\n%swant\n%s", text.String(), want)
	}
}

func TestMetricsOfAnUnmeasuredAndOfAClosedStore(t *testing.T) {
	wantCode(t, second(memoryStore(t).Metrics()), InvalidArgument)
	store, err := OpenInMemory(StoreOptions{Metrics: true})
	must(t, err)
	must(t, store.Close())
	wantCode(t, second(store.Metrics()), ShuttingDown)
	wantCode(t, store.WriteMetrics(&strings.Builder{}), ShuttingDown)
	_, err = Open(t.TempDir()+"/none", StoreOptions{Metrics: true})
	wantCode(t, err, NotFound)
}
