package wq

// This file writes a store's metrics, and reports them to metrics providers.

// #include <wq/wq.h>
import "C"

import (
	"io"
	"math"
	"strconv"
	"strings"
	"sync"
	"time"
)

// WriteMetrics writes all series of the store and its queues in the text format that a Prometheus
// server reads (version 0.0.4). Their names are client-go's or controller-runtime's: see
// docs/metrics.md. No label is ever a key of a queue. InvalidArgument: the store was opened without
// StoreOptions.Metrics.
//
//	http.HandleFunc("/metrics", func(w http.ResponseWriter, r *http.Request) {
//		store.WriteMetrics(w)
//	})
func (s *Store) WriteMetrics(to io.Writer) error {
	text, err := s.metricsText()
	if err != nil {
		return err
	}
	_, err = io.WriteString(to, text)
	return err
}

func (s *Store) metricsText() (string, error) {
	return readBytes(func(text *C.wq_bytes, e *C.wq_error) C.wq_code {
		return C.wq_store_metrics(s.handle, text, e)
	})
}

// sample is one line of the metrics' text.
type sample struct {
	name  string
	queue string // The label `name`; "": there is none.
	le    string // The bound of a histogram's bucket; "": it is none.
	value float64
}

// parseSamples returns the samples of client-go's metrics, whose labels need no escapes.
func parseSamples(text string) []sample {
	var all []sample
	for _, line := range strings.Split(text, "\n") {
		open, end := strings.IndexByte(line, '{'), strings.LastIndex(line, "} ")
		if !strings.HasPrefix(line, "workqueue_") || open < 0 || end < open {
			continue
		}
		s := sample{name: line[:open]}
		for _, label := range strings.Split(line[open+1:end], ",") {
			switch name, value, _ := strings.Cut(label, "="); name {
			case "name":
				s.queue = strings.Trim(value, `"`)
			case "le":
				s.le = strings.Trim(value, `"`)
			}
		}
		s.value, _ = strconv.ParseFloat(line[end+2:], 64)
		all = append(all, s)
	}
	return all
}

// reportPeriod is the time between two reports. client-go updates its gauges as often.
const reportPeriod = 500 * time.Millisecond

// reporter reports the metrics that the library has added up: calls of queues do not wait for a
// provider.
type reporter struct {
	provider MetricsProvider

	mu     sync.Mutex // Held during calls of the provider and of its metrics.
	queues map[string]*queueReport
}

// queueReport is what was reported of a queue, and to which metrics.
type queueReport struct {
	depth      GaugeMetric
	adds       CounterMetric
	retries    CounterMetric
	latency    HistogramMetric
	worked     HistogramMetric
	unfinished SettableGaugeMetric
	longest    SettableGaugeMetric

	added, retried, queued float64
	waits, works           histogram
}

// histogram is the state of a histogram. counts[i] is the number of values up to bounds[i], whose
// last one is infinite.
type histogram struct {
	bounds, counts []float64
	sum            float64
}

// add adds a sample. REQUIRES: its name is that of the histogram with a suffix.
func (h *histogram) add(s sample) {
	switch {
	case strings.HasSuffix(s.name, "_bucket"):
		bound, _ := strconv.ParseFloat(s.le, 64)
		h.bounds, h.counts = append(h.bounds, bound), append(h.counts, s.value)
	case strings.HasSuffix(s.name, "_sum"):
		h.sum = s.value
	}
}

// observe reports the values that `now` has more than h, which becomes what was reported. The text
// of the metrics has their number in each bucket, and their sum: so each is reported as a value of
// its bucket, all at the same part of the way between the bounds of theirs, such that the sum is
// right, too.
func (h *histogram) observe(now histogram, to HistogramMetric) {
	numbers := make([]float64, len(now.counts))
	below, width := 0.0, 0.0 // The sums of the lower bounds of all values, and of their buckets.
	for i := range numbers {
		numbers[i] = now.counts[i]
		if i < len(h.counts) {
			numbers[i] -= h.counts[i]
		}
	}
	for i := len(numbers) - 1; i > 0; i-- {
		numbers[i] -= numbers[i-1]
	}
	for i, n := range numbers {
		lower, upper := now.bucket(i)
		below += n * lower
		width += n * (upper - lower)
	}
	if width == 0 {
		return // There are none.
	}
	part := math.Min(math.Max((now.sum-h.sum-below)/width, 0), 1)
	for i, n := range numbers {
		lower, upper := now.bucket(i)
		value := lower + part*(upper-lower)
		for ; n > 0; n-- {
			to.Observe(value)
			h.sum += value
		}
	}
	h.bounds, h.counts = now.bounds, now.counts
}

// bucket returns the bounds of a bucket. Above the last finite bound values are taken to be at most
// ten times of it.
func (h *histogram) bucket(i int) (lower, upper float64) {
	if i > 0 {
		lower = h.bounds[i-1]
	}
	if upper = h.bounds[i]; math.IsInf(upper, 1) {
		upper = 10 * lower
	}
	return lower, upper
}

// newReporter returns nil without a provider.
func newReporter(provider MetricsProvider) *reporter {
	if provider == nil {
		return nil
	}
	return &reporter{provider: provider, queues: map[string]*queueReport{}}
}

// begin makes the metrics of a queue that has been opened.
func (r *reporter) begin(name string) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.queues[name] != nil {
		return // It was open before; its counters go on.
	}
	r.queues[name] = &queueReport{
		depth:      r.provider.NewDepthMetric(name),
		adds:       r.provider.NewAddsMetric(name),
		latency:    r.provider.NewLatencyMetric(name),
		worked:     r.provider.NewWorkDurationMetric(name),
		unfinished: r.provider.NewUnfinishedWorkSecondsMetric(name),
		longest:    r.provider.NewLongestRunningProcessorSecondsMetric(name),
		retries:    r.provider.NewRetriesMetric(name),
	}
}

// report passes on the present values. The gauges of a queue that is not open are 0. REQUIRES: mu.
func (r *reporter) report(all []sample) {
	type values struct {
		queued, unfinished, longest float64
		waits, works                histogram
	}
	now := map[*queueReport]*values{}
	for _, q := range r.queues {
		now[q] = &values{}
	}
	for _, s := range all {
		q := r.queues[s.queue]
		if q == nil { // A metric of the store.
			continue
		}
		switch v := now[q]; s.name {
		case "workqueue_adds_total":
			add(s.value-q.added, q.adds, q.adds.Inc, nil)
			q.added = s.value
		case "workqueue_retries_total":
			add(s.value-q.retried, q.retries, q.retries.Inc, nil)
			q.retried = s.value
		case "workqueue_depth":
			v.queued += s.value // One series for each lane.
		case "workqueue_unfinished_work_seconds":
			v.unfinished = s.value
		case "workqueue_longest_running_processor_seconds":
			v.longest = s.value
		default:
			if strings.HasPrefix(s.name, "workqueue_queue_duration_seconds") {
				v.waits.add(s)
			} else if strings.HasPrefix(s.name, "workqueue_work_duration_seconds") {
				v.works.add(s)
			}
		}
	}
	for q, v := range now {
		add(v.queued-q.queued, q.depth, q.depth.Inc, q.depth.Dec)
		q.queued = v.queued
		q.unfinished.Set(v.unfinished)
		q.longest.Set(v.longest)
		q.waits.observe(v.waits, q.latency)
		q.works.observe(v.works, q.worked)
	}
}

// add adds a whole number to a metric.
func add(by float64, metric any, inc, dec func()) {
	if by == 0 {
		return
	}
	if m, ok := metric.(interface{ Add(float64) }); ok {
		m.Add(by)
		return
	}
	for ; by > 0; by-- {
		inc()
	}
	for ; by < 0; by++ {
		dec()
	}
}

// reportMetrics reports until the store is closed.
func (s *Store) reportMetrics() {
	ticker := time.NewTicker(reportPeriod)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			s.report()
		case <-s.ended:
			return
		}
	}
}

// report reports once; for the last time when the store has been closed.
func (s *Store) report() {
	if s.reporter == nil {
		return
	}
	s.reporter.mu.Lock() // Before reading, so that reports are in order.
	defer s.reporter.mu.Unlock()
	if text, err := s.metricsText(); err == nil {
		s.reporter.report(parseSamples(text))
	}
}
