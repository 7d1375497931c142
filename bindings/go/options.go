package wq

// This file has the options of stores, queues and Adds, and the queue's own rate limiters.

import (
	"reflect"
	"time"
)

// Durability is how durable a call's effect is when the call returns.
type Durability int32

const (
	// DefaultDurability of a call is the queue's; of a queue it is Process; of a flush it is Power.
	DefaultDurability Durability = 0
	Async             Durability = 1 // In memory; written within FlushInterval.
	Process           Durability = 2 // Survives kill -9.
	Power             Durability = 3 // Survives a power cut.
	// Replicated survives the loss of this machine. InvalidArgument: the store is not replicated.
	Replicated Durability = 4
)

// Order is the order in which a queue hands out its keys.
type Order int32

const (
	FIFO       Order = 0
	TwoLanes   Order = 1 // FastLane before SlowLane.
	Lanes      Order = 2 // FastLane and QueueOptions.Lanes, the highest first.
	Priorities Order = 3 // Every int32 is a lane.
	Fair       Order = 4 // As Lanes; in a lane the groups take turns.
)

// Lane is a key's lane, or priority: keys of higher lanes are handed out first.
type Lane int32

const (
	FastLane Lane = 0
	SlowLane Lane = -100
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
	Metrics  bool         // Measures what Store.WriteMetrics writes.
	Logger   Logger       // Logs failures that no call returns. Nil: they are not logged.
	Clock    *ManualClock // For tests. Nil: the machine's clocks.
	// Replication makes the store one of several replicas. Nil: it is on this machine only.
	Replication *Replication
}

// Replication is how a store is replicated: one process, the owner, has the store's queues; the
// others follow it by a log in etcd, and one of them becomes the owner when it ends. The build tag
// wq_etcd links etcd's client; without it Open returns NotSupported. docs/replication.md has what
// etcd needs.
type Replication struct {
	Endpoints []string // Of etcd, each "host:port"; at least one.
	Prefix    string   // Of the store's keys in etcd, for all replicas the same.
	// Name of this replica, unlike that of every other one, and the same after a restart: 1 to 64
	// of A-Za-z0-9._-.
	Name string
	// CAFile is of the certificates that etcd's are checked against; "": no TLS. CertFile and
	// KeyFile are this client's own, if etcd wants one. All are PEM.
	CAFile, CertFile, KeyFile string
	User, Password            string        // User "": etcd is used without authentication.
	RequestTimeout            time.Duration // Of each request to etcd; 0: 2 s.
	NoCompaction              bool          // Something else drops etcd's history.

	// Lease is how long an owner that cannot renew its ownership keeps it: whole seconds, at least
	// 2 s; 0: 5 s.
	Lease        time.Duration
	LeaseMargin  time.Duration // An owner stops this much before its lease can have ended; 0: 500 ms.
	WriteTimeout time.Duration // A write to the log is repeated for so long; 0: 10 s.
	MaxLogBytes  uint64        // Entries are kept for replicas that lag by less; 0: 64 MiB.
	NeverOwner   bool          // This replica only follows.
	// OnLeadership is called at each begin and end of this process's ownership. It must call
	// neither OpenQueue nor Close nor Resign: it wakes a goroutine that does.
	OnLeadership func(change Leadership)
}

// Leadership is a begin or an end of this process's ownership of a replicated store.
type Leadership struct {
	Owner bool   // Whether this process owns the store now.
	Epoch uint64 // Of the ownership that has begun or ended.
	Why   string // Why it has ended.
}

// ReplicaState is what a replica knows of itself, at one instant.
type ReplicaState struct {
	Owner     bool
	Epoch     uint64    // Of its ownership; 0: none.
	OwnerName string    // "": nobody is the owner, or it is not known.
	Applied   uint64    // The last entry of the log that its store has.
	AppliedAt time.Time // When it last had all of the log; zero: never.
	// Nil, or why the log cannot be reached or followed, or why the last ownership could not begin.
	Log error
}

// DelayMode says which end counts if AddAfter finds a delay of the item.
type DelayMode int32

const (
	Earliest DelayMode = 0 // The earlier one, as in client-go.
	Replace  DelayMode = 1 // That of this call.
	// This call's is a resync: it replaces a resync only, and any other delay replaces it.
	ResyncLater DelayMode = 2
)

// WhenFull is what an Add does in a full queue.
type WhenFull int32

const (
	WaitForRoom WhenFull = 0 // For as long as AddOptions.WaitForRoom says.
	RefuseAdds  WhenFull = 1 // It fails with Full.
)

// Resync reconciles each item again when Period has passed since its last Done. Period 0: no item.
// The period of an item differs by up to the part Jitter of it, 0 to 0.5.
type Resync struct {
	Period time.Duration
	Jitter float64
}

// Debounce gathers Adds of an item: it is handed out when no Add has come for Quiet, at the latest
// MaxWait after the first. Quiet 0: Adds are not gathered.
type Debounce struct{ Quiet, MaxWait time.Duration }

// GroupLimits bounds the hand-outs of the items of one group, or of a queue: see QueueOptions. The
// zero value bounds nothing.
type GroupLimits struct {
	MaxProcessing int // How many of them workers hold at a time; 0: no bound.
	// PerSecond and Burst are a token bucket: it holds Burst tokens, gets PerSecond of them, and a
	// hand-out takes one.
	PerSecond float64 // 1e-6 to 1e6; 0: no bound.
	Burst     int     // 1 to 1 000 000; 0: 1.
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
	// Limiter decides the delay of AddRateLimited; Forget, Delete and a quarantine call its
	// Forget. Its own counts are lost with the process. Nil: Backoff, whose count is the queue's and
	// survives restarts.
	Limiter RateLimiter[T]
	// Backoff decides the delay if Limiter is nil. Nil: Exponential(5 ms, 1000 s), as in client-go.
	Backoff *Backoff
	// GroupOf returns an item's group, for Order Fair, GroupLimits and Shards: its tenant, its
	// namespace, the node that it runs on. At most 1024 bytes. Called by C, too: a panic ends the
	// process.
	GroupOf func(item T) string

	MustExist       bool // Fails with NotFound instead of creating a missing queue.
	Order           Order
	Lanes           []Lane // Of Order Lanes and Fair.
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
	Durability             Durability // Of calls that name none.
	MaxKeyBytes            int        // 0: 4096.
	// The following are flow control; docs/flow-control.md describes them.
	Debounce   Debounce      // Of the queue's Adds.
	MaxPending int           // Bounds the queued and held items; 0: no bound.
	WhenFull   WhenFull      // With MaxPending.
	StuckAfter time.Duration // Counts.Stuck counts items so long after their Get; 0: none.
	Resync     Resync        // Adds each item again from time to time; docs/flow-control.md.
	// GroupLimits bounds the items of each group, and Limits all items of the queue. An item whose
	// group is at its limits waits in its place, and the next one is handed out.
	GroupLimits GroupLimits
	Limits      GroupLimits
	// StopOnShutDown makes ShutDown and ShutDownWithDrain stop the queue as Stop does: Get reports
	// shutdown at once, and what is queued stays in the store, as in controller-runtime's priority
	// queue. Otherwise the workers first process what is queued, as in client-go.
	StopOnShutDown bool
}

// untyped returns the options without Codec, Limiter and GroupOf, whose types have an item's.
func (o QueueOptions[T]) untyped() QueueOptions[string] {
	o.Codec, o.Limiter, o.GroupOf = nil, nil, nil
	var untyped QueueOptions[string]
	from, to := reflect.ValueOf(o), reflect.ValueOf(&untyped).Elem()
	for i := 0; i < to.NumField(); i++ {
		if !from.Field(i).IsZero() {
			to.Field(i).Set(from.Field(i))
		}
	}
	return untyped
}

// AddOptions are the options of AddWith and AddBatch; the zero value is Add.
type AddOptions struct {
	Lane       *Lane // Nil: the key's present lane, or FastLane.
	Durability Durability
	// Why the item needs work: at most 256 bytes of UTF-8 without control characters. Its worker gets
	// it from Causes.
	Reason string
	// The header traceparent of W3C Trace Context, for the worker: see Causes.
	TraceParent string
	// How this Add is gathered, and a zero Debounce not at all. Nil: as QueueOptions.Debounce says.
	Debounce *Debounce
	// How long to wait for room in a full queue; less than 0: not at all; 0: until there is room. A
	// remote queue never waits.
	WaitForRoom time.Duration
	// A key that is dirty, held, delayed, failing or quarantined is left as it is, and the outcome is
	// Deduplicated. Not with RateLimited. A remote queue does not have it: NotSupported.
	IfAbsent bool
	// The other fields are for AddWith only.
	After       time.Duration // More than 0: as AddAfter.
	DelayMode   DelayMode     // Of After.
	RateLimited bool          // As AddRateLimited; the delay is at most After, unless that is 0.
	Failure     error         // The failure, for RateLimited: kept with the key, shown by wqctl.
}

// InLane returns a pointer for AddOptions.Lane: AddOptions{Lane: wq.InLane(wq.SlowLane)}.
func InLane(lane Lane) *Lane { return &lane }

// Backoff decides how long a failed key is delayed, by its failure count. The count is durable, so
// a restart does not shorten the delays.
type Backoff struct {
	kind            backoffKind
	base, max       time.Duration
	maxFastAttempts uint64
	rate            float64
	burst           int64
	inner           []*Backoff
}

// backoffKind is a kind of limiter; the numbers are those of wq/c/options.h.
type backoffKind int32

const (
	exponential       backoffKind = 1
	fastSlow          backoffKind = 2
	bucket            backoffKind = 3
	maxOf             backoffKind = 4
	maxWait           backoffKind = 5
	controllerBackoff backoffKind = 6
)

// Exponential delays by base, then by twice the delay before, at most by max.
func Exponential(base, max time.Duration) *Backoff {
	return &Backoff{kind: exponential, base: base, max: max}
}

// FastSlow delays by fast for the first fastAttempts failures, then by slow.
func FastSlow(fast, slow time.Duration, fastAttempts uint64) *Backoff {
	return &Backoff{kind: fastSlow, base: fast, max: slow, maxFastAttempts: fastAttempts}
}

// Bucket admits burst failures of any keys without a delay, and then rate failures per second.
func Bucket(rate float64, burst int64) *Backoff {
	return &Backoff{kind: bucket, rate: rate, burst: burst}
}

// MaxOf delays by the longest delay of all.
func MaxOf(of ...*Backoff) *Backoff {
	return &Backoff{kind: maxOf, inner: of}
}

// MaxWait delays as b does, at most by max.
func MaxWait(b *Backoff, max time.Duration) *Backoff {
	return &Backoff{kind: maxWait, max: max, inner: []*Backoff{b}}
}

// ControllerBackoff delays as client-go's default limiter of controllers does: by the longer delay
// of Exponential(5 ms, 1000 s) and, for all keys together, Bucket(10, 100).
func ControllerBackoff() *Backoff {
	return &Backoff{kind: controllerBackoff}
}
