package wq

// This file writes a store's metrics.

// #include <wq/wq.h>
import "C"

import "io"

// WriteMetrics writes all series of the store and its queues in the text format that a Prometheus
// server reads (version 0.0.4). Their names are client-go's or controller-runtime's: see
// docs/metrics.md. No label is ever a key of a queue. InvalidArgument: the store was opened without
// StoreOptions.Metrics.
//
//	http.HandleFunc("/metrics", func(w http.ResponseWriter, r *http.Request) {
//		store.WriteMetrics(w)
//	})
func (s *Store) WriteMetrics(to io.Writer) error {
	text, err := readBytes(func(text *C.wq_bytes, e *C.wq_error) C.wq_code {
		return C.wq_store_metrics(s.handle, text, e)
	})
	if err != nil {
		return err
	}
	_, err = io.WriteString(to, text)
	return err
}
