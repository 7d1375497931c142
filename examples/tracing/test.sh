#!/usr/bin/env bash
# test.sh PROGRAM: the spans that the program writes have the form of OTLP's file exporter, with its
# names and types and nothing else, and say what has happened.
set -euo pipefail

program=$(realpath -- "${1:?usage: test.sh PROGRAM}")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"
"$program" spans.jsonl >printed
[ "$(grep -c 'traceparent of 55 bytes' printed)" = 2 ]
[ "$(wc -l <spans.jsonl)" = 2 ]

# Each line alone: a reader may begin at any.
jq -e '
  def only(names): (keys - names) == [];
  def id(size): type == "string" and test("^[0-9a-f]{\(size)}$") and (test("^0+$") | not);
  def text: type == "string";
  def nanos: text and test("^[1-9][0-9]{18}$");
  def value:
    length == 1 and (
      (.stringValue | text) or
      ((.intValue | text) and (.intValue | test("^-?[0-9]+$"))) or
      (.arrayValue | type == "object" and only(["values"]) and all(.values[]; value)));
  def attribute: only(["key", "value"]) and (.key | text) and (.value | value);
  def attributes: type == "array" and all(.[]; attribute);
  def link: only(["traceId", "spanId", "attributes"]) and (.traceId | id(32)) and
    (.spanId | id(16)) and ((.attributes // []) | attributes);
  def status: . == null or (only(["code", "message"]) and .code == 2 and (.message | text));
  def span:
    only(["traceId", "spanId", "name", "kind", "startTimeUnixNano", "endTimeUnixNano",
          "attributes", "links", "droppedLinksCount", "status"]) and
    (.traceId | id(32)) and (.spanId | id(16)) and (.name | text) and .kind == 5 and
    (.startTimeUnixNano | nanos) and (.endTimeUnixNano | nanos) and
    .startTimeUnixNano <= .endTimeUnixNano and (.attributes | attributes) and
    all(.links[]; link) and (.status | status);
  only(["resourceSpans"]) and (.resourceSpans | length == 1) and (.resourceSpans[0] |
    only(["resource", "scopeSpans"]) and
    (.resource | only(["attributes"]) and (.attributes | attributes)) and
    (.scopeSpans | length == 1) and (.scopeSpans[0] |
      only(["scope", "spans"]) and (.scope | only(["name"]) and (.name | text)) and
      all(.spans[]; span)))
' spans.jsonl >/dev/null

spans='[.[].resourceSpans[].scopeSpans[].spans[]]'
jq -e -s "$spans"' |
  length == 2 and .[0].traceId != .[1].traceId and
  all(.[]; [.links[].traceId] ==
    ["0af7651916cd43dd8448eb211c80319c", "4bf92f3577b34da6a3ce929d0e0e4736"]) and
  .[0].links[1].spanId == "00f067aa0ba902b7" and
  .[0].links[1].attributes[0].value.stringValue == "Node ready" and
  .[0].status.message == "the image is not there yet" and .[1].status == null and
  ([.[1].attributes[] | select(.key == "wq.failures").value.intValue] == ["1"]) and
  ([.[0].attributes[] | select(.key == "wq.reasons").value.arrayValue.values[].stringValue] ==
    ["resync"])
' spans.jsonl >/dev/null
