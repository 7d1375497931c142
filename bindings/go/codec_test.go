//go:build cgo

package wq

import (
	"math"
	"strings"
	"testing"
	"time"
	"unsafe"
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
	wantCode(t, second(codec.Encode(request{namespacedName{"a/b", "c"}})), InvalidArgument)
	_, err = codec.Decode("/node") // It would be encoded as "node".
	if err == nil {
		t.Fatal("the key was accepted")
	}
}

// clusterRequest has the shape of multicluster-runtime's request.
type clusterRequest struct {
	request
	ClusterName string
}

func TestKeysOfOtherStructsAreTheirValues(t *testing.T) {
	roundTrip(t, struct{ Name, Namespace string }{"pod", "default"}, "pod/default")
	roundTrip(t, clusterRequest{request{namespacedName{"ns", "a/b%"}}, "east"}, "ns/a%2Fb%25/east")
	roundTrip(t, clusterRequest{}, "//")
	roundTrip(t, struct {
		kind  podName
		_     int
		n     podNumber
		big   uint64
		on    bool
		ports [2]uint16
	}{"%2F", 0, -7, math.MaxUint64, true, [2]uint16{80, 443}},
		"%252F/-7/18446744073709551615/true/80/443")
	roundTrip(t, [2]bool{true, false}, "true/false")
	roundTrip(t, true, "true")
}

func TestAKeyThatIsNotHowItsValuesAreWrittenIsRefused(t *testing.T) {
	type item struct {
		Name string
		N    int8
		On   bool
	}
	codec, err := DefaultCodec[item]()
	must(t, err)
	for _, key := range []string{"", "a", "a/1", "a/1/true/", "a/1/yes", "a/01/true", "a/128/true",
		"a/1/true/b", "%/1/true", "%2f/1/true", "a//true"} {
		if item, err := codec.Decode(key); err == nil {
			t.Errorf("%q is %v", key, item)
		}
	}
}

func TestBlankFieldsAreInNoKey(t *testing.T) {
	type item struct {
		Name string
		_    int
		N    int
	}
	codec, err := DefaultCodec[item]()
	must(t, err)
	a := item{Name: "a", N: 1}
	b := a
	*(*int)(unsafe.Add(unsafe.Pointer(&b), unsafe.Offsetof(b.N)-unsafe.Sizeof(b.N))) = 7 // _
	ka, _ := codec.Encode(a)
	kb, _ := codec.Encode(b)
	if a != b || ka != kb || ka != "a/1" {
		t.Fatal(a == b, ka, kb)
	}
}

func TestOtherTypesNeedACodec(t *testing.T) {
	for name, err := range map[string]error{
		"float64": second(DefaultCodec[float64]()),
		"*int":    second(OpenQueue(memoryStore(t), "q", QueueOptions[*int]{})),
		"chan":    second(DefaultCodec[[2]chan int]()),
		"*string": second(DefaultCodec[struct {
			Name string
			Why  *string
		}]()),
		"Location": second(DefaultCodec[time.Time]()),
	} {
		wantCode(t, err, InvalidArgument)
		if !strings.Contains(err.Error(), name) {
			t.Errorf("%v does not name %s", err, name)
		}
	}
}

func TestWhereAnItemMustHaveAKeyTheErrorOfTheCodecIsInvalidArgument(t *testing.T) {
	store := diskStore(t, t.TempDir()+"/store")
	defer store.Close()
	q, err := OpenQueue(store, "q", QueueOptions[int]{Codec: numbers{}})
	must(t, err)
	source, err := q.OpenSource("pods")
	must(t, err)
	o := Observation[int]{Object: "o", Items: []int{7, -1}}
	for call, err := range map[string]error{
		"Observe":        second(source.Observe(o, AddOptions{})),
		"ObserveDeleted": second(source.ObserveDeleted("o", o.Items, AddOptions{})),
		"FinishBatch":    q.FinishBatch(o.Items)} {
		if codeOf(err) != InvalidArgument || !strings.Contains(err.Error(), "negative") {
			t.Errorf("%s: %v", call, err)
		}
	}
}
