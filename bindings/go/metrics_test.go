//go:build cgo

package wq

import (
	"strings"
	"testing"
)

func TestMetricsOfAnUnmeasuredAndOfAClosedStore(t *testing.T) {
	wantCode(t, memoryStore(t).WriteMetrics(&strings.Builder{}), InvalidArgument)
	store, err := OpenInMemory(StoreOptions{Metrics: true})
	must(t, err)
	must(t, store.Close())
	wantCode(t, store.WriteMetrics(&strings.Builder{}), ShuttingDown)
	wantCode(t, second(Open(t.TempDir()+"/none", StoreOptions{Metrics: true})), NotFound)
}
