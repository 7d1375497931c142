package wq

// This file runs loops on several goroutines.

import (
	"context"
	"sync"
	"sync/atomic"
)

// DoWorkPieceFunc runs the piece of this number.
type DoWorkPieceFunc func(piece int)

type parallelizeOptions struct{ chunkSize int }

// Options is an option of ParallelizeUntil, named as in client-go.
type Options func(*parallelizeOptions)

// WithChunkSize makes a worker take c pieces at a time, which costs less for tiny pieces.
func WithChunkSize(c int) Options { return func(o *parallelizeOptions) { o.chunkSize = c } }

// ParallelizeUntil runs the pieces 0 to pieces - 1, each once, on at most this many goroutines, and
// returns when these have ended: all pieces were run, or the context ended and no further piece
// begins. It has the shape of client-go's function, and uses no store.
func ParallelizeUntil(
	ctx context.Context, workers, pieces int, doWorkPiece DoWorkPieceFunc, opts ...Options) {
	var o parallelizeOptions
	for _, option := range opts {
		option(&o)
	}
	chunk := o.chunkSize
	if chunk < 1 {
		chunk = 1
	}
	if pieces <= 0 {
		return
	}
	if chunks := (pieces-1)/chunk + 1; workers > chunks {
		workers = chunks
	}
	var next atomic.Int64
	var working sync.WaitGroup
	for i := 0; i < workers; i++ {
		working.Add(1)
		go func() {
			defer working.Done()
			for {
				end := int(next.Add(int64(chunk)))
				for piece := end - chunk; piece < end; piece++ {
					if piece >= pieces || ctx.Err() != nil {
						return
					}
					doWorkPiece(piece)
				}
			}
		}()
	}
	working.Wait()
}
