#!/usr/bin/env bats
# report: the page as a file. What a browser makes of it is in report_browser.bats.
load helpers

# The text between two marks of the page, to the byte.
between() { FROM=$1 TO=$2 perl -0777 -ne 'print $1 if /\Q$ENV{FROM}\E(.*?)\Q$ENV{TO}\E/s' "${3:-r.html}"; }
sha256_base64() { printf "$(sha256sum | cut -c 1-64 | sed 's/../\\x&/g')" | base64; }
# Nothing but these is in the directory of the test.
only() { [ "$(find . -mindepth 1 -maxdepth 1 -printf '%f\n' | sort | tr '\n' ' ')" = "$* " ]; }

@test "a page with the numbers of inspect, that changes nothing" {
  store_with
  give_up hopeless
  fail_once default/db
  wqctl add -q q default/web-1 default/web-2 kube-system/dns
  wqctl add -q q --lane slow late
  wqctl add -q q --after 2h tomorrow
  wqctl add -q r other
  before=$(fingerprint)
  run -0 wqctl report -o r.html
  [ -z "$output" ]
  [ "$before" = "$(fingerprint)" ]
  [ "$(stat -c %a r.html)" = 600 ]
  [ "$(head -1 r.html)" = "<!doctype html>" ]
  [ "$(tail -1 r.html)" = "</html>" ]
  tile() { between "<section class=\"queue\" id=\"queue-$1\">" '</section>' | grep -oE "<span>$2</span><b>[0-9]+" | grep -oE '[0-9]+$'; }
  for name in pending delayed failing quarantined; do
    [ "$(tile q $name)" = "$(queue_count $name)" ]
  done
  [ "$(tile q pending)$(tile q delayed)$(tile q failing)$(tile q quarantined)$(tile r pending)" = 42111 ]
  page=$(<r.html)
  for text in default/db 'no default/db' hopeless tomorrow '<title>store</title>' 'lane slow: 1' 'kube-system: 1'; do
    contains "$page" "$text"
  done
}

@test "the errors of failing and quarantined keys, by what they have in common" {
  store_with
  give_up ns/a-1 ns/a-2 ns/a-3
  fail_once other
  wqctl report -o r.html
  errors=$(between 'Errors, by what they have in common</figcaption>' '</ol>')
  [ "$(grep -c '<li>' <<<"$errors")" = 1 ]
  contains "$errors" '<b>4 keys</b> no &lt;key&gt; [exit status &lt;n&gt;]'
  contains "$errors" '4 failures, 3 in quarantine, last '
  contains "$errors" '<span class="key">other</span>: no other [exit status 1]'
}

@test "beside a running owner, after a crash, and of an empty store" {
  store_with a b
  start work work -q q --follow -- sleep 600
  owned() { [ "$(wqctl inspect -o json | jq .store.owner_alive)" = true ]; }
  until_ok owned
  run -0 wqctl report -o running.html
  contains "$(<running.html)" "pid $PID, running"
  kill -9 "$PID"
  wait "$PID" || true
  run -0 wqctl report -o crashed.html
  contains "$(<crashed.html)" "pid $PID, is gone and did not close it"
  wqctl --store empty init
  run -0 wqctl --store empty report -o empty.html
  contains "$(<empty.html)" "The store has no queue."
}

@test "the page names its own style and script, and nothing from outside" {
  store_with a
  wqctl report -o r.html
  policy=$(between 'Content-Security-Policy" content="' '"')
  style=$(between '<style>' '</style>' | sha256_base64)
  script=$(between '<script>' '</script>' | sha256_base64)
  echo "the hash of the style is $style, of the script $script; the policy is $policy"
  [ "$policy" = "default-src 'none'; img-src data:; style-src 'sha256-$style'; script-src 'sha256-$script'; base-uri 'none'; form-action 'none'" ]
  [ -z "$(grep -oE '(src|href|action|data|poster)="[^"]*"' r.html | grep -vE '^href="(#[^"]*|data:,)"$')" ]
  run ! grep -E 'https?:|url\(|@import|style="|javascript:| on[a-z]+=' r.html
  [ "$(grep -c '<script' r.html)" = 1 ]
}

@test "keys, errors, groups and titles stay text" {
  store_with
  give_up '<b>bold</b>'
  wqctl add -q q -- '<script>alert(1)</script>' '</script>' '"quoted"' "it's" '&amp;' '<img src=x onerror=alert(1)>' \
    $'\342\200\256gnp.exe' $'\377\376' $'\033[31m' $'a\nb' '<!--' ']]>'
  wqctl add -q q --group '"><svg onload=alert(1)>' grouped
  wqctl report --title '</title><script>alert(2)</script>' -o r.html
  [ "$(grep -o '<script' r.html | wc -l)" = 1 ]
  [ "$(grep -o '</script' r.html | wc -l)" = 1 ]
  run ! grep -E '<img|<!--|<b>bold|"><svg|onload=alert\(1\)>|]]>' r.html
  contains "$(<r.html)" '<title>&lt;/title&gt;&lt;script&gt;alert(2)&lt;/script&gt;</title>'
  contains "$(<r.html)" '\u{202e}gnp.exe'
  if LC_ALL=C grep -P '[\x00-\x08\x0b-\x1f\x7f]|\xe2\x80[\xa8-\xae]' r.html; then return 1; fi
  iconv -f UTF-8 -t UTF-8 r.html >/dev/null
  wqctl report --hex -o hex.html
  contains "$(<hex.html)" '<td class="key">fffe</td>'
}

@test "--queue, --limit, --title, --now" {
  store_with
  seq 100 | wqctl add -q q -
  wqctl add -q r small1 small2
  rows() { between '<section id="keys">' '</section>' "$1" | grep -c '^<tr>'; }
  wqctl report -o r.html
  [ "$(rows r.html)" = 102 ]
  # The part that a small queue does not need goes to the others.
  wqctl report --limit 12 -o r.html
  [ "$(rows r.html)" = 12 ]
  contains "$(<r.html)" 'small2'
  wqctl report -q r --limit 1 -o r.html
  [ "$(rows r.html)" = 1 ]
  contains "$(<r.html)" '<title>r in store</title>'
  [[ "$(<r.html)" != *queue-q* ]]
  wqctl report --limit 0 --title Monday --now 2100-01-31T03:12:00Z -o r.html
  contains "$(<r.html)" '<title>Monday</title>'
  contains "$(<r.html)" '2100-01-31T03:12:00.000000Z'
  contains "$(<r.html)" 'for more than an hour'
}

@test "wrong words, a missing store and a missing queue" {
  run -3 wqctl report -o r.html
  store_with a
  run -2 wqctl report
  run -2 wqctl report -o ""
  run -2 wqctl report -o r.html extra
  for words in "--limit -1" "--limit x" "--limit 10001" "--now yesterday"; do
    # shellcheck disable=SC2086
    run -2 wqctl report -o r.html $words
  done
  run -3 --separate-stderr wqctl report -q nope -o r.html
  contains "$stderr" 'no queue "nope"'
  only store
}

@test "a file that cannot be written: exit 1 says why, and the one before stays" {
  store_with a
  run -1 --separate-stderr wqctl report -o missing/r.html
  contains "$stderr" "cannot write missing/r.html: No such file or directory"
  run -1 --separate-stderr wqctl report -o .
  contains "$stderr" "Is a directory"
  run -1 --separate-stderr wqctl report -o /dev/full
  contains "$stderr" "No space left on device"
  run -1 --separate-stderr bash -c '"$WQCTL" report -o - >/dev/full'
  contains "$stderr" "No space left on device"
  echo before >r.html
  run -1 --separate-stderr bash -c 'ulimit -f 4; "$WQCTL" report -o r.html'
  contains "$stderr" "File too large"
  [ "$(<r.html)" = before ]
  only r.html store
}

@test "a directory that may not be written to" {
  store_with a
  mkdir -m 500 closed
  # Root may write everywhere, so its capabilities are dropped.
  run -1 --separate-stderr setpriv --bounding-set -all --inh-caps -all "$WQCTL" report -o closed/r.html
  contains "$stderr" "Permission denied"
}

@test "an existing file is replaced, its mode and the link to it kept" {
  store_with a
  echo before >r.html
  chmod 640 r.html
  ln -s r.html link.html
  exec 7<r.html
  wqctl report -o link.html
  [ "$(stat -c %a r.html)" = 640 ]
  [ -L link.html ]
  [ "$(cat <&7)" = before ] # A reader of the old file can continue.
  [ "$(head -1 r.html)" = "<!doctype html>" ]
  only link.html r.html store
}

@test "to stdout, to a pipe, and to a reader that closes it" {
  store_with a
  wqctl report --now 2100-01-01T00:00:00Z -o r.html
  wqctl report --now 2100-01-01T00:00:00Z -o - | cmp - r.html
  cmp r.html <(wqctl report --now 2100-01-01T00:00:00Z -o /dev/stdout)
  run -0 --separate-stderr bash -c 'set -o pipefail; "$WQCTL" report -o - | head -1 >/dev/null'
  [ -z "$stderr" ]
}

@test "ended by a signal: nothing is left" {
  store_with
  seq 200000 | wqctl add -q q -
  start report report -o r.html
  until_ok bash -c 'compgen -G ".wqctl-*" || [ -e r.html ]'
  kill -TERM "$PID" || true
  wait "$PID" && [ -e r.html ]
  [ -z "$(compgen -G '.wqctl-*')" ]
}

@test "the page stays below 2 MB: many queues, long keys and errors that cost most" {
  wqctl init
  # Each section at its maximum length, with the bytes whose escapes are longest on a page.
  jq -cn '("\"" * 1000) as $long | "2026-01-31T11:00:00Z" as $time | ("q" * 60) as $q | range(400) as $queue |
    {record: "queue", queue: "\($q)\($queue)", created_at: $time, sequence_high_water: 99, shards: 0},
    (range(12) | {queue: "\($q)\($queue)", key: ("\(.)" + $long), state: "delayed", group: $long, added_at: $time,
      ready_at: $time, delay_seconds: 90, failures: 9, last_error: $long, first_failure_at: $time, last_failure_at: $time})' >lines
  wqctl load lines
  wqctl report -o r.html
  [ "$(stat -c %s r.html)" -lt 2000000 ]
  contains "$(<r.html)" "more queues have no section here"
}
