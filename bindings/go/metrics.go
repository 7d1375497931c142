package wq

// This file reads a store's metrics.

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
