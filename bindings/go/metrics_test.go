//go:build cgo

package wq

import (
	"math"
	"strings"
	"sync"
	"testing"
)

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
