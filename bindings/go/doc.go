// Package wq is a durable, deduplicating work queue for controllers: client-go's workqueue, in a
// directory. Kill the process at any instant, start it again, and it goes on where it was.
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
//		key, shutdown := pods.Get()
//		if shutdown {
//			return pods.Err()
//		}
//		reconcile(key)
//		pods.Done(key)
//	}
//
// A Queue has the methods of client-go's workqueue.TypedRateLimitingInterface, with the same
// meaning, so it is one: controller-runtime takes it by controller.Options.NewQueue, see NewQueueFunc.
// Those methods return no error. What fails in them is kept for Queue.Err and Queue.Errors, and the
// store's own condition is Store.Health. Beside them are calls that return errors, and what
// client-go does not have: lanes, shards, batches, cursors, quarantine, Get with a context; metrics
// (Store.Metrics), looking into stores (OpenView), snapshots.
//
// The states of a key, the durability levels and what a crash leaves are told in wq/queue.h and
// wq/options.h of the C++ interface.
//
// Threads. Every call may be made by any goroutine at any time, also while another one closes the
// store: it gets ShuttingDown then. A Get that waits is a parked goroutine, not a thread. A call that
// changes something holds a thread while it waits for the disk: a batch makes one wait of many.
//
// Lifetime. A queue lives as long as its Store, and keeps it alive. A Store that nothing refers to
// any more is closed by the garbage collector; Close does it at a time of your choosing and tells
// what failed.
//
// The package links with libwq.so by pkg-config; with the build tag wq_static it links libwq.a.
package wq
