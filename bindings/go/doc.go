// Package wq is a durable, deduplicating work queue for controllers: client-go's workqueue, stored
// in a directory. A process that is killed at any instant and started again continues where it was.
//
//	store, err := wq.Open("pods.wq", wq.StoreOptions{CreateIfMissing: true})
//	if err != nil {
//		return err
//	}
//	defer store.Close()
//	pods, err := wq.OpenQueue(store, "pods", wq.QueueOptions[string]{})
//	if err != nil {
//		return err
//	}
//	pods.Add("default/pod-1") // When it returns, the key survives kill -9.
//	for {
//		key, err := pods.GetContext(ctx)
//		if errors.Is(err, wq.ShuttingDown) {
//			return nil // ShutDown was called; what is left stays in the store.
//		}
//		if err != nil {
//			return err // The context has ended.
//		}
//		reconcile(key)
//		pods.Done(key)
//	}
//
// The store of another process is reached through its server: Dial makes a Client, which OpenQueue
// takes like a Store. README.md has the differences.
//
// A Queue has the methods of client-go's workqueue.TypedRateLimitingInterface, with the same
// meaning, and so implements it: controller-runtime takes it by controller.Options.NewQueue, see
// NewPriorityQueue. Those methods return no error. Queue.Err and Queue.Errors report their
// failures, and Store.Health reports the store's own state. Other calls return errors, and offer
// what client-go does not have: lanes, shards, batches, sources, cursors, quarantine, Get with a
// context; metrics (Store.WriteMetrics).
//
// The states of a key, the durability levels and what a crash leaves are specified in wq/queue.h
// and wq/options.h of the C++ interface.
//
// Threads. Any goroutine may make any call at any time, also while another one closes the store:
// the call then fails with ShuttingDown. A waiting Get is a waiting goroutine, not a thread. A call
// that changes a queue holds a thread while it waits for the disk; a batch needs one wait for many
// items.
//
// Lifetime. A Store, a Client and a SourceList live until Close, a Worker until Leave: the garbage
// collector closes none of them. A queue lives as long as its Store; Queue.Close closes it earlier,
// so that it can be opened again.
//
// The package links with libwq.so by pkg-config; with the build tag wq_static the program needs no
// shared library. The build tag wq_etcd links etcd's client, which StoreOptions.Replication needs.
// Without cgo it needs no library, and has the queues of a Client only.
package wq
