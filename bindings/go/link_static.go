//go:build wq_static

package wq

// #cgo pkg-config: --static wq-static
// #cgo LDFLAGS: -static
import "C"
