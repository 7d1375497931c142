package remote

// This file has the messages of proto/wq/v1 in protobuf's JSON mapping, as far as they are used.

import (
	"bytes"
	"strconv"
)

// protobuf's JSON has 64-bit integers as strings: an int64 by the option "string" of its field.

// Uint64 is a uint64.
type Uint64 uint64

func (n Uint64) MarshalJSON() ([]byte, error) {
	return strconv.AppendQuote(nil, strconv.FormatUint(uint64(n), 10)), nil
}

func (n *Uint64) UnmarshalJSON(text []byte) error {
	v, err := strconv.ParseUint(string(bytes.Trim(text, `"`)), 10, 64)
	*n = Uint64(v)
	return err
}

// MessageError is the message Error.
type MessageError struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

type AddRequest struct {
	Queue      string   `json:"queue"`
	Keys       [][]byte `json:"keys,omitempty"`
	Create     bool     `json:"create,omitempty"`
	Lane       *int32   `json:"lane,omitempty"`
	Group      []byte   `json:"group,omitempty"`
	DelayUs    int64    `json:"delay_us,omitempty,string"`
	Durability string   `json:"durability,omitempty"`
	Cause      *Cause   `json:"cause,omitempty"`
	// An empty name: that of the default.
	DelayMode string    `json:"delay_mode,omitempty"`
	Debounce  *Debounce `json:"debounce,omitempty"`
}

type Debounce struct {
	QuietUs   int64 `json:"quiet_us,string"`
	MaxWaitUs int64 `json:"max_wait_us,string"`
}

type Cause struct {
	Reason      string `json:"reason"`
	TraceParent string `json:"trace_parent"`
}

type AddResponse struct {
	Added        Uint64 `json:"added"`
	Deduplicated Uint64 `json:"deduplicated"`
	Held         Uint64 `json:"held"`
	Refused      []struct {
		Index Uint64        `json:"index"`
		Error *MessageError `json:"error"`
	} `json:"refused"`
}

type QueueRequest struct {
	Queue string `json:"queue"`
}

type QueueCounts struct {
	Queued      Uint64 `json:"queued"`
	Processing  Uint64 `json:"processing"`
	Delayed     Uint64 `json:"delayed"`
	Failing     Uint64 `json:"failing"`
	Quarantined Uint64 `json:"quarantined"`
	Paused      bool   `json:"paused"`
	Adds        Uint64 `json:"adds"`
	Dones       Uint64 `json:"dones"`
	Failures    Uint64 `json:"failures"`
	Stuck       Uint64 `json:"stuck"`
	Full        Uint64 `json:"full"`
	HeldBack    Uint64 `json:"held_back"`
	Resyncs     Uint64 `json:"resyncs"`
}

type KeyFilter struct {
	States []string `json:"states"`
}

type SearchRequest struct {
	Queue  string    `json:"queue"`
	Filter KeyFilter `json:"filter"`
	Sort   string    `json:"sort"`
	Limit  uint32    `json:"limit"`
	Page   []byte    `json:"page,omitempty"`
}

type KeyRow struct {
	Key             []byte `json:"key"`
	Lane            int32  `json:"lane"`
	Group           []byte `json:"group"`
	Failures        Uint64 `json:"failures"`
	LastError       string `json:"last_error"`
	QuarantinedAtUs int64  `json:"quarantined_at_us,string"`
}

type SearchResponse struct {
	Keys []KeyRow `json:"keys"`
	Next []byte   `json:"next"`
}

type ChangeRequest struct {
	Queue      string   `json:"queue"`
	Kind       string   `json:"kind"`
	Keys       [][]byte `json:"keys"`
	Durability string   `json:"durability,omitempty"`
	DelayUs    int64    `json:"delay_us,omitempty,string"`
}

type ChangeResponse struct {
	Done   Uint64   `json:"done"`
	Absent []Uint64 `json:"absent"`
}

type PauseRequest struct {
	Queue string `json:"queue"`
	ForUs *int64 `json:"for_us,omitempty,string"`
}

type FlushRequest struct {
	Durability string `json:"durability,omitempty"`
}

type GetStoreResponse struct {
	UUID   string        `json:"uuid"`
	Health *MessageError `json:"health"`
	Queues []struct {
		Name string `json:"name"`
	} `json:"queues"`
}

type Empty struct{}

type WorkRequest struct {
	Hello      *Hello   `json:"hello,omitempty"`
	Answers    []Answer `json:"answers,omitempty"`
	Capacity   *uint32  `json:"capacity,omitempty"`
	AddedAgain []Uint64 `json:"added_again,omitempty"`
	Started    []Uint64 `json:"started,omitempty"`
}

type Hello struct {
	Queue          string `json:"queue"`
	Name           string `json:"name"`
	Capacity       uint32 `json:"capacity"`
	SilenceLimitUs int64  `json:"silence_limit_us,omitempty,string"`
	KeyLimitUs     int64  `json:"key_limit_us,omitempty,string"`
	TellsStarts    bool   `json:"tells_starts,omitempty"`
}

// Answer has one of the results set.
type Answer struct {
	Token        Uint64        `json:"token"`
	Done         *Empty        `json:"done,omitempty"`
	Failed       *Failed       `json:"failed,omitempty"`
	RequeueAfter *RequeueAfter `json:"requeue_after,omitempty"`
	GiveBack     *Empty        `json:"give_back,omitempty"`
}

type Failed struct {
	Error      string `json:"error"`
	Quarantine bool   `json:"quarantine,omitempty"`
}

type RequeueAfter struct {
	DelayUs int64 `json:"delay_us,string"`
}

type WorkResponse struct {
	Welcome     *Welcome       `json:"welcome"`
	Assignments []Assignment   `json:"assignments"`
	Results     []AnswerResult `json:"results"`
	AddedAgain  []AddedAgain   `json:"added_again"`
	Lost        []Lost         `json:"lost"`
	Error       *MessageError  `json:"error"` // The last line of a stream that failed.
}

type Welcome struct {
	Session        string `json:"session"`
	SilenceLimitUs int64  `json:"silence_limit_us,string"`
	StoreUUID      string `json:"store_uuid"`
}

type Assignment struct {
	Key      []byte `json:"key"`
	Token    Uint64 `json:"token"`
	Failures Uint64 `json:"failures"`
	Lane     int32  `json:"lane"`

	Causes        []Cause `json:"causes"`
	CausesLeftOut Uint64  `json:"causes_left_out"`
}

type AnswerResult struct {
	Token Uint64        `json:"token"`
	Error *MessageError `json:"error"`
}

type AddedAgain struct {
	Token      Uint64 `json:"token"`
	AddedAgain bool   `json:"added_again"`
	Held       bool   `json:"held"`
}

type Lost struct {
	Token  Uint64 `json:"token"`
	Reason string `json:"reason"`
}

type SendRequest struct {
	Session string      `json:"session"`
	Request WorkRequest `json:"request"`
}
