//go:build !cgo

package wq

// Without cgo this is the only source of the package, and its error is the only one.
var _ int = "wq calls a C library: build it with CGO_ENABLED=1 and a C compiler for the target"
