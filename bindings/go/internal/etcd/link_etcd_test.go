//go:build cgo && wq_etcd && !wq_static

package etcd

import (
	"strings"
	"testing"
)

func TestWithTheTagEtcdsClientIsLinked(t *testing.T) {
	log, code, message := Open(Options{Prefix: "/wq"})
	if log != nil || code == 0 || !strings.Contains(message, "endpoint") {
		t.Fatal(log, code, message)
	}
}
