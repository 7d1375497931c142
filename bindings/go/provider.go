//go:build cgo

package wq

// This file reports the metrics of queues to client-go's metrics providers.

import (
	"sync"
	"time"
)

// The metrics of a MetricsProvider, with the methods that client-go's have.
type (
	GaugeMetric interface {
		Inc()
		Dec()
	}
	SettableGaugeMetric interface{ Set(float64) }
	CounterMetric       interface{ Inc() }
	HistogramMetric     interface{ Observe(float64) }
)

// MetricsProvider makes the metrics of a queue, once for each name. Its methods and those of the
// metrics are called by one goroutine at a time, and must not call the store. A gauge or counter
// that also has Add(float64), as Prometheus's have, gets one call of it instead of many of Inc.
type MetricsProvider = MetricsProviderOf[
	GaugeMetric, CounterMetric, HistogramMetric, SettableGaugeMetric]

// MetricsProviderOf is MetricsProvider for other types of metrics. client-go's
// workqueue.MetricsProvider is one of workqueue's types.
type MetricsProviderOf[G GaugeMetric, C CounterMetric, H HistogramMetric, S SettableGaugeMetric,
] interface {
	NewDepthMetric(name string) G
	NewAddsMetric(name string) C
	NewLatencyMetric(name string) H
	NewWorkDurationMetric(name string) H
	NewUnfinishedWorkSecondsMetric(name string) S
	NewLongestRunningProcessorSecondsMetric(name string) S
	NewRetriesMetric(name string) C
}

// ProviderOf converts a provider with other types of metrics, such as client-go's:
//
//	wq.StoreOptions{MetricsProvider: wq.ProviderOf[workqueue.GaugeMetric, workqueue.CounterMetric,
//		workqueue.HistogramMetric, workqueue.SettableGaugeMetric](provider)}
//
// Go 1.21 and later infer the types.
func ProviderOf[G GaugeMetric, C CounterMetric, H HistogramMetric, S SettableGaugeMetric](
	provider MetricsProviderOf[G, C, H, S]) MetricsProvider {
	return convertedProvider[G, C, H, S]{provider}
}

type convertedProvider[
	G GaugeMetric, C CounterMetric, H HistogramMetric, S SettableGaugeMetric] struct {
	from MetricsProviderOf[G, C, H, S]
}

func (p convertedProvider[G, C, H, S]) NewDepthMetric(name string) GaugeMetric {
	return p.from.NewDepthMetric(name)
}
func (p convertedProvider[G, C, H, S]) NewAddsMetric(name string) CounterMetric {
	return p.from.NewAddsMetric(name)
}
func (p convertedProvider[G, C, H, S]) NewLatencyMetric(name string) HistogramMetric {
	return p.from.NewLatencyMetric(name)
}
func (p convertedProvider[G, C, H, S]) NewWorkDurationMetric(name string) HistogramMetric {
	return p.from.NewWorkDurationMetric(name)
}
func (p convertedProvider[G, C, H, S]) NewUnfinishedWorkSecondsMetric(
	name string) SettableGaugeMetric {
	return p.from.NewUnfinishedWorkSecondsMetric(name)
}
func (p convertedProvider[G, C, H, S]) NewLongestRunningProcessorSecondsMetric(
	name string) SettableGaugeMetric {
	return p.from.NewLongestRunningProcessorSecondsMetric(name)
}
func (p convertedProvider[G, C, H, S]) NewRetriesMetric(name string) CounterMetric {
	return p.from.NewRetriesMetric(name)
}

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
