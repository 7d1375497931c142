//go:build !wq_static

package wq

// Two files rather than one with conditions in its #cgo lines: Go's build cache distinguishes
// packages by their files, so one file would stay linked as it was linked first.

// #cgo pkg-config: wq
import "C"
