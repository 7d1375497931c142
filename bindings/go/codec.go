package wq

// This file converts between items and keys.

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"unsafe"
)

// Codec converts between items and their keys, the bytes that are on disk and in wqctl. Equal items
// must have equal keys, and Decode(Encode(item)) must be item. A key is 1 to
// QueueOptions.MaxKeyBytes bytes.
type Codec[T comparable] interface {
	Encode(item T) (key string, err error)
	Decode(key string) (item T, err error)
}

// NamespacedName is the content of a reconcile.Request. Its key is "namespace/name", or "name"
// without a namespace, as kubectl and client-go write it. A name may have a slash, a namespace may
// not.
type NamespacedName struct {
	Namespace string
	Name      string
}

func (n NamespacedName) String() string {
	if n.Namespace == "" && n.Name != "" && strings.IndexByte(n.Name, '/') < 0 {
		return n.Name
	}
	return n.Namespace + "/" + n.Name
}

func parseNamespacedName(key string) (NamespacedName, error) {
	slash := strings.IndexByte(key, '/')
	n := NamespacedName{Namespace: "", Name: key}
	if slash >= 0 {
		n = NamespacedName{Namespace: key[:slash], Name: key[slash+1:]}
	}
	if n.String() != key { // Done would name another key than the held one.
		return n, fmt.Errorf("%q is not how its namespace and name are written", key)
	}
	return n, nil
}

// DefaultCodec returns the codec of strings, of integers (in decimal), and of structs with exactly
// a Namespace and a Name, both strings, at any depth of embedding: reconcile.Request and
// types.NamespacedName, without importing them. InvalidArgument: T is none of these and needs its
// own Codec.
func DefaultCodec[T comparable]() (Codec[T], error) {
	var zero T
	t := reflect.TypeOf(zero)
	if t != nil && t.Kind() == reflect.String {
		return stringCodec[T]{}, nil
	}
	if t != nil && t.Kind() >= reflect.Int && t.Kind() <= reflect.Uint64 {
		return integerCodec[T]{}, nil
	}
	if t != nil && isNamespacedName(t) {
		return namespacedNameCodec[T]{}, nil
	}
	return nil, newError(InvalidArgument, fmt.Sprintf(
		"items of %v need a Codec: they are no strings, no integers, nor a Namespace and a Name", t))
}

// stringCodec is for T of kind string: its bytes are the key.
type stringCodec[T comparable] struct{}

func (stringCodec[T]) Encode(item T) (string, error) {
	return *(*string)(unsafe.Pointer(&item)), nil
}

func (stringCodec[T]) Decode(key string) (T, error) { return *(*T)(unsafe.Pointer(&key)), nil }

// integerCodec is for T of an integer kind.
type integerCodec[T comparable] struct{}

func (integerCodec[T]) Encode(item T) (string, error) {
	if v := reflect.ValueOf(item); v.CanInt() {
		return strconv.FormatInt(v.Int(), 10), nil
	} else {
		return strconv.FormatUint(v.Uint(), 10), nil
	}
}

func (c integerCodec[T]) Decode(key string) (item T, err error) {
	v := reflect.ValueOf(&item).Elem()
	if v.CanInt() {
		var n int64
		n, err = strconv.ParseInt(key, 10, v.Type().Bits())
		v.SetInt(n)
	} else {
		var n uint64
		n, err = strconv.ParseUint(key, 10, v.Type().Bits())
		v.SetUint(n)
	}
	if back, _ := c.Encode(item); err == nil && back != key { // Done would name another key.
		err = fmt.Errorf("%q is not how this number is written", key)
	}
	return item, err
}

// isNamespacedName reports whether t has the layout and field names of NamespacedName.
func isNamespacedName(t reflect.Type) bool {
	for t.Kind() == reflect.Struct && t.NumField() == 1 {
		t = t.Field(0).Type
	}
	if t.Kind() != reflect.Struct || t.NumField() != 2 {
		return false
	}
	for i, name := range []string{"Namespace", "Name"} {
		if f := t.Field(i); f.Name != name || f.Type.Kind() != reflect.String {
			return false
		}
	}
	return true
}

// namespacedNameCodec is for T that isNamespacedName accepts.
type namespacedNameCodec[T comparable] struct{}

func (namespacedNameCodec[T]) Encode(item T) (string, error) {
	n := *(*NamespacedName)(unsafe.Pointer(&item))
	if strings.IndexByte(n.Namespace, '/') >= 0 {
		return "", newError(InvalidArgument, fmt.Sprintf("the namespace %q has a slash", n.Namespace))
	}
	return n.String(), nil
}

func (namespacedNameCodec[T]) Decode(key string) (T, error) {
	n, err := parseNamespacedName(key)
	return *(*T)(unsafe.Pointer(&n)), err
}
