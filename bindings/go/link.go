package wq

// This file links libwq: the shared library, or with the build tag wq_static the static one.

// #cgo !wq_static pkg-config: wq
// #cgo wq_static pkg-config: --static wq-static
import "C"
