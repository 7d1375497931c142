package wq

// This file has the queue's own rate limiters.

// #include "border.h"
import "C"

import (
	"time"
	"unsafe"
)

// Backoff decides how long a failed key is delayed, by its failure count. The count is durable, so
// a restart does not shorten the delays.
type Backoff struct {
	limiter C.wq_limiter // Its pointers are unset.
	inner   []*Backoff
}

// Exponential delays by base, then by twice the delay before, at most by max.
func Exponential(base, max time.Duration) *Backoff {
	return &Backoff{limiter: C.wq_limiter{
		kind: C.WQ_LIMITER_ITEM_EXPONENTIAL, base_us: microseconds(base), max_us: microseconds(max)}}
}

// FastSlow delays by fast for the first fastAttempts failures, then by slow.
func FastSlow(fast, slow time.Duration, fastAttempts uint64) *Backoff {
	return &Backoff{limiter: C.wq_limiter{
		kind: C.WQ_LIMITER_ITEM_FAST_SLOW, base_us: microseconds(fast), max_us: microseconds(slow),
		max_fast_attempts: C.uint64_t(fastAttempts)}}
}

// Bucket admits burst failures of any keys without a delay, and then rate failures per second.
func Bucket(rate float64, burst int64) *Backoff {
	return &Backoff{limiter: C.wq_limiter{
		kind: C.WQ_LIMITER_BUCKET, rate: C.double(rate), burst: C.int64_t(burst)}}
}

// MaxOf delays by the longest delay of all.
func MaxOf(of ...*Backoff) *Backoff {
	return &Backoff{limiter: C.wq_limiter{kind: C.WQ_LIMITER_MAX_OF}, inner: of}
}

// MaxWait delays as b does, at most by max.
func MaxWait(b *Backoff, max time.Duration) *Backoff {
	return &Backoff{
		limiter: C.wq_limiter{kind: C.WQ_LIMITER_MAX_WAIT, max_us: microseconds(max)},
		inner:   []*Backoff{b}}
}

// ControllerBackoff delays as client-go's default limiter of controllers does: by the longer delay
// of Exponential(5 ms, 1000 s) and, for all keys together, Bucket(10, 100).
func ControllerBackoff() *Backoff {
	return &Backoff{limiter: C.wq_limiter{kind: C.WQ_LIMITER_CONTROLLER}}
}

// toC copies the tree of limiters to C's memory, because C must not follow pointers in Go's.
func (b *Backoff) toC(a *arena) *C.wq_limiter {
	if b == nil {
		return nil
	}
	out := (*C.wq_limiter)(a.zeroed(1, unsafe.Sizeof(b.limiter)))
	*out = b.limiter
	out.size = C.sizeof_wq_limiter
	if len(b.inner) > 0 {
		list := (**C.wq_limiter)(a.zeroed(len(b.inner), unsafe.Sizeof(out)))
		for i, to := 0, unsafe.Slice(list, len(b.inner)); i < len(to); i++ {
			to[i] = b.inner[i].toC(a)
		}
		out.limiters = list
		out.limiter_count = C.size_t(len(b.inner))
	}
	return out
}
