package remote

import (
	"math"
	"testing"
	"time"
)

func TestDurationsAreRoundedUp(t *testing.T) {
	for d, want := range map[time.Duration]int64{
		0: 0, 1: 1, 500: 1, 1000: 1, 1001: 2, math.MaxInt64: math.MaxInt64/1000 + 1, -1: 0, -2000: -2,
	} {
		if got := Microseconds(d); got != want {
			t.Errorf("%v: %d, want %d", d, got, want)
		}
	}
	now := time.Now()
	if us := MicrosecondsUntil(now.Add(math.MaxInt64)); us < math.MaxInt64/2000 {
		t.Errorf("%d until the end", us)
	}
	if us := MicrosecondsUntil(now); us != 0 {
		t.Errorf("%d until now", us)
	}
}
