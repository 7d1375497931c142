//go:build cgo

package wq

import (
	"math"
	"sync"
	"testing"
	"time"
)

// The types of client-go's workqueue package, by their shape.
type (
	goGauge interface {
		Inc()
		Dec()
	}
	goSettable  interface{ Set(float64) }
	goCounter   interface{ Inc() }
	goHistogram interface{ Observe(float64) }
	goProvider  interface {
		NewDepthMetric(name string) goGauge
		NewAddsMetric(name string) goCounter
		NewLatencyMetric(name string) goHistogram
		NewWorkDurationMetric(name string) goHistogram
		NewUnfinishedWorkSecondsMetric(name string) goSettable
		NewLongestRunningProcessorSecondsMetric(name string) goSettable
		NewRetriesMetric(name string) goCounter
	}
)

// recorded is a metric of a test; it has the methods of all kinds.
type recorded struct {
	mu     *sync.Mutex
	value  float64
	values []float64
}

func (r *recorded) change(by float64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.value += by
}
func (r *recorded) Inc() { r.change(1) }
func (r *recorded) Dec() { r.change(-1) }
func (r *recorded) Set(v float64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.value = v
}
func (r *recorded) Observe(v float64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.values = append(r.values, v)
}

// adding is a metric with Add, as Prometheus's have.
type adding struct {
	*recorded
	t *testing.T
}

func (a adding) Inc()          { a.t.Error("Inc was called of a metric that has Add") }
func (a adding) Add(v float64) { a.change(v) }

// recorder is a provider of client-go's types.
type recorder struct {
	t   *testing.T
	mu  sync.Mutex
	all map[string]*recorded // By kind and name.
}

func newRecorder(t *testing.T) *recorder {
	return &recorder{t: t, all: map[string]*recorded{}}
}

func (r *recorder) make(kind, name string) *recorded {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.all[kind+name] != nil {
		r.t.Errorf("%s of %s is made twice", kind, name)
	}
	r.all[kind+name] = &recorded{mu: &r.mu}
	return r.all[kind+name]
}
func (r *recorder) NewDepthMetric(name string) goGauge { return r.make("depth ", name) }
func (r *recorder) NewAddsMetric(name string) goCounter {
	return adding{r.make("adds ", name), r.t}
}
func (r *recorder) NewLatencyMetric(name string) goHistogram {
	return r.make("latency ", name)
}
func (r *recorder) NewWorkDurationMetric(name string) goHistogram { return r.make("work ", name) }
func (r *recorder) NewUnfinishedWorkSecondsMetric(n string) goSettable {
	return r.make("unfinished ", n)
}
func (r *recorder) NewLongestRunningProcessorSecondsMetric(name string) goSettable {
	return r.make("longest ", name)
}
func (r *recorder) NewRetriesMetric(name string) goCounter { return r.make("retries ", name) }

var _ goProvider = (*recorder)(nil)

func (r *recorder) value(name string) float64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.all[name].value
}

func (r *recorder) values(name string) []float64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.all[name].values
}

func (r *recorder) want(t *testing.T, want map[string]float64) {
	t.Helper()
	for name, value := range want {
		if got := r.value(name); got != value {
			t.Errorf("%s is %v, want %v", name, got, value)
		}
	}
}

func reportedStore(t *testing.T, r goProvider, clock *ManualClock) *Store {
	t.Helper()
	store, err := OpenInMemory(StoreOptions{Clock: clock,
		MetricsProvider: ProviderOf[goGauge, goCounter, goHistogram, goSettable](r)})
	must(t, err)
	t.Cleanup(func() { must(t, store.Close()) })
	return store
}

func TestAProviderGetsWhatClientGosQueueReports(t *testing.T) {
	r, clock := newRecorder(t), NewManualClock(time.Unix(1_700_000_000, 0))
	store := reportedStore(t, r, clock)
	q, err := OpenPriorityQueue[string, addOpts](store, "q", QueueOptions[string]{})
	must(t, err)
	r.want(t, map[string]float64{"adds q": 0, "depth q": 0}) // Made before the first Add.

	q.AddWithOpts(addOpts{Priority: at(3)}, "a")
	q.AddWithOpts(addOpts{}, "b", "b", "c")
	q.AddAfter("d", time.Hour)
	clock.Advance(2 * time.Second)
	wantNext(t, q.Queue, "a")
	clock.Advance(3 * time.Second)
	wantNext(t, q.Queue, "b")
	clock.Advance(time.Second)
	store.report()
	r.want(t, map[string]float64{"adds q": 3, "retries q": 1, "depth q": 1,
		"unfinished q": 5, "longest q": 4})
	if got := r.values("latency q"); len(got) != 2 || got[0]+got[1] != 2+5 {
		t.Errorf("the latencies are %v", got)
	}

	q.Done("a")
	q.Done("b")
	wantNext(t, q.Queue, "c")
	clock.Advance(time.Hour)
	wantLen(t, q.Queue, 1) // d is due.
	store.report()
	store.report()
	r.want(t, map[string]float64{"adds q": 4, "retries q": 1, "depth q": 1, "longest q": 3600})
	if got := r.values("work q"); len(got) != 2 || math.Abs(got[0]+got[1]-(4+1)) > 1e-9 ||
		got[0] > 1 || got[1] <= 1 || got[1] > 10 {
		t.Errorf("the work took %v", got)
	}
	if got := r.values("latency q"); len(got) != 3 {
		t.Errorf("the latencies are %v", got)
	}
	must(t, q.Err())
}

func TestAProviderGetsReportsWithoutACall(t *testing.T) {
	r := newRecorder(t)
	q := openQueue(t, reportedStore(t, r, nil), QueueOptions[string]{})
	q.Add("a")
	eventually(t, "the Add is reported", func() bool { return r.value("adds q") == 1 })
}

func TestTheLastReportIsAfterClose(t *testing.T) {
	r := newRecorder(t)
	store := reportedStore(t, r, nil)
	q := openQueue(t, store, QueueOptions[string]{})
	q.Add("a")
	q.Add("b")
	q.Done(take(t, q))
	must(t, store.Close())
	r.want(t, map[string]float64{"adds q": 2, "depth q": 0, "unfinished q": 0})
	if len(r.values("work q")) != 1 || len(r.values("latency q")) != 1 {
		t.Error("values are missing")
	}
}

func TestAQueueThatOpensAgainGoesOnWithItsMetrics(t *testing.T) {
	r := newRecorder(t)
	store := reportedStore(t, r, nil)
	for i := 1; i <= 3; i++ {
		q := openQueue(t, store, QueueOptions[string]{})
		q.Add("a")
		store.report()
		r.want(t, map[string]float64{"adds q": float64(i), "depth q": 1})
		must(t, q.Close())
		store.report()
		r.want(t, map[string]float64{"depth q": 0})
	}
}
