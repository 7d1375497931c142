package controllerruntime

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"example.org/wq"
	"k8s.io/client-go/tools/leaderelection"
	"sigs.k8s.io/controller-runtime/pkg/manager"
)

// replica is a store whose ownership the test decides.
type replica struct {
	mu       sync.Mutex
	epoch    uint64
	resigned bool
}

func (r *replica) Epoch() uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.epoch
}

func (r *replica) Replica() (wq.ReplicaState, error) { return wq.ReplicaState{OwnerName: "b"}, nil }

func (r *replica) Resign() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.resigned, r.epoch = true, 0
	return nil
}

func (r *replica) become(epoch uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.epoch = epoch
}

// elect runs client-go's election by the lock.
func elect(t *testing.T, store ownership) (begun, ended chan struct{}, stop func()) {
	begun, ended = make(chan struct{}), make(chan struct{})
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock: &Lock{store: store, identity: "a"}, ReleaseOnCancel: true,
		LeaseDuration: 600 * time.Millisecond, RenewDeadline: 400 * time.Millisecond,
		RetryPeriod: time.Millisecond,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(context.Context) { close(begun) },
			OnStoppedLeading: func() { close(ended) }}})
	must(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	go elector.Run(ctx)
	return begun, ended, cancel
}

func TestWhoeverOwnsTheStoreIsTheLeader(t *testing.T) {
	store := &replica{}
	begun, ended, _ := elect(t, store)
	store.become(3)
	within(t, "it leads", begun)
	store.become(0)
	within(t, "it leads no more", ended)

	// Its queues were closed in between, so it is no leader either if it owns the store again.
	begun, ended, _ = elect(t, store)
	store.become(4)
	within(t, "it leads", begun)
	store.become(6)
	within(t, "it leads no more", ended)
}

func TestALeaderThatEndsHandsTheStoreOver(t *testing.T) {
	store := &replica{epoch: 1}
	begun, ended, stop := elect(t, store)
	within(t, "it leads", begun)
	stop()
	within(t, "it leads no more", ended)
	if !store.resigned {
		t.Fatal("it did not resign")
	}
}

func TestAReplicaIsNoLeader(t *testing.T) {
	lock := &Lock{store: &replica{}, identity: "a"}
	record, _, err := lock.Get(t.Context())
	must(t, err)
	if record.HolderIdentity != `the store's owner "b"` {
		t.Fatalf("%+v", record)
	}
	record.HolderIdentity = lock.Identity()
	if lock.Update(t.Context(), *record) == nil || lock.Create(t.Context(), *record) == nil {
		t.Fatal("it took the lock")
	}
}

func TestAManagerLeadsWhileItsStoreIsOpen(t *testing.T) {
	store := openStore(t, t.TempDir()+"/store")
	retry, renew, lease := 10*time.Millisecond, 400*time.Millisecond, time.Second
	m := newManager(t, newCluster(), manager.Options{LeaderElection: true,
		LeaderElectionResourceLockInterface: NewLock(store, "a"),
		LeaseDuration:                       &lease, RenewDeadline: &renew, RetryPeriod: &retry})
	ended := make(chan error, 1)
	go func() { ended <- m.Start(t.Context()) }()
	within(t, "it is elected", m.Elected())
	must(t, store.Close())
	err := within(t, "the manager ends", ended)
	if err == nil || !strings.Contains(err.Error(), "leader election lost") {
		t.Fatal(err)
	}
}
