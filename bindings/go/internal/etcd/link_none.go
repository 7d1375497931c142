//go:build !cgo || !wq_etcd || wq_static

package etcd

import "unsafe"

// codeNotSupported is WQ_NOT_SUPPORTED of wq/c/base.h.
const codeNotSupported = 11

// Open fails: the program does not link etcd's client.
func Open(Options) (log unsafe.Pointer, code int32, message string) {
	return nil, codeNotSupported,
		"built without etcd: StoreOptions.Replication needs the build tag wq_etcd, without wq_static"
}
