package controllerruntime

// This file has the health and the metrics of a store, in controller-runtime's registries.

import (
	"bytes"
	"io"
	"net/http"
	"sync"

	"example.org/wq"
	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
)

// Healthz returns a check for Manager.AddReadyzCheck. It is none for AddHealthzCheck: a failed
// store goes on in memory and recovers when the disk works again; a kill would lose what only the
// memory has.
func Healthz(store *wq.Store) healthz.Checker {
	return func(*http.Request) error { return store.Health() }
}

// RegisterMetrics adds the store's series to controller-runtime's metrics.Registry, beside those of
// the queues that are controller-runtime's own; docs/metrics.md has them. They end when the store
// is closed. Again for the same store: no effect. Two stores with a queue of the same name have
// series in common, so only one of them may be registered. InvalidArgument: the store was opened
// without StoreOptions.Metrics.
func RegisterMetrics(store *wq.Store) error {
	if err := store.WriteMetrics(io.Discard); err != nil {
		return err
	}
	if _, again := registered.LoadOrStore(store, true); again {
		return nil
	}
	return metrics.Registry.Register(collector{store})
}

var registered sync.Map // The stores whose series are registered.

// collector has the series of a store.
type collector struct{ store *wq.Store }

// Describe describes nothing: which series there are depends on the store's queues.
func (collector) Describe(chan<- *prometheus.Desc) {}

// controllerHelp has the help texts of controller-runtime where wq's differ: in a registry all
// series of a name have the same.
var controllerHelp = map[string]string{
	"workqueue_retries_total": "Total number of items added to the workqueue with a non-zero delay " +
		"(rate-limited requeues, explicit RequeueAfter or AddAfter calls)",
}

func (c collector) Collect(to chan<- prometheus.Metric) {
	var text bytes.Buffer
	if err := c.store.WriteMetrics(&text); err != nil {
		return // The store is closed.
	}
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(&text)
	if err != nil {
		to <- prometheus.NewInvalidMetric(prometheus.NewInvalidDesc(err), err)
		return
	}
	for name, family := range families {
		help, ok := controllerHelp[name]
		if !ok {
			help = family.GetHelp()
		}
		for _, metric := range family.GetMetric() {
			to <- sample{prometheus.NewDesc(name, help, nil, nil), metric}
		}
	}
}

// sample is a prometheus.Metric that was read from text.
type sample struct {
	desc   *prometheus.Desc
	metric *dto.Metric
}

func (s sample) Desc() *prometheus.Desc { return s.desc }

func (s sample) Write(to *dto.Metric) error {
	to.Label, to.Gauge, to.Counter = s.metric.Label, s.metric.Gauge, s.metric.Counter
	to.Histogram = s.metric.Histogram
	return nil
}
