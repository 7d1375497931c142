package wq

// #include "border.h"
import "C"

import (
	"errors"
	"strings"
	"unsafe"
)

// Code says what kind of failure an error is: errors.Is(err, wq.NotFound). The numbers are those of
// wq/status.h and never change meaning.
type Code int32

const (
	InvalidArgument Code = C.WQ_INVALID_ARGUMENT // Can never work: an empty key, an option out of range.
	NotFound        Code = C.WQ_NOT_FOUND        // The store, queue, key or cursor does not exist.
	AlreadyExists   Code = C.WQ_ALREADY_EXISTS   // Creating what is there; opening a queue twice.
	NotProcessing   Code = C.WQ_NOT_PROCESSING   // Done of a key that no worker holds.
	ShuttingDown    Code = C.WQ_SHUTTING_DOWN    // The queue shuts down, or its store is closed.
	TimedOut        Code = C.WQ_TIMED_OUT        // Nothing changed.
	Locked          Code = C.WQ_LOCKED           // Another process owns the store.
	Corruption      Code = C.WQ_CORRUPTION       // The store's bytes are damaged.
	NotDurable      Code = C.WQ_NOT_DURABLE      // Applied in memory, but a write failed. See Store.Health.
	IOError         Code = C.WQ_IO_ERROR         // The operating system refused something. Nothing was applied.
	NotSupported    Code = C.WQ_NOT_SUPPORTED    // Another format version.
	Forked          Code = C.WQ_FORKED           // This process is a fork of the one that uses the library.
	NoMemory        Code = C.WQ_NO_MEMORY        // What the call had done by then is unknown.
	Internal        Code = C.WQ_INTERNAL         // A bug.
)

// Error is the code's name, as the other interfaces show it: "NotFound".
func (c Code) Error() string { return C.GoString(C.wq_code_name(C.wq_code(c))) }

// Error is what a call of this package failed with. It unwraps to its Code.
type Error struct {
	Code    Code
	Message string // For people: one line, keys in it escaped.
}

func (e *Error) Error() string { return "wq: " + e.Code.Error() + ": " + e.Message }

func (e *Error) Unwrap() error { return e.Code }

func newError(code Code, message string) error { return &Error{Code: code, Message: message} }

// codeOf is 0 for what is not of this package.
func codeOf(err error) Code {
	var e *Error
	if errors.As(err, &e) {
		return e.Code
	}
	return 0
}

func closedError() error { return newError(ShuttingDown, "the store is closed") }

// fromC makes the error of a failed call. A handle that is no more is that of a closed store: this
// package makes no others.
func fromC(code C.wq_code, message string) error {
	if code == C.WQ_BAD_HANDLE {
		return closedError()
	}
	return newError(Code(code), message)
}

// errorOf is the error of a call of the hot path; nil if it succeeded. It frees the message.
func errorOf(r C.wqgo_result) error {
	if r.code == C.WQ_OK {
		return nil
	}
	message := C.GoString(r.message)
	C.free(unsafe.Pointer(r.message))
	return fromC(r.code, message)
}

// call makes one of the other calls.
func call(body func(e *C.wq_error) C.wq_code) error {
	var e C.wq_error
	if code := body(&e); code != C.WQ_OK {
		return fromC(code, C.GoString(&e.message[0]))
	}
	return nil
}

// bytesOf is the string's own bytes, for C to read during a call.
func bytesOf(s string) (*C.char, C.size_t) {
	return (*C.char)(*(*unsafe.Pointer)(unsafe.Pointer(&s))), C.size_t(len(s))
}

// textOf is why something failed; "" for nil.
func textOf(why error) string {
	if why == nil {
		return ""
	}
	return why.Error()
}

// checkName refuses what is no C string.
func checkName(name string) error {
	if strings.IndexByte(name, 0) >= 0 {
		return newError(InvalidArgument, "a name with a NUL")
	}
	return nil
}

// withName calls body with a C string: the name of a queue or a cursor, a path.
func withName(name string, body func(name *C.char, e *C.wq_error) C.wq_code) error {
	if err := checkName(name); err != nil {
		return err
	}
	c := C.CString(name)
	defer C.free(unsafe.Pointer(c))
	return call(func(e *C.wq_error) C.wq_code { return body(c, e) })
}

// Version is the library's, which may be later than this package's: "0.1.0".
func Version() string { return C.GoString(C.wq_version()) }

// crossing is a call into C that does nothing: for the benchmarks.
func crossing() { C.wq_version() }
