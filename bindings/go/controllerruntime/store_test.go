package controllerruntime

import (
	"errors"
	"testing"
	"time"

	"example.org/wq"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// adds returns how many items were added, by queue.
func adds(t *testing.T) map[string]float64 {
	t.Helper()
	families, err := metrics.Registry.Gather()
	must(t, err)
	got := map[string]float64{}
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			for _, label := range metric.GetLabel() {
				if family.GetName() == "workqueue_adds_total" && label.GetName() == "name" {
					got[label.GetValue()] += metric.GetCounter().GetValue()
				}
			}
		}
	}
	return got
}

func TestHealthAndMetricsAreInTheRegistries(t *testing.T) {
	own := priorityqueue.New[reconcile.Request]("own") // controller-runtime's.
	defer own.ShutDown()
	store := openStore(t, t.TempDir()+"/store")
	queue := NewPriorityQueue(store, "durable", wq.QueueOptions[reconcile.Request]{})
	must(t, RegisterMetrics(store))
	must(t, RegisterMetrics(store))
	var request reconcile.Request
	request.Name = "a"
	queue.AddAfter(request, time.Hour) // Both have the series of retries.
	own.AddAfter(request, time.Hour)
	request.Name = "b"
	queue.Add(request)
	own.Add(request)
	eventually(t, "the series of both", func() bool {
		got := adds(t)
		return got["durable"] == 1 && got["own"] > 0
	})
	check := Healthz(store)
	must(t, check(nil))
	must(t, store.Close())
	if err := check(nil); !errors.Is(err, wq.ShuttingDown) {
		t.Fatal(err)
	}
	if got := adds(t); got["durable"] != 0 {
		t.Fatal(got)
	}

	unmeasured, err := wq.OpenInMemory(wq.StoreOptions{})
	must(t, err)
	defer unmeasured.Close()
	if err := RegisterMetrics(unmeasured); !errors.Is(err, wq.InvalidArgument) {
		t.Fatal(err)
	}
}
