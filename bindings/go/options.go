package wq

// This file has the options of stores, queues and Adds.

// #include "border.h"
import "C"

import (
	"math"
	"time"
	"unsafe"
)

// Durability is how durable a call's effect is when the call returns.
type Durability int32

const (
	// DefaultDurability of a call is the queue's; of a queue it is Process; of a flush it is Power.
	DefaultDurability Durability = C.WQ_DEFAULT_DURABILITY
	Async             Durability = C.WQ_ASYNC   // In memory; written within FlushInterval.
	Process           Durability = C.WQ_PROCESS // Survives kill -9.
	Power             Durability = C.WQ_POWER   // Survives a power cut.
)

// Order is the order in which a queue hands out its keys.
type Order int32

const (
	FIFO       Order = C.WQ_ORDER_FIFO
	TwoLanes   Order = C.WQ_ORDER_TWO_LANES  // FastLane before SlowLane.
	Lanes      Order = C.WQ_ORDER_LANES      // FastLane and QueueOptions.Lanes, the highest first.
	Priorities Order = C.WQ_ORDER_PRIORITIES // Every int32 is a lane.
	Fair       Order = C.WQ_ORDER_FAIR       // Round robin over the groups.
)

// Lane is a key's lane, or priority: keys of higher lanes are handed out first.
type Lane int32

const (
	FastLane Lane = C.WQ_FAST_LANE
	SlowLane Lane = C.WQ_SLOW_LANE
)

// StoreOptions are the options of Open; the zero value opens an existing store.
type StoreOptions struct {
	CreateIfMissing  bool          // Creates the store if the directory has none.
	ErrorIfExists    bool          // Refuses an existing store.
	FlushInterval    time.Duration // Bounds the delay of a write that no call waits for; 0: 10 ms.
	MaxWALBytes      uint64        // Bounds the write-ahead log, and so a recovery; 0: 64 MiB.
	WriteBufferBytes uint64        // Flushes unflushed records at this size; 0: 24 MiB.
	MaxBatchBytes    uint64        // Makes Adds wait for a slow disk at this size; 0: 8 MiB.
	// ProcessLogBytes is the size of the process log, a mapped file by which calls at Process need
	// not wait for a write (Store.ProcessLogStatus); 0: 8 MiB, at most 1 GiB.
	ProcessLogBytes    uint64
	NoProcessLog       bool          // No process log, whatever ProcessLogBytes is.
	RecoveryBackoffMin time.Duration // The wait before the first attempt to recover; 0: 100 ms.
	RecoveryBackoffMax time.Duration // The longest wait between attempts; 0: 30 s.
	// OnHealth is called when the store fails, with NotDurable and the failure, and when it has
	// recovered, with nil. The next attempt waits until it returns. It must call neither Close nor
	// Recover.
	OnHealth func(err error)
	Metrics  bool // Measures the metrics of Store.Metrics and Store.WriteMetrics.
	// MetricsProvider receives the metrics of every queue, under the queue's name, within about
	// half a second. It implies Metrics. A provider of client-go: ProviderOf.
	MetricsProvider MetricsProvider
	Logger          Logger // Logs failures that no call returns. Nil: they are not logged.
	// Clock is for tests: a ManualClock, or a fake clock of another library. Nil: the machine's
	// clocks.
	Clock Clock
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
		ms := (d.from + time.Millisecond - 1) / time.Millisecond // Rounded up, as 0 is the default.
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
	out.process_log_bytes = C.uint64_t(o.ProcessLogBytes)
	out.no_process_log = toInt(o.NoProcessLog)
	return out, nil
}

// RateLimiter is the shape of client-go's workqueue.TypedRateLimiter.
type RateLimiter[T comparable] interface {
	When(item T) time.Duration // Returns the delay of an item for one more failure.
	Forget(item T)
	NumRequeues(item T) int
}

// QueueOptions are the options of OpenQueue; the zero value is client-go's queue, durable.
type QueueOptions[T comparable] struct {
	// Codec converts between items and keys. Nil: DefaultCodec.
	Codec Codec[T]
	// Limiter decides the delay of AddRateLimited; Forget calls its Forget. Its own counts are lost
	// with the process. Nil: Backoff, whose count is the queue's and survives restarts.
	Limiter RateLimiter[T]
	// Backoff decides the delay if Limiter is nil. Nil: Exponential(5 ms, 1000 s), as in client-go.
	Backoff *Backoff
	// GroupOf returns an item's group, for Order Fair and for Shards: its tenant, its namespace,
	// the node that it runs on. At most 1024 bytes.
	GroupOf func(item T) string

	MustExist       bool // Fails with NotFound instead of creating a missing queue.
	Order           Order
	Lanes           []Lane // Of Order Lanes.
	ReAddRaisesLane bool   // Of the lanes of a key's Adds since its Get the highest counts.
	StarvationBound uint32 // Of this many hand-outs at least one is from a lower lane; 0: no bound.
	// MergeDelays makes the Adds of a key since its Get one, at the earliest of their times: an Add
	// of a delayed key cancels its delay, and AddAfter or AddRateLimited of a queued key is an Add.
	// Otherwise the item is handed out again when its delay ends, as in client-go.
	MergeDelays bool
	// Shards spreads items over this many shards by their group, or without a group by their key.
	// Items are handed out by Join only, one of each shard at a time. It may differ from the last
	// opening's; 0: none.
	Shards      int
	MaxRequeues uint64 // A key that failed more often is quarantined; 0: never.
	// AddReleasesQuarantined makes an Add of a quarantined key release it; otherwise Outcome is
	// Held.
	AddReleasesQuarantined bool
	AddCancelsDelay        bool       // An Add of a delayed key cancels its delay.
	Durability             Durability // Of calls that name none.
	MaxKeyBytes            int        // 0: 4096.
	// StopOnShutDown makes ShutDown and ShutDownWithDrain stop the queue as Stop does: Get reports
	// shutdown at once, and what is queued stays in the store, as in controller-runtime's priority
	// queue. Otherwise the workers first process what is queued, as in client-go.
	StopOnShutDown bool
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
	out.merge_delays = toInt(o.MergeDelays)
	out.max_key_bytes = C.size_t(o.MaxKeyBytes)
	out.limiter = o.Backoff.toC(a)
	return out, nil
}

// AddOptions are the options of AddWith and AddBatch; the zero value is Add.
type AddOptions struct {
	Lane       *Lane // Nil: the key's present lane, or FastLane.
	Durability Durability
	// The other fields are for AddWith only.
	After       time.Duration // More than 0: as AddAfter.
	RateLimited bool          // As AddRateLimited; the delay is at most After, unless that is 0.
	Failure     error         // The failure, for RateLimited: kept with the key, shown by wqctl.
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

// InLane returns a pointer for AddOptions.Lane: AddOptions{Lane: wq.InLane(wq.SlowLane)}.
func InLane(lane Lane) *Lane { return &lane }

func toInt(b bool) C.int32_t {
	if b {
		return 1
	}
	return 0
}

// microseconds rounds up, so that a delay is never shorter than asked for.
func microseconds(d time.Duration) C.int64_t {
	us := int64(d / time.Microsecond)
	if d%time.Microsecond > 0 {
		us++
	}
	return C.int64_t(us)
}
