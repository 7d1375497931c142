package wq

// #include "border.h"
import "C"

import (
	"math"
	"time"
	"unsafe"
)

// Backoff is how long the queue lets a failed key wait, by how often it failed since its last Forget.
// That count is durable: after a restart a key waits as long as it would have without.
type Backoff struct {
	limiter C.wq_limiter // Without pointers.
	inner   []*Backoff
}

// Exponential waits base, then twice as long each time, at most max.
func Exponential(base, max time.Duration) *Backoff {
	return &Backoff{limiter: C.wq_limiter{
		kind: C.WQ_LIMITER_ITEM_EXPONENTIAL, base_us: microseconds(base), max_us: microseconds(max)}}
}

// FastSlow waits fast for so many failures, slow from then on.
func FastSlow(fast, slow time.Duration, fastAttempts uint64) *Backoff {
	return &Backoff{limiter: C.wq_limiter{
		kind: C.WQ_LIMITER_ITEM_FAST_SLOW, base_us: microseconds(fast), max_us: microseconds(slow),
		max_fast_attempts: C.uint64_t(fastAttempts)}}
}

// Bucket lets so many keys through in a second, of all that fail, and burst at once.
func Bucket(rate float64, burst int64) *Backoff {
	return &Backoff{limiter: C.wq_limiter{
		kind: C.WQ_LIMITER_BUCKET, rate: C.double(rate), burst: C.int64_t(burst)}}
}

// MaxOf waits as long as the longest of them.
func MaxOf(of ...*Backoff) *Backoff {
	return &Backoff{limiter: C.wq_limiter{kind: C.WQ_LIMITER_MAX_OF}, inner: of}
}

// MaxWait waits as long as b says, at most max.
func MaxWait(b *Backoff, max time.Duration) *Backoff {
	return &Backoff{
		limiter: C.wq_limiter{kind: C.WQ_LIMITER_MAX_WAIT, max_us: microseconds(max)}, inner: []*Backoff{b}}
}

// arena is C memory for the time of one call.
type arena []unsafe.Pointer

func (a *arena) zeroed(count int, size uintptr) unsafe.Pointer {
	p := C.calloc(C.size_t(count), C.size_t(size))
	*a = append(*a, p)
	return p
}

func (a arena) free() {
	for _, p := range a {
		C.free(p)
	}
}

// toC builds the tree of limiters in C's memory, where alone C may follow pointers.
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

func (o QueueOptions[T]) toC(a *arena) (*C.wq_queue_options, error) {
	out := (*C.wq_queue_options)(a.zeroed(1, C.sizeof_wq_queue_options))
	if o.MaxKeyBytes < 0 {
		return nil, newError(InvalidArgument, "MaxKeyBytes is out of range")
	}
	out.size = C.sizeof_wq_queue_options
	out.must_exist = toInt(o.MustExist)
	out.order = C.int32_t(o.Order)
	if len(o.Lanes) > 0 {
		lanes := (*C.int32_t)(a.zeroed(len(o.Lanes), C.sizeof_int32_t))
		for i, to := 0, unsafe.Slice(lanes, len(o.Lanes)); i < len(to); i++ {
			to[i] = C.int32_t(o.Lanes[i])
		}
		out.lanes = lanes
		out.lane_count = C.size_t(len(o.Lanes))
	}
	out.re_add = toInt(o.ReAddRaisesLane)
	if o.Shards < 0 || o.Shards > math.MaxUint16 {
		return nil, newError(InvalidArgument, "Shards is out of range")
	}
	out.shards = C.uint32_t(o.Shards)
	out.starvation_bound = C.uint32_t(o.StarvationBound)
	out.quarantined_add = toInt(o.AddReleasesQuarantined)
	out.max_requeues = C.uint64_t(o.MaxRequeues)
	out.durability = C.int32_t(o.Durability)
	out.add_cancels_delay = toInt(o.AddCancelsDelay)
	out.max_key_bytes = C.size_t(o.MaxKeyBytes)
	out.limiter = o.Backoff.toC(a)
	return out, nil
}
