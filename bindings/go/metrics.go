package wq

// This file reads a store's metrics, and reports them to metrics providers.

// #include "metrics.h"
import "C"

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"runtime"
	"sort"
	"strconv"
	"strings"
	"sync"
	"time"
)

// MetricKind is the kind of a series.
type MetricKind int32

const (
	Counter   MetricKind = C.WQ_COUNTER
	Gauge     MetricKind = C.WQ_GAUGE
	Histogram MetricKind = C.WQ_HISTOGRAM
)

// String returns Prometheus's name of the kind.
func (k MetricKind) String() string {
	switch k {
	case Counter:
		return "counter"
	case Histogram:
		return "histogram"
	}
	return "gauge"
}

// Label is one label of a series. No label is ever a key of a queue.
type Label struct{ Name, Value string }

// Metric is the present value of one series. Its name is client-go's or controller-runtime's: see
// docs/metrics.md.
type Metric struct {
	Name   string
	Help   string
	Kind   MetricKind
	Labels []Label
	Value  float64 // Of a counter, since the store was opened, or of a gauge.

	// Of a histogram. Counts[i] counts the values up to Bounds[i] that are above the bound before;
	// the last count is of the values above all bounds.
	Bounds []float64
	Counts []uint64
	Sum    float64

	recent []float64 // Of a histogram, for a MetricsProvider: the values since the last report.
}

// collector adds up a store's metrics in C's memory.
type collector struct {
	mu sync.RWMutex
	c  *C.wqgo_metrics // Nil: no metrics, or the store is closed. Under mu.
}

// free frees the metrics. REQUIRES: C makes no further call.
func (m *collector) free() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.c != nil {
		C.wqgo_metrics_free(m.c)
		m.c = nil
	}
}

// Metrics returns all series of the store and its queues. Gauges are read now; the other series
// were added up in C, so that measuring makes no call into Go. InvalidArgument: the store was
// opened without StoreOptions.Metrics.
func (s *Store) Metrics() ([]Metric, error) {
	defer runtime.KeepAlive(s)
	return s.readMetrics(false)
}

// readMetrics returns all series. With take, histograms have their recent values, and a store that
// has just been closed has no gauges.
func (s *openStore) readMetrics(take bool) ([]Metric, error) {
	if !s.measured {
		return nil, newError(InvalidArgument, "the store was opened without Metrics")
	}
	s.metrics.mu.RLock()
	defer s.metrics.mu.RUnlock()
	if s.metrics.c == nil {
		return nil, closedError()
	}
	parts, err := readKeys(func(list *C.wq_bytes, e *C.wq_error) C.wq_code {
		return C.wqgo_read_metrics(s.handle, s.metrics.c, toInt(take), list, e)
	})
	var all []Metric
	for len(parts) > 0 {
		var m Metric
		m, parts = parseMetric(parts)
		all = append(all, m)
	}
	return all, err
}

// parseMetric reads a series that metrics.h wrote, and returns the remaining parts.
func parseMetric(parts []string) (Metric, []string) {
	m := Metric{Name: parts[0], Help: parts[1], Kind: MetricKind(number(parts[2]))}
	labels := int(number(parts[3]))
	for parts = parts[4:]; len(m.Labels) < labels; parts = parts[2:] {
		m.Labels = append(m.Labels, Label{parts[0], parts[1]})
	}
	if m.Kind != Histogram {
		m.Value = float(parts[0])
		return m, parts[1:]
	}
	m.Sum = float(parts[0])
	for parts = parts[1:]; ; parts = parts[2:] {
		m.Counts = append(m.Counts, uint64(number(parts[0])))
		if parts[1] == "" {
			for values := parts[2]; len(values) >= 8; values = values[8:] {
				m.recent = append(m.recent, float(values))
			}
			return m, parts[3:]
		}
		m.Bounds = append(m.Bounds, float(parts[1]))
	}
}

func float(bytes string) float64 { return math.Float64frombits(uint64(number(bytes))) }

// WriteMetrics writes all series in the text format that a Prometheus server reads (version 0.0.4):
//
//	http.HandleFunc("/metrics", func(w http.ResponseWriter, r *http.Request) {
//		store.WriteMetrics(w)
//	})
func (s *Store) WriteMetrics(to io.Writer) error {
	all, err := s.Metrics()
	if err != nil {
		return err
	}
	sort.SliceStable(all, func(i, j int) bool { return all[i].Name < all[j].Name })
	w := bufio.NewWriter(to)
	for i, m := range all {
		if i == 0 || all[i-1].Name != m.Name {
			fmt.Fprintf(w, "# HELP %s %s\n# TYPE %s %s\n",
				m.Name, helpEscapes.Replace(m.Help), m.Name, m.Kind)
		}
		m.write(w)
	}
	return w.Flush()
}

func (m Metric) write(w io.Writer) {
	if m.Kind != Histogram {
		fmt.Fprintf(w, "%s%s %s\n", m.Name, labelText(m.Labels), numberText(m.Value))
		return
	}
	var count uint64
	for i, n := range m.Counts {
		count += n
		bound := "+Inf"
		if i < len(m.Bounds) {
			bound = numberText(m.Bounds[i])
		}
		below := append(append([]Label(nil), m.Labels...), Label{"le", bound})
		fmt.Fprintf(w, "%s_bucket%s %d\n", m.Name, labelText(below), count)
	}
	fmt.Fprintf(w, "%s_sum%s %s\n", m.Name, labelText(m.Labels), numberText(m.Sum))
	fmt.Fprintf(w, "%s_count%s %d\n", m.Name, labelText(m.Labels), count)
}

var (
	helpEscapes  = strings.NewReplacer("\\", `\\`, "\n", `\n`)
	valueEscapes = strings.NewReplacer("\\", `\\`, "\n", `\n`, `"`, `\"`)
)

func labelText(labels []Label) string {
	if len(labels) == 0 {
		return ""
	}
	parts := make([]string, 0, len(labels))
	for _, l := range labels {
		parts = append(parts, l.Name+`="`+valueEscapes.Replace(l.Value)+`"`)
	}
	return "{" + strings.Join(parts, ",") + "}"
}

func numberText(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

// reportPeriod is the time between two reports. client-go updates its gauges as often.
const reportPeriod = 500 * time.Millisecond

// reporter reports the metrics that were added up in C: calls of queues do not wait for a provider.
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
func (r *reporter) report(all []Metric) {
	type gauges struct{ queued, unfinished, longest float64 }
	now := map[*queueReport]gauges{}
	for _, q := range r.queues {
		now[q] = gauges{}
	}
	for _, m := range all {
		q := r.queues[queueLabel(m)]
		if q == nil { // A metric of the store.
			continue
		}
		g := now[q]
		switch m.Name {
		case "workqueue_adds_total":
			add(m.Value-q.added, q.adds, q.adds.Inc, nil)
			q.added = m.Value
		case "workqueue_retries_total":
			add(m.Value-q.retried, q.retries, q.retries.Inc, nil)
			q.retried = m.Value
		case "workqueue_queue_duration_seconds":
			observe(q.latency, m.recent)
		case "workqueue_work_duration_seconds":
			observe(q.worked, m.recent)
		case "workqueue_depth":
			g.queued += m.Value // One series for each lane.
		case "workqueue_unfinished_work_seconds":
			g.unfinished = m.Value
		case "workqueue_longest_running_processor_seconds":
			g.longest = m.Value
		}
		now[q] = g
	}
	for q, g := range now {
		add(g.queued-q.queued, q.depth, q.depth.Inc, q.depth.Dec)
		q.queued = g.queued
		q.unfinished.Set(g.unfinished)
		q.longest.Set(g.longest)
	}
}

// queueLabel returns the value of the label `name`; "" if the series has none.
func queueLabel(m Metric) string {
	for _, l := range m.Labels {
		if l.Name == "name" {
			return l.Value
		}
	}
	return ""
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

func observe(metric HistogramMetric, values []float64) {
	for _, v := range values {
		metric.Observe(v)
	}
}

// reportMetrics reports until the store is closed. It does not refer to the Store, so that it does
// not keep it reachable.
func (s *openStore) reportMetrics() {
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
func (s *openStore) report() {
	if s.reporter == nil {
		return
	}
	s.reporter.mu.Lock() // Before reading, so that reports are in order.
	defer s.reporter.mu.Unlock()
	if all, err := s.readMetrics(true); err == nil {
		s.reporter.report(all)
	}
}
