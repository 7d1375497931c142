//go:build !wq_static

package wq

// #cgo pkg-config: wq
import "C"
