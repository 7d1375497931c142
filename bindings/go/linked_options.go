package wq

// This file converts options to C, and opens the logs of replicated stores.

// #include "border.h"
import "C"

import (
	"math"
	"time"
	"unsafe"

	"example.org/wq/internal/etcd"
	"example.org/wq/internal/remote"
)

func (o StoreOptions) toC() (C.wq_store_options, error) {
	var out C.wq_store_options
	err := toMilliseconds(
		milliseconds{"FlushInterval", o.FlushInterval, &out.flush_interval_ms},
		milliseconds{"RecoveryBackoffMin", o.RecoveryBackoffMin, &out.recovery_backoff_min_ms},
		milliseconds{"RecoveryBackoffMax", o.RecoveryBackoffMax, &out.recovery_backoff_max_ms})
	if err != nil {
		return out, err
	}
	out.size = C.sizeof_wq_store_options
	out.create_if_missing = toInt(o.CreateIfMissing)
	out.error_if_exists = toInt(o.ErrorIfExists)
	out.metrics = toInt(o.Metrics)
	out.max_wal_bytes = C.uint64_t(o.MaxWALBytes)
	out.write_buffer_bytes = C.uint64_t(o.WriteBufferBytes)
	out.max_batch_bytes = C.uint64_t(o.MaxBatchBytes)
	out.process_log_bytes = C.uint64_t(o.ProcessLogBytes)
	out.no_process_log = toInt(o.NoProcessLog)
	return out, nil
}

// milliseconds is an option that C has in milliseconds.
type milliseconds struct {
	name string
	from time.Duration
	to   *C.uint32_t
}

// toMilliseconds rounds up, as 0 is the default.
func toMilliseconds(options ...milliseconds) error {
	for _, o := range options {
		if o.from < 0 || o.from > math.MaxUint32*time.Millisecond {
			return newError(InvalidArgument, o.name+" is out of range")
		}
		*o.to = C.uint32_t((o.from + time.Millisecond - 1) / time.Millisecond)
	}
	return nil
}

// toC converts all but the log and OnLeadership.
func (r *Replication) toC(a *arena) (*C.wq_replication, error) {
	out := (*C.wq_replication)(a.zeroed(1, C.sizeof_wq_replication))
	if err := checkName(r.Name); err != nil {
		return nil, err
	}
	err := toMilliseconds(
		milliseconds{"Replication.Lease", r.Lease, &out.lease_ms},
		milliseconds{"Replication.LeaseMargin", r.LeaseMargin, &out.lease_margin_ms},
		milliseconds{"Replication.WriteTimeout", r.WriteTimeout, &out.write_timeout_ms})
	if err != nil {
		return nil, err
	}
	out.size = C.sizeof_wq_replication
	out.name = a.text(r.Name)
	out.max_log_bytes = C.uint64_t(r.MaxLogBytes)
	out.never_owner = toInt(r.NeverOwner)
	return out, nil
}

// openLog opens the log in etcd, which the caller frees; nil if the store is not replicated.
func (r *Replication) openLog() (*C.wq_replicated_log, error) {
	if r == nil {
		return nil, nil
	}
	var timeout C.uint32_t
	err := toMilliseconds(
		milliseconds{"Replication.RequestTimeout", r.RequestTimeout, &timeout})
	if err != nil {
		return nil, err
	}
	log, code, message := etcd.Open(etcd.Options{
		Endpoints: r.Endpoints, Prefix: r.Prefix, CAFile: r.CAFile, CertFile: r.CertFile,
		KeyFile: r.KeyFile, User: r.User, Password: r.Password,
		RequestTimeoutMs: uint32(timeout), NoCompaction: r.NoCompaction})
	if code != 0 {
		return nil, newError(Code(code), message)
	}
	return (*C.wq_replicated_log)(log), nil
}

func queueOptionsToC(o QueueOptions[string], a *arena) (*C.wq_queue_options, error) {
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
	out.merge_delays = toInt(o.MergeDelays)
	out.max_key_bytes = C.size_t(o.MaxKeyBytes)
	if o.MaxPending < 0 {
		return nil, newError(InvalidArgument, "MaxPending is out of range")
	}
	out.debounce_quiet_us = C.int64_t(remote.Microseconds(o.Debounce.Quiet))
	out.debounce_max_wait_us = C.int64_t(remote.Microseconds(o.Debounce.MaxWait))
	out.max_pending = C.uint64_t(o.MaxPending)
	out.when_full = C.int32_t(o.WhenFull)
	out.stuck_after_us = C.int64_t(remote.Microseconds(o.StuckAfter))
	out.resync_period_us = C.int64_t(remote.Microseconds(o.Resync.Period))
	out.resync_jitter = C.double(o.Resync.Jitter)
	var err error
	if out.group_limits, err = o.GroupLimits.toC("GroupLimits", a); err != nil {
		return nil, err
	}
	if out.limits, err = o.Limits.toC("Limits", a); err != nil {
		return nil, err
	}
	out.limiter = o.Backoff.toC(a)
	return out, nil
}

// toC converts limits; `name` is for the message.
func (l GroupLimits) toC(name string, a *arena) (*C.wq_group_limits, error) {
	if l.MaxProcessing < 0 || uint64(l.MaxProcessing) > math.MaxUint32 ||
		l.Burst < 0 || uint64(l.Burst) > math.MaxUint32 {
		return nil, newError(InvalidArgument, name+" is out of range")
	}
	out := (*C.wq_group_limits)(a.zeroed(1, C.sizeof_wq_group_limits))
	*out = C.wq_group_limits{
		size: C.sizeof_wq_group_limits, per_second: C.double(l.PerSecond),
		burst: C.uint32_t(l.Burst), max_processing: C.uint32_t(l.MaxProcessing)}
	return out, nil
}

// addOptionsToC converts all but the texts, which wqgo_with_texts sets.
func addOptionsToC(o AddOptions) C.wq_add_options {
	out := C.wq_add_options{size: C.sizeof_wq_add_options}
	if o.Lane != nil {
		out.has_lane = 1
		out.lane = C.int32_t(*o.Lane)
	}
	out.durability = C.int32_t(o.Durability)
	out.delay_mode = C.int32_t(o.DelayMode)
	if o.Debounce != nil {
		out.has_debounce = 1
		out.debounce_quiet_us = C.int64_t(remote.Microseconds(o.Debounce.Quiet))
		out.debounce_max_wait_us = C.int64_t(remote.Microseconds(o.Debounce.MaxWait))
	}
	if o.WaitForRoom != 0 {
		out.has_wait_for_room = 1
		out.wait_for_room_us = C.int64_t(remote.Microseconds(o.WaitForRoom))
	}
	out.if_absent = toInt(o.IfAbsent)
	return out
}

// toC copies the tree of limiters to C's memory, because C must not follow pointers in Go's.
func (b *Backoff) toC(a *arena) *C.wq_limiter {
	if b == nil {
		return nil
	}
	out := (*C.wq_limiter)(a.zeroed(1, C.sizeof_wq_limiter))
	*out = C.wq_limiter{
		size: C.sizeof_wq_limiter, kind: C.int32_t(b.kind),
		base_us: C.int64_t(remote.Microseconds(b.base)), max_us: C.int64_t(remote.Microseconds(b.max)),
		max_fast_attempts: C.uint64_t(b.maxFastAttempts), rate: C.double(b.rate),
		burst: C.int64_t(b.burst)}
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

func toInt(b bool) C.int32_t {
	if b {
		return 1
	}
	return 0
}

// The package's own numbers, which a build without cgo needs, are those of the C headers: otherwise
// this does not compile. Of the codes that every language has, tests/house checks it.
var (
	_ = [1]struct{}{}[C.WQ_ORDER_FIFO-int(FIFO)]
	_ = [1]struct{}{}[C.WQ_ORDER_TWO_LANES-int(TwoLanes)]
	_ = [1]struct{}{}[C.WQ_ORDER_LANES-int(Lanes)]
	_ = [1]struct{}{}[C.WQ_ORDER_PRIORITIES-int(Priorities)]
	_ = [1]struct{}{}[C.WQ_ORDER_FAIR-int(Fair)]
	_ = [1]struct{}{}[C.WQ_FAST_LANE-int(FastLane)]
	_ = [1]struct{}{}[C.WQ_SLOW_LANE-int(SlowLane)]
	_ = [1]struct{}{}[C.WQ_DEFAULT_DURABILITY-int(DefaultDurability)]
	_ = [1]struct{}{}[C.WQ_ASYNC-int(Async)]
	_ = [1]struct{}{}[C.WQ_PROCESS-int(Process)]
	_ = [1]struct{}{}[C.WQ_POWER-int(Power)]
	_ = [1]struct{}{}[C.WQ_REPLICATED-int(Replicated)]
	_ = [1]struct{}{}[C.WQ_DELAY_EARLIEST-int(Earliest)]
	_ = [1]struct{}{}[C.WQ_DELAY_REPLACE-int(Replace)]
	_ = [1]struct{}{}[C.WQ_DELAY_RESYNC-int(ResyncLater)]
	_ = [1]struct{}{}[C.WQ_WHEN_FULL_WAIT-int(WaitForRoom)]
	_ = [1]struct{}{}[C.WQ_WHEN_FULL_REFUSE-int(RefuseAdds)]
	_ = [1]struct{}{}[C.WQ_ADDED-int(Added)]
	_ = [1]struct{}{}[C.WQ_DEDUPLICATED-int(Deduplicated)]
	_ = [1]struct{}{}[C.WQ_HELD-int(Held)]
	_ = [1]struct{}{}[C.WQ_FORKED-int(Forked)]
	_ = [1]struct{}{}[C.WQ_NO_MEMORY-int(NoMemory)]
	_ = [1]struct{}{}[C.WQ_INTERNAL-int(Internal)]
	_ = [1]struct{}{}[C.WQ_LIMITER_ITEM_EXPONENTIAL-int(exponential)]
	_ = [1]struct{}{}[C.WQ_LIMITER_ITEM_FAST_SLOW-int(fastSlow)]
	_ = [1]struct{}{}[C.WQ_LIMITER_BUCKET-int(bucket)]
	_ = [1]struct{}{}[C.WQ_LIMITER_MAX_OF-int(maxOf)]
	_ = [1]struct{}{}[C.WQ_LIMITER_MAX_WAIT-int(maxWait)]
	_ = [1]struct{}{}[C.WQ_LIMITER_CONTROLLER-int(controllerBackoff)]
	_ = [1]struct{}{}[C.WQGO_AT_ONCE-int(addAtOnce)]
	_ = [1]struct{}{}[C.WQGO_AFTER-int(addAfter)]
	_ = [1]struct{}{}[C.WQGO_RATE_LIMITED-int(addRateLimited)]
)
