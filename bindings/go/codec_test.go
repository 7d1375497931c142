package wq

import (
	"errors"
	"math"
	"strconv"
	"testing"
)

// roundTrip checks that the item has this key, and that the key decodes to the item.
func roundTrip[T comparable](t *testing.T, item T, want string) {
	t.Helper()
	codec, err := DefaultCodec[T]()
	must(t, err)
	key, err := codec.Encode(item)
	must(t, err)
	if key != want {
		t.Fatalf("the key of %+v is %q, want %q", item, key, want)
	}
	back, err := codec.Decode(key)
	must(t, err)
	if back != item {
		t.Fatalf("%q is %+v, want %+v", key, back, item)
	}
}

type (
	podName   string
	podNumber int8
)

func TestKeysOfStringsAreTheirBytes(t *testing.T) {
	roundTrip(t, "a\x00\xff/", "a\x00\xff/")
	roundTrip(t, podName("pod"), "pod")
}

func TestKeysOfIntegersAreDecimal(t *testing.T) {
	roundTrip(t, 0, "0")
	roundTrip(t, int64(math.MinInt64), "-9223372036854775808")
	roundTrip(t, uint64(math.MaxUint64), "18446744073709551615")
	roundTrip(t, podNumber(-128), "-128")
	codec, err := DefaultCodec[podNumber]()
	must(t, err)
	for _, key := range []string{"", "128", "+1", "01", "-0", "1.0", "pod"} {
		if item, err := codec.Decode(key); err == nil {
			t.Errorf("%q is %v", key, item)
		}
	}
}

func TestKeysOfRequestsAreAsKubectlWritesThem(t *testing.T) {
	for want, n := range map[string]namespacedName{
		"default/pod": {"default", "pod"},
		"node":        {"", "node"},
		"/":           {"", ""},
		"ns/":         {"ns", ""},
		"//":          {"", "/"},
		"/a/b":        {"", "a/b"},
		"ns/a/b":      {"ns", "a/b"},
	} {
		roundTrip(t, n, want)
		roundTrip(t, request{n}, want)
		roundTrip(t, NamespacedName(n), want)
	}
}

func TestANamespaceWithASlashHasNoKey(t *testing.T) {
	codec, err := DefaultCodec[request]()
	must(t, err)
	_, err = codec.Encode(request{namespacedName{"a/b", "c"}})
	wantCode(t, err, InvalidArgument)
	_, err = codec.Decode("/node") // It would be encoded as "node".
	if err == nil {
		t.Fatal("the key was accepted")
	}
}

func TestOtherTypesNeedACodec(t *testing.T) {
	for _, err := range []error{
		second(DefaultCodec[float64]()), second(DefaultCodec[struct{ Name, Namespace string }]()),
		second(DefaultCodec[struct{ Namespace, Name, Cluster string }]()),
		second(DefaultCodec[struct {
			Namespace string
			Name      int
		}]()),
		second(OpenQueue(memoryStore(t), "q", QueueOptions[*int]{})),
	} {
		wantCode(t, err, InvalidArgument)
	}
}

func second[V any](_ V, err error) error { return err }

// numbers is a user's codec.
type numbers struct{}

func (numbers) Encode(item int) (string, error) {
	if item < 0 {
		return "", errors.New("negative")
	}
	return strconv.Itoa(item), nil
}
func (numbers) Decode(key string) (int, error) { return strconv.Atoi(key) }

func TestAKeyThatIsNoItemIsQuarantined(t *testing.T) {
	store := memoryStore(t)
	q, err := OpenQueue(store, "q", QueueOptions[int]{Codec: numbers{}})
	must(t, err)
	raw := &Queue[string]{store: store, handle: q.handle, codec: stringCodec[string]{}} // As wqctl.
	raw.Add("seven")
	q.Add(7)
	item, shutdown := q.Get()
	if shutdown || item != 7 {
		t.Fatalf("got %v, %v", item, shutdown)
	}
	wantCode(t, q.Err(), InvalidArgument)
	kept, err := q.Quarantined()
	must(t, err)
	if len(kept) != 1 || kept[0].Key != "seven" || kept[0].LastError == "" ||
		kept[0].Quarantined.IsZero() {
		t.Fatalf("%+v", kept)
	}
	counts, err := q.Counts()
	must(t, err)
	if counts.Processing != 1 {
		t.Fatalf("%+v", counts)
	}
	q.Add(-1)
	if q.Err().Error() != "negative" {
		t.Fatal(q.Err())
	}
}
