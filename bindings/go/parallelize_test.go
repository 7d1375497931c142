package wq

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
)

func TestEveryPieceIsDoneOnce(t *testing.T) {
	for _, c := range []struct{ workers, pieces, chunk int }{
		{2, 1000, 0}, {2, 1000, 10}, {999, 1000, 13}, {1, 10, 100}, {10, 1, 1},
		{10, 0, 1}, {5, 7, -1}, {0, 5, 1},
	} {
		t.Run(fmt.Sprintf("%d_by_%d_in_%ds", c.pieces, c.workers, c.chunk), func(t *testing.T) {
			seen := make([]atomic.Int32, c.pieces)
			ParallelizeUntil(context.Background(), c.workers, c.pieces,
				func(piece int) { seen[piece].Add(1) }, WithChunkSize(c.chunk))
			want := int32(1)
			if c.workers == 0 {
				want = 0
			}
			for i := range seen {
				if n := seen[i].Load(); n != want {
					t.Fatalf("piece %d was done %d times", i, n)
				}
			}
		})
	}
}

func TestPiecesEndWithTheContext(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	var done atomic.Int32
	ParallelizeUntil(ctx, 2, 1000, func(piece int) {
		switch n := done.Add(1); {
		case n == 10:
			cancel()
		case n > 10: // Begun by the other worker before the end of the context.
			<-ctx.Done()
		}
	}, WithChunkSize(7))
	if n := done.Load(); n < 10 || n > 11 {
		t.Fatalf("%d pieces were done", n)
	}
}
