package wq

// #include "border.h"
import "C"

import (
	"math"
	"time"
)

// Durability is how far a call's effect has got when the call returns.
type Durability int32

const (
	// DefaultDurability of a call is the queue's; of a queue it is Process; of a flush it is Power.
	DefaultDurability Durability = C.WQ_DEFAULT_DURABILITY
	Async             Durability = C.WQ_ASYNC   // In memory, and on its way.
	Process           Durability = C.WQ_PROCESS // Survives kill -9.
	Power             Durability = C.WQ_POWER   // Survives a power cut.
)

// Order is which of the queued keys is handed out next.
type Order int32

const (
	FIFO       Order = C.WQ_ORDER_FIFO
	TwoLanes   Order = C.WQ_ORDER_TWO_LANES  // FastLane before SlowLane.
	Lanes      Order = C.WQ_ORDER_LANES      // FastLane and QueueOptions.Lanes, the highest first.
	Priorities Order = C.WQ_ORDER_PRIORITIES // Every int32 is a lane.
	Fair       Order = C.WQ_ORDER_FAIR       // Round robin over the groups.
)

// Lane is a key's lane, or priority: higher ones are handed out first.
type Lane int32

const (
	FastLane Lane = C.WQ_FAST_LANE
	SlowLane Lane = C.WQ_SLOW_LANE
)

// StoreOptions is what Open takes; the zero value opens a store that is there.
type StoreOptions struct {
	CreateIfMissing    bool          // Make a new store where there is none.
	ErrorIfExists      bool          // Refuse one that is there.
	FlushInterval      time.Duration // What nobody waits for is written this often; 0: 10 ms.
	MaxWALBytes        uint64        // 0: 64 MiB.
	WriteBufferBytes   uint64        // 0: 24 MiB.
	MaxBatchBytes      uint64        // 0: 8 MiB.
	RecoveryBackoffMin time.Duration // After a failed write: the first attempt to mend the store; 0: 100 ms.
	RecoveryBackoffMax time.Duration // 0: 30 s.
	// OnHealth is called when the store failed, with NotDurable and why, and when it is mended, with
	// nil. The next attempt to mend it waits until it returns. It must not close the store, or mend it.
	OnHealth func(err error)
	Metrics  bool         // Measure what Store.Metrics and Store.WriteMetrics tell.
	Clock    *ManualClock // For tests. Nil: the machine's clocks.
}

func (o StoreOptions) toC() (C.wq_store_options, error) {
	var out C.wq_store_options
	for _, d := range []struct {
		name string
		from time.Duration
		to   *C.uint32_t
	}{
		{"FlushInterval", o.FlushInterval, &out.flush_interval_ms},
		{"RecoveryBackoffMin", o.RecoveryBackoffMin, &out.recovery_backoff_min_ms},
		{"RecoveryBackoffMax", o.RecoveryBackoffMax, &out.recovery_backoff_max_ms},
	} {
		ms := (d.from + time.Millisecond - 1) / time.Millisecond // 0 is the default: never round to it.
		if d.from < 0 || ms > math.MaxUint32 {
			return out, newError(InvalidArgument, d.name+" is out of range")
		}
		*d.to = C.uint32_t(ms)
	}
	out.size = C.sizeof_wq_store_options
	out.create_if_missing = toInt(o.CreateIfMissing)
	out.error_if_exists = toInt(o.ErrorIfExists)
	out.max_wal_bytes = C.uint64_t(o.MaxWALBytes)
	out.write_buffer_bytes = C.uint64_t(o.WriteBufferBytes)
	out.max_batch_bytes = C.uint64_t(o.MaxBatchBytes)
	return out, nil
}

// RateLimiter is the shape of client-go's workqueue.TypedRateLimiter.
type RateLimiter[T comparable] interface {
	When(item T) time.Duration // How long an item that failed once more waits.
	Forget(item T)
	NumRequeues(item T) int
}

// QueueOptions is what OpenQueue takes; the zero value is client-go's queue, durable.
type QueueOptions[T comparable] struct {
	// Codec says which bytes stand for an item. Nil: DefaultCodec.
	Codec Codec[T]
	// Limiter is asked by AddRateLimited how long an item waits, and told by Forget. Its own counts live
	// as long as the process. Nil: Backoff, whose count is the queue's, and survives restarts.
	Limiter RateLimiter[T]
	// Backoff is asked where there is no Limiter. Nil: Exponential(5 ms, 1000 s) as client-go's.
	Backoff *Backoff
	// GroupOf is an item's group, for Order Fair and for Shards: its tenant, its namespace, the node that it
	// runs on. At most 1024 bytes.
	GroupOf func(item T) string

	MustExist       bool // NotFound where the store has no queue of this name, not a new one.
	Order           Order
	Lanes           []Lane // Of Order Lanes.
	ReAddRaisesLane bool   // An Add of a queued key moves it to a higher lane only, not to any.
	StarvationBound uint32 // After so many keys of higher lanes comes one of a lower; 0: never.
	// Items are spread over so many shards by their group, those without one by their key, and handed out
	// by Join alone: of each shard one at a time. It may be another number than last time; 0: none.
	Shards      int
	MaxRequeues uint64 // A key that failed more often is quarantined; 0: none is.
	// An Add of a quarantined key releases it; otherwise it stays there, and Outcome is Held.
	AddReleasesQuarantined bool
	AddCancelsDelay        bool
	Durability             Durability // Of calls that name none.
	MaxKeyBytes            int        // 0: 4096.
}

// AddOptions is how AddWith and AddBatch add; the zero value is Add.
type AddOptions struct {
	Lane       *Lane // Nil: the key's present lane, or FastLane.
	Durability Durability
	// The rest is for AddWith alone.
	After       time.Duration // More than 0: as AddAfter.
	RateLimited bool          // As AddRateLimited; After is not looked at.
	Failure     error         // Why, for RateLimited: kept with the key, shown by wqctl.
}

func (o AddOptions) toC() C.wqgo_add_options {
	var out C.wqgo_add_options
	if o.Lane != nil {
		out.has_lane = 1
		out.lane = C.int32_t(*o.Lane)
	}
	out.durability = C.int32_t(o.Durability)
	return out
}

// InLane is for AddOptions.Lane: AddOptions{Lane: wq.InLane(wq.SlowLane)}.
func InLane(lane Lane) *Lane { return &lane }

func toInt(b bool) C.int32_t {
	if b {
		return 1
	}
	return 0
}

// microseconds rounds up: a delay is never shorter than asked for.
func microseconds(d time.Duration) C.int64_t {
	us := int64(d / time.Microsecond)
	if d%time.Microsecond > 0 {
		us++
	}
	return C.int64_t(us)
}
