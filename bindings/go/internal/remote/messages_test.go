package remote

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"
)

// protoFields returns the fields of the messages of proto/wq/v1: their types by "Message.field".
// Nested messages go by their own names.
func protoFields(t *testing.T) map[string]string {
	t.Helper()
	files, err := filepath.Glob("../../../../proto/wq/v1/*.proto")
	if err != nil || len(files) == 0 {
		t.Fatalf("no .proto files: %v", err)
	}
	begin := regexp.MustCompile(`^\s*(message|oneof|enum|service) (\w+) \{`)
	field := regexp.MustCompile(
		`^\s*(repeated |optional )?([\w.]+|map<\w+, \w+>) (\w+) = \d+;`)
	fields := map[string]string{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var open []string // "": a oneof, which has no name in JSON.
		for _, line := range strings.Split(string(text), "\n") {
			line, _, _ = strings.Cut(line, "//")
			if m := begin.FindStringSubmatch(line); m != nil {
				name := m[2]
				if m[1] == "oneof" {
					name = open[len(open)-1]
				}
				if !strings.Contains(line, "}") {
					open = append(open, name)
				}
				continue
			}
			if strings.TrimSpace(line) == "}" && len(open) > 0 {
				open = open[:len(open)-1]
			}
			if m := field.FindStringSubmatch(line); m != nil && len(open) > 0 {
				fields[open[len(open)-1]+"."+m[3]] = m[1] + m[2]
			}
		}
	}
	return fields
}

// goTypes are the Go types of fields; a message is a pointer, a struct or a slice of structs.
var goTypes = map[string]string{
	"bytes": "[]uint8", "repeated bytes": "[][]uint8", "optional bytes": "[]uint8",
	"string": "string", "bool": "bool", "uint32": "uint32", "optional uint32": "*uint32",
	"sint32": "int32", "optional sint32": "*int32", "int64": "int64",
	"optional int64": "*int64", "uint64": "remote.Uint64",
	"repeated uint64": "[]remote.Uint64", "Durability": "string", "Code": "string",
	"DelayMode": "string", "Kind": "string", "Sort": "string"}

func TestTheMessagesHaveTheFieldsOfTheProto(t *testing.T) {
	fields := protoFields(t)
	for name, m := range map[string]any{
		"Error": MessageError{}, "AddRequest": AddRequest{}, "AddResponse": AddResponse{},
		"CountsRequest": QueueRequest{}, "ResumeRequest": QueueRequest{},
		"DeleteQueueRequest": QueueRequest{}, "QueueCounts": QueueCounts{},
		"KeyFilter": KeyFilter{}, "SearchRequest": SearchRequest{}, "KeyRow": KeyRow{},
		"SearchResponse": SearchResponse{}, "ChangeRequest": ChangeRequest{},
		"ChangeResponse": ChangeResponse{}, "PauseRequest": PauseRequest{},
		"FlushRequest": FlushRequest{}, "GetStoreResponse": GetStoreResponse{},
		"WorkRequest": WorkRequest{}, "Hello": Hello{}, "Answer": Answer{}, "Failed": Failed{},
		"RequeueAfter": RequeueAfter{}, "WorkResponse": WorkResponse{}, "Welcome": Welcome{},
		"Assignment": Assignment{}, "AnswerResult": AnswerResult{}, "AddedAgain": AddedAgain{},
		"Lost": Lost{}, "SendRequest": SendRequest{},
		"RefusedKey": reflect.New(reflect.TypeOf(AddResponse{}.Refused).Elem()).Elem().Interface(),
		"StoreQueue": reflect.New(reflect.TypeOf(GetStoreResponse{}.Queues).Elem()).Elem().Interface(),
	} {
		of := reflect.TypeOf(m)
		for i := 0; i < of.NumField(); i++ {
			f := of.Field(i)
			tag, options, _ := strings.Cut(f.Tag.Get("json"), ",")
			kind, known := fields[name+"."+tag]
			switch want, simple := goTypes[kind]; {
			case name == "WorkResponse" && tag == "error": // Of HTTP: the last line of a stream.
			case !known:
				t.Errorf("the message %s has no field %s", name, tag)
			case simple && f.Type.String() != want:
				t.Errorf("%s.%s is a %s, so not a %s", name, tag, kind, f.Type)
			case strings.HasSuffix(kind, "int64") && f.Type.Kind() != reflect.Slice &&
				want != "remote.Uint64" && !strings.HasSuffix(options, "string"):
				t.Errorf("%s.%s is written as a number", name, tag)
			case !simple && f.Type.Kind() != reflect.Pointer && f.Type.Kind() != reflect.Struct &&
				f.Type.Kind() != reflect.Slice:
				t.Errorf("%s.%s is a %s, so not a %s", name, tag, kind, f.Type)
			}
		}
	}
}

// The texts are those of protobuf's JSON mapping.
func TestMessagesAreProtobufsJSON(t *testing.T) {
	capacity := uint32(0)
	got, err := json.Marshal(SendRequest{Session: "s", Request: WorkRequest{
		Answers: []Answer{{Token: 1<<63 + 1, Failed: &Failed{Error: "e\xff"}},
			{Token: 2, Done: &Empty{}}, {Token: 3, RequeueAfter: &RequeueAfter{DelayUs: 5}}},
		Capacity: &capacity, AddedAgain: []Uint64{7}}})
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"session":"s","request":{"answers":[` +
		`{"token":"9223372036854775809","failed":{"error":"e\ufffd"}},{"token":"2","done":{}},` +
		`{"token":"3","requeue_after":{"delay_us":"5"}}],"capacity":0,"added_again":["7"]}}`
	if string(got) != want {
		t.Fatalf("got  %s\nwant %s", got, want)
	}
	var m WorkResponse
	err = json.Unmarshal([]byte(`{"assignments":[{"key":"AP8=","token":"18446744073709551615",`+
		`"attempt":"1","failures":"0","last_error":"","lane":-100,"group":"","added_at_us":"1"}],`+
		`"results":[],"added_again":[{"token":7,"added_again":true,"held":true}],"lost":[]}`), &m)
	if err != nil {
		t.Fatal(err)
	}
	a := m.Assignments[0]
	if string(a.Key) != "\x00\xff" || a.Token != 1<<64-1 || a.Lane != -100 || !m.AddedAgain[0].Held {
		t.Fatalf("%+v", m)
	}
	for code, want := range map[string]string{"CODE_NOT_FOUND": "NotFound", "NotFound": "NotFound",
		"CODE_IO_ERROR": "IOError", "CODE_SHUTTING_DOWN": "ShuttingDown",
		"CODE_NOT_OWNER": "NotOwner", "CODE_FULL": "Full",
		"CODE_UNAUTHENTICATED": "Unauthenticated", "Unauthenticated": "Unauthenticated"} {
		if e := (&MessageError{Code: code}).Err().(*Error); e.Code != want {
			t.Errorf("%s is %s", code, e.Code)
		}
	}
	if (&MessageError{Code: "CODE_OK"}).Err() != nil || (*MessageError)(nil).Err() != nil {
		t.Error("no error is one")
	}
}
