//go:build !cgo || !wq_etcd || wq_static

package etcd

import (
	"strings"
	"testing"
)

func TestWithoutTheTagTheErrorNamesIt(t *testing.T) {
	log, code, message := Open(Options{Endpoints: []string{"127.0.0.1:2379"}, Prefix: "/wq"})
	if log != nil || code != codeNotSupported || !strings.Contains(message, "build tag wq_etcd") {
		t.Fatal(log, code, message)
	}
}
