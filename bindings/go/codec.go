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

// noKey is the error of an item that the codec cannot encode.
func noKey(err error) error { return newError(InvalidArgument, "an item has no key: "+err.Error()) }

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

// DefaultCodec returns the codec of
//   - strings: their bytes;
//   - structs with exactly a Namespace and a Name, both strings, at any depth of embedding, such as
//     reconcile.Request and types.NamespacedName: see NamespacedName;
//   - integers, in decimal, booleans, and other structs and arrays of all these: their values in
//     order, with "/" between them; a "/" in a string is written as "%2F", and a "%" as "%25". If a
//     field is added to the type, its former keys are no items of it any more, and are quarantined
//     when they are handed out.
//
// InvalidArgument: T has a pointer, an interface, a float or a channel, and needs its own Codec.
func DefaultCodec[T comparable]() (Codec[T], error) {
	var zero T
	t := reflect.TypeOf(zero)
	if t != nil && t.Kind() == reflect.String {
		return stringCodec[T]{}, nil
	}
	if t != nil && isNamespacedName(t) {
		return namespacedNameCodec[T]{}, nil
	}
	if t == nil {
		return nil, newError(InvalidArgument, "items of an interface type need a Codec")
	}
	if without := withoutText(t); without != nil {
		return nil, newError(InvalidArgument, fmt.Sprintf(
			"items of %v need a Codec: a %v has no text that is the same in every process", t, without))
	}
	return valuesCodec[T]{}, nil
}

// stringCodec is for T of kind string: its bytes are the key.
type stringCodec[T comparable] struct{}

func (stringCodec[T]) Encode(item T) (string, error) {
	return *(*string)(unsafe.Pointer(&item)), nil
}

func (stringCodec[T]) Decode(key string) (T, error) { return *(*T)(unsafe.Pointer(&key)), nil }

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

// withoutText returns a type in t that valuesCodec cannot write; nil: it can write all.
func withoutText(t reflect.Type) reflect.Type {
	switch k := t.Kind(); {
	case k == reflect.String || k == reflect.Bool || k >= reflect.Int && k <= reflect.Uint64:
		return nil
	case k == reflect.Array:
		return withoutText(t.Elem())
	case k == reflect.Struct:
		for i := 0; i < t.NumField(); i++ {
			if without := withoutText(t.Field(i).Type); without != nil {
				return without
			}
		}
		return nil
	}
	return t
}

// valuesCodec is for T that withoutText accepts.
type valuesCodec[T comparable] struct{}

var (
	valueEscape   = strings.NewReplacer("%", "%25", "/", "%2F")
	valueUnescape = strings.NewReplacer("%25", "%", "%2F", "/")
)

func (valuesCodec[T]) Encode(item T) (string, error) {
	var texts []string
	forEachValue(reflect.ValueOf(&item).Elem(), func(v reflect.Value) {
		switch {
		case v.Kind() == reflect.String:
			texts = append(texts, valueEscape.Replace(v.String()))
		case v.Kind() == reflect.Bool:
			texts = append(texts, strconv.FormatBool(v.Bool()))
		case v.CanInt():
			texts = append(texts, strconv.FormatInt(v.Int(), 10))
		default:
			texts = append(texts, strconv.FormatUint(v.Uint(), 10))
		}
	})
	return strings.Join(texts, "/"), nil
}

func (c valuesCodec[T]) Decode(key string) (item T, err error) {
	texts := strings.Split(key, "/")
	forEachValue(reflect.ValueOf(&item).Elem(), func(v reflect.Value) {
		text := ""
		if len(texts) > 0 {
			text, texts = texts[0], texts[1:]
		}
		switch {
		case v.Kind() == reflect.String:
			v.SetString(valueUnescape.Replace(text))
		case v.Kind() == reflect.Bool:
			v.SetBool(text == "true")
		case v.CanInt():
			n, _ := strconv.ParseInt(text, 10, v.Type().Bits())
			v.SetInt(n)
		default:
			n, _ := strconv.ParseUint(text, 10, v.Type().Bits())
			v.SetUint(n)
		}
	})
	if back, _ := c.Encode(item); back != key { // Done would name another key.
		err = fmt.Errorf("%q is not how a %T is written", key, item)
	}
	return item, err
}

// forEachValue calls visit with the strings, booleans and integers in v, in order, those of
// unexported fields too. Blank fields are left out, as == ignores them. REQUIRES: v is addressable.
func forEachValue(v reflect.Value, visit func(v reflect.Value)) {
	switch v.Kind() {
	case reflect.Array:
		for i := 0; i < v.Len(); i++ {
			forEachValue(v.Index(i), visit)
		}
	case reflect.Struct:
		for i := 0; i < v.NumField(); i++ {
			if v.Type().Field(i).Name != "_" {
				forEachValue(v.Field(i), visit)
			}
		}
	default:
		if !v.CanSet() { // Of an unexported field.
			v = reflect.NewAt(v.Type(), unsafe.Pointer(v.UnsafeAddr())).Elem()
		}
		visit(v)
	}
}
