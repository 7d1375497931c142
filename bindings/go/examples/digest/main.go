// Digest is a complete controller: for each file below one directory it writes the file's SHA-256
// to a file of the same name below another. Killed at any instant and started again, it continues.
//
//	digest -store digest.wq -from /usr/include -to sums [-workers 4]
//
// It has the shape of client-go's workqueue example: a producer, workers, and a handleErr that
// retries a key five times. Durability needs no further code: the producer's cursor records that
// the tree was walked, and a key that keeps failing is in quarantine, with its error
// (`wqctl ls --state quarantined`).
package main

import (
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"log"
	"path/filepath"
	"sync"
	"time"

	"example.org/wq"
)

// maxRequeues is how often a failed key is retried before it is quarantined.
const maxRequeues = 5

type controller struct {
	from, to string
	queue    *wq.Queue[string] // Of paths below from.
	done     chan struct{}     // Closed when no key needs work.
	once     sync.Once
}

// produce adds every file of the tree, unless an earlier run did.
func (c *controller) produce() error {
	if _, err := c.queue.Cursor("walked"); err == nil {
		fmt.Println("resuming")
		return nil
	} else if !errors.Is(err, wq.NotFound) {
		return err
	}
	batch := make([]string, 0, 1000)
	flush := func() error {
		_, err := c.queue.AddBatch(batch, wq.AddOptions{})
		batch = batch[:0]
		return err
	}
	err := filepath.WalkDir(c.from, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		key, err := filepath.Rel(c.from, path)
		if err != nil {
			return err
		}
		if batch = append(batch, key); len(batch) == cap(batch) {
			return flush()
		}
		return nil
	})
	if err == nil {
		err = flush()
	}
	if err != nil {
		return err
	}
	return c.queue.SetCursor("walked", time.Now().Format(time.RFC3339)) // After all Adds.
}

func (c *controller) runWorker() {
	for c.processNextItem() {
	}
}

func (c *controller) processNextItem() bool {
	key, shutdown := c.queue.Get()
	if shutdown {
		return false
	}
	err := digest(filepath.Join(c.from, key), filepath.Join(c.to, key))
	c.handleErr(err, key)
	c.queue.Done(key) // Last: until then no other worker gets the key.
	c.endIfIdle()
	return true
}

// handleErr forgets the failures of a key that succeeded, retries a key that failed, later each
// time, and quarantines it after maxRequeues.
func (c *controller) handleErr(err error, key string) {
	if err == nil {
		c.queue.Forget(key)
		return
	}
	if c.queue.NumRequeues(key) < maxRequeues {
		fmt.Printf("failed %q: %v\n", key, err)
		if _, err := c.queue.AddWith(key, wq.AddOptions{RateLimited: true, Failure: err}); err != nil {
			log.Fatal(err)
		}
		return
	}
	fmt.Printf("quarantined %q: %v\n", key, err)
	if err := c.queue.Quarantine(key, err); err != nil {
		log.Fatal(err)
	}
}

// endIfIdle ends the run when no key needs work, because this controller does not watch the tree.
func (c *controller) endIfIdle() {
	counts, err := c.queue.Counts()
	if err != nil {
		log.Fatal(err)
	}
	if counts.Queued+counts.Processing+counts.Delayed == 0 {
		c.once.Do(func() { close(c.done) })
	}
}

func (c *controller) run(workers int) error {
	if err := c.produce(); err != nil {
		return err
	}
	c.endIfIdle()
	var working sync.WaitGroup
	for i := 0; i < workers; i++ {
		working.Add(1)
		go func() {
			defer working.Done()
			c.runWorker()
		}()
	}
	<-c.done
	c.queue.ShutDown()
	working.Wait()
	return c.queue.Err()
}

func main() {
	storeDir := flag.String("store", "digest.wq", "the directory of the queue")
	from := flag.String("from", "", "the directory with the files")
	to := flag.String("to", "sums", "the directory of the digests")
	workers := flag.Int("workers", 4, "the number of workers")
	flag.Parse()
	if *from == "" || *workers < 1 || flag.NArg() != 0 {
		flag.Usage()
		log.Fatal("digest: -from is needed")
	}
	if err := start(*storeDir, *from, *to, *workers); err != nil {
		log.Fatal(err)
	}
}

func start(storeDir, from, to string, workers int) error {
	store, err := wq.Open(storeDir, wq.StoreOptions{CreateIfMissing: true})
	if err != nil {
		return err
	}
	queue, err := wq.OpenQueue(store, "files", wq.QueueOptions[string]{
		Backoff: wq.Exponential(5*time.Millisecond, time.Minute)})
	if err == nil {
		c := &controller{from: from, to: to, queue: queue, done: make(chan struct{})}
		err = c.run(workers)
	}
	if closing := store.Close(); err == nil {
		err = closing
	}
	return err
}
