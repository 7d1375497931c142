package controllerruntime

// This file has the election of controller-runtime's manager by the ownership of a store.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"example.org/wq"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// Lock is a lock for manager.Options.LeaderElectionResourceLockInterface that whoever owns the
// store has: there is one election, and only the owner of the queues becomes the leader of the
// manager. The owner of a store that is not replicated is the process that has it open.
//
//	manager.Options{LeaderElection: true, LeaderElectionReleaseOnCancel: true,
//		LeaderElectionResourceLockInterface: controllerruntime.NewLock(store, replica)}
//
// When the ownership ends, the queues end at once, and the manager after its RenewDeadline, at most
// a RetryPeriod later: until then a reconcile that is under way, and what the manager runs beside
// the queues, go on. A lock is lost for good, even if the process owns the store again: its queues
// were closed. So it is for one manager, and the process ends with that, as controller-runtime
// demands.
type Lock struct {
	store    ownership
	identity string

	mu    sync.Mutex
	epoch uint64 // Of the ownership by which the lock is held; 0: it was not taken.
	lost  bool
}

var _ resourcelock.Interface = (*Lock)(nil)

// ownership is what a Lock needs of a Store.
type ownership interface {
	Epoch() uint64
	Replica() (wq.ReplicaState, error)
	Resign() error
}

// NewLock returns the lock of a store. The identity is shown in logs: Replication.Name.
func NewLock(store *wq.Store, identity string) *Lock {
	return &Lock{store: store, identity: identity}
}

// check returns the epoch of the ownership, 0 if there is none. An error: the lock is lost.
func (l *Lock) check() (uint64, error) {
	epoch := l.store.Epoch()
	l.lost = l.lost || l.epoch != 0 && epoch != l.epoch
	if l.lost {
		return 0, fmt.Errorf("the ownership of epoch %d of the store has ended", l.epoch)
	}
	return epoch, nil
}

// Get returns who has the lock: this identity, "" if it may be taken, or another holder, whose
// lease never ends.
func (l *Lock) Get(context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	epoch, err := l.check()
	if err != nil {
		return nil, nil, err
	}
	record := resourcelock.LeaderElectionRecord{
		LeaseDurationSeconds: 1 << 30, LeaderTransitions: int(epoch)}
	if l.epoch != 0 {
		record.HolderIdentity = l.identity
	} else if epoch == 0 {
		state, err := l.store.Replica()
		if err != nil {
			return nil, nil, err
		}
		record.HolderIdentity = fmt.Sprintf("the store's owner %q", state.OwnerName)
	}
	raw, err := json.Marshal(record)
	return &record, raw, err
}

// Create is Update.
func (l *Lock) Create(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	return l.Update(ctx, record)
}

// Update takes or keeps the lock; without a holder it hands the ownership over. An error: this
// process does not own the store, or not any more.
func (l *Lock) Update(_ context.Context, record resourcelock.LeaderElectionRecord) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	epoch, err := l.check()
	switch {
	case err != nil:
		return err
	case epoch == 0:
		return errors.New("this process does not own the store")
	case record.HolderIdentity == "":
		l.lost = true
		if err := l.store.Resign(); !errors.Is(err, wq.InvalidArgument) { // It is replicated.
			return err
		}
	default:
		l.epoch = epoch
	}
	return nil
}

// RecordEvent does nothing: the store logs its ownership.
func (l *Lock) RecordEvent(string) {}

func (l *Lock) Identity() string { return l.identity }

func (l *Lock) Describe() string { return "the ownership of the wq store" }
