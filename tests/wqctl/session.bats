#!/usr/bin/env bats
# The session of docs/wqctl.md, command by command: the output is as shown.
load helpers

ago() { date -u -d "$1 ago" +%FT%TZ; }

# The store of a controller that was killed while its only worker held default/web-1.
night_store() {
  cat >lines <<END
{"record":"queue","queue":"pods","created_at":"$(ago '1 day')","sequence_high_water":9,"paused":false,"shards":0}
{"queue":"pods","key":"default/web-1","state":"pending","sequence":1,"added_at":"$(ago '62 minutes')"}
{"queue":"pods","key":"default/web-2","state":"pending","sequence":2,"added_at":"$(ago '20 minutes')"}
{"queue":"pods","key":"kube-system/dns","state":"pending","lane":"slow","sequence":3,"added_at":"$(ago '10 minutes')"}
{"queue":"pods","key":"default/db","state":"delayed","added_at":"$(ago '2 minutes')","ready_at":"$(date -u -d '15 minutes' +%FT%TZ)","delay_seconds":1100,"failures":4,"last_error":"no route to host","first_failure_at":"$(ago '1 hour')","last_failure_at":"$(ago '2 minutes')"}
END
  wqctl load lines >/dev/null
  start controller work -q pods --follow -- sh -c 'echo >started; exec sleep 1000' _
  until_ok test -s started
  kill_owner
}

# The next controller processes all keys but default/db, which fails once more.
next_controller() {
  wqctl requeue -q pods --yes default/db >/dev/null
  start controller work -q pods --follow --base-delay 1h -- \
    sh -c 'case $1 in default/db) echo "no route to host" >&2; exit 1;; esac' _
  until_ok worked_off
  terminate
}
worked_off() { [ "$(wqctl inspect -q pods -o json | jq -c '.queues[0] | [.pending, .delayed]')" = "[0,1]" ]; }

# Replaces what depends on the hour, the process and the widths of columns.
steady() { sed -E 's/[0-9]+[dhms]([0-9]+[hms])?\b/T/g; s/pid [0-9]+/pid N/; s/ +/ /g; s/^ //; s/ $//; /^$/d'; }

# Plays the block behind the heading: its commands, and their expected output.
play() { # play NUMBER
  awk -v block="$1" '/^## A session/ { on = 1 } on && /^```/ { ++fence; next } on && fence == 2 * block - 1' \
    "$BATS_TEST_DIRNAME/../../docs/wqctl.md" >block
  [ -s block ]
  : >got
  while IFS= read -r line; do
    case $line in
      '$ export '*) ;;
      '$ '*)
        echo "# $line"
        sh -c "${line:2}" 2>&1 | steady >got
        ;;
      '' | *…*) ;;
      *) grep -qxF -- "$(steady <<<"$line")" got || { echo "not shown: $line; but:"; cat got; return 1; } ;;
    esac
  done <block
}

@test "the night: wqctl prints what the manual shows" {
  mkdir bin && ln -s "$WQCTL" bin/wqctl
  PATH=$DIR/bin:$PATH
  night_store
  before=$(fingerprint)
  play 1
  [ "$before" = "$(fingerprint)" ]
  [ -s night.jsonl ]
  next_controller
  play 2
  play 3
}
