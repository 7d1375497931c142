#!/usr/bin/env bats
# wqctl serve: a daemon that owns a store.
load helpers

# serve ARG...: starts the daemon, and waits until it serves. $SERVER.
serve() {
  start serve serve "$@"
  SERVER=$PID
  until_ok serving
}
serving() { grep -q 'info: serving ' serve.err; }
stop() {
  terminate "$SERVER"
}
# port WORD: "address" or "http".
port() { sed -n "s/.*$1 port \([0-9]*\).*/\1/p" serve.err; }

# Receives systemd's notifications: each datagram is appended to `notified`, its lines in one line.
listen_for_notifications() {
  export NOTIFY_SOCKET=$DIR/notify.sock
  python3 -c '
import os, socket
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
s.bind(os.environ["NOTIFY_SOCKET"])
while True:
    text = s.recv(4096).decode().replace("\n", " ")
    with open("notified", "a") as f:
        f.write(text + "\n")' 3>&- &
  STARTED="${STARTED:-} $!"
  until_ok test -S "$NOTIFY_SOCKET"
}

@test "serve makes a store, opens its queues, and other verbs go through it" {
  run -3 --separate-stderr wqctl serve
  serve --create
  contains "$(cat serve.err)" "serving $WQ_STORE: 0 queues, $WQ_STORE/control.sock"
  [ "$(wc -l < serve.err)" = 1 ]
  run -0 wqctl add -q q a b
  [ "$output" = 'added 2, deduplicated 0' ]
  run -0 wqctl pause -q q --yes
  run -0 wqctl resume -q q --yes
  run -0 --separate-stderr wqctl work -q q -- echo
  [ "$output" = $'a\nb' ]
  run -0 wqctl queue delete -q q --yes
  run -4 --separate-stderr wqctl serve
  contains "$stderr" "is owned by process $SERVER"
  stop
  [ ! -e "$WQ_STORE/control.sock" ]
  wqctl add -q q --after 1ms soon >/dev/null
  serve  # Opens all queues, so that delayed keys become due.
  until_ok test_pending 1
  stop
}
test_pending() { [ "$(queue_count pending)" = "$1" ]; }

@test "an idle server does not wake up" {
  serve --create
  run -0 wqctl add -q q a
  waits() { cat /proc/"$SERVER"/task/*/status | awk '/_ctxt_switches/ { sum += $2 } END { print sum }'; }
  quiet() { local before; before=$(waits); python3 -c 'import select; select.select([], [], [], 0.5)'; [ "$(waits)" = "$before" ]; }
  until_ok quiet
  stop
}

@test "serve --no-create-queues: a client creates no queue; a section of the file does" {
  printf '[queue made]\norder = fifo\n' > config
  serve --create --no-create-queues --config config
  run -3 wqctl add -q q a
  run -0 wqctl add -q made a
  stop
}

@test "a section of the file sets what another Add of a key does, and how long a key may be" {
  printf '%s\n' '[queue q]' 'quarantined-add = release' 're-add = raises-lane' \
    'merge-delays = yes' 'max-key-bytes = 5' 'max-requeues = 1' 'base-delay = 1ms' \
    '[queue other]' 'max-requeues = 1' 'base-delay = 1ms' > config
  serve --create --config config
  for queue in q other; do
    wqctl add -q $queue bad >/dev/null
    run -1 wqctl work -q $queue -- false
    wqctl add -q $queue bad >/dev/null
    wqctl add -q $queue --after 1h late >/dev/null
    wqctl add -q $queue late >/dev/null
    wqctl add -q $queue --lane 7 laned >/dev/null
    wqctl add -q $queue --lane 3 laned >/dev/null
  done
  keys() { wqctl ls -q "$1" --state "$2" -o name | tr '\n' ' '; }
  [ "$(keys q quarantined)" = '' ]
  [ "$(keys other quarantined)" = 'bad ' ]
  [ "$(keys q delayed)" = '' ]
  [ "$(keys other delayed)" = 'late ' ]
  [ "$(keys q pending | tr ' ' '\n' | head -n 1)" = laned ]
  [ "$(wqctl ls -q q --prefix laned -o jsonl | jq -r .lane)" = 7 ]
  [ "$(wqctl ls -q other --prefix laned -o jsonl | jq -r .lane)" = 3 ]
  run -1 --separate-stderr wqctl add -q q sixsix
  contains "$stderr" 'sixsix'
  wqctl add -q other sixsix
  stop
}

@test "the file of --config sets options and queues; the command line takes precedence" {
  printf '%s\n' '# A comment.' 'create = yes' 'http = 127.0.0.1:0' 'grace = 1h' '' '[queue q]' \
    'max-requeues = 1' 'base-delay = 1ms' '[queue *]' 'durability = power' > config
  serve --config config --grace 1s
  [ -n "$(port http)" ]
  wqctl add -q q bad >/dev/null
  run -1 --separate-stderr wqctl work -q q -- false
  contains "$stderr" 'quarantined "bad" after 2 failures'
  stop
}

@test "the file of --config sets flow control" {
  printf '%s\n' '[queue q]' 'order = two-lanes' 'debounce = 1h' 'debounce-max-wait = 2h' \
    '[queue full]' 'order = two-lanes' 'max-pending = 1' 'when-full = wait' 'stuck-after = 1h' \
    '[queue again]' 'resync = 200ms' 'resync-jitter = 0' > config
  serve --create --config config
  wqctl add -q q a >/dev/null
  [ "$(queue_count delayed)" = 1 ]
  wqctl add -q full a >/dev/null
  run -1 wqctl add -q full b
  contains "$output" "queue 'full' is full"
  wqctl add -q again --reason listed a >/dev/null
  start worker work -q again -- sh -c 'echo "$WQ_KEY" >> reconciled'
  local worker=$PID
  until_ok sh -c '[ "$(grep -c ^a$ reconciled)" -ge 3 ]'
  kill "$worker"
  wait "$worker" || :  # It must not own the store when the server has stopped.
  stop
}

@test "the file that docs/wqctl.md shows" {
  sed -n '/^<!-- played by .*serve.bats/,/^```$/p' "$BATS_TEST_DIRNAME/../../docs/wqctl.md" |
    sed '/^```/d; /^<!--/d; s/:7711$/:0/' > config
  grep -q '^\[queue pods\]$' config
  serve --create --config config
  [ "$(wqctl inspect -o name)" = pods ]
  [ -n "$(port address)" ]
  stop
}

@test "serve --log-changes: a line for what wqctl changes, and for nothing else" {
  serve --create --log-changes
  wqctl add -q q a b c
  wqctl delete -q q a --yes
  wqctl pause -q q --yes
  wqctl ls -q q >/dev/null
  grep -Eo '(Queue|Admin)\..*' serve.err | sed 's/unix:[0-9]*/unix:PID/' > changes
  grep -F 'Queue.Add of unix:PID (operator): queue: "q" keys: "a" keys: "b" keys: "c"' changes
  grep -F 'Admin.Change of unix:PID (operator): queue: "q" kind: DELETE keys: "a"' changes
  grep -F 'Admin.Pause of unix:PID (operator): queue: "q": Ok' changes
  [ "$(wc -l < changes)" = 3 ]
  stop
}

@test "serve --address with TLS: a client that knows the CA gets through, another does not" {
  run -2 --separate-stderr wqctl serve --create --address 0.0.0.0:0
  contains "$stderr" '--token-file'
  openssl req -x509 -newkey rsa:2048 -nodes -keyout key.pem -out cert.pem -days 1 \
    -subj /CN=localhost -addext subjectAltName=IP:127.0.0.1 2>/dev/null
  local tls=(--tls-cert cert.pem --tls-key key.pem)
  serve --create --address 127.0.0.1:0 "${tls[@]}"
  contains "$(cat serve.err)" 'with TLS'
  handshake() { openssl s_client -connect "127.0.0.1:$(port address)" -alpn h2 -verify_return_error "$@" </dev/null; }
  run -0 handshake -CAfile cert.pem
  contains "$output" 'ALPN protocol: h2'
  run -1 handshake
  contains "$output" 'certificate verify failed'
  stop
  mkfifo fifo  # It blocks nobody.
  while IFS='|' read -r words message; do
    # shellcheck disable=SC2086
    run -2 --separate-stderr timeout -s KILL 20 "$WQCTL" serve --address $words
    contains "$stderr" "$message"
  done <<'END'
127.0.0.1:0 --tls-cert cert.pem|a certificate file and a key file
127.0.0.1:0 --tls-cert fifo --tls-key fifo|fifo is no regular file
127.0.0.1:0 --tls-any-client|tls_any_client needs TLS
0.0.0.0:0 --tls-cert cert.pem --tls-key key.pem|--tls-client-ca
END
  serve --address 0.0.0.0:0 "${tls[@]}" --tls-client-ca cert.pem
  stop
  serve --address 0.0.0.0:0 "${tls[@]}" --tls-any-client
  stop
}

# get PATH CURL-ARG...: the status; the answer is in `answer`.
get() { curl -s -o answer -w '%{http_code}' "${@:2}" "http://127.0.0.1:$(port http)$1"; }

@test "serve --http: metrics, the page for everybody on this machine, limits, --no-page and --read-only" {
  ulimit -S -n 256
  wqctl init
  wqctl add -q q a
  printf 'max-workers = 1\nmax-grpc-connections = 50\nio-timeout = 2s\nhttp = 127.0.0.1:0\n' > config
  serve --config config --read-only --max-http-connections 1 --max-newcomers 5
  log_has serve 'read-only'
  log_has serve ' with the page'
  [ "$(awk '/Max open files/ { print $4 }' "/proc/$SERVER/limits")" -gt 256 ]
  run -1 --separate-stderr wqctl add -q q b
  contains "$stderr" 'this server is read-only'
  [ "$(get /metrics)" = 200 ]
  grep -q workqueue_depth answer
  [ "$(get /ui/session)" = 200 ]
  [ "$(get /ui/session -H 'Origin: http://evil.example')" = 403 ]
  curl -sN "http://127.0.0.1:$(port http)/grpc.health.v1.Health/Watch" -d '{}' \
    -H 'Content-Type: application/json' > watch 3>&- &
  STARTED="${STARTED:-} $!"
  until_ok grep -q SERVING watch
  [ "$(get /ui/session)" = 503 ]
  [ "$(get /healthz)" = 200 ]
  stop
  printf '%s\n' 'page = no' 'http = 127.0.0.1:0' > config
  serve --config config
  [ "$(get /ui/)" = 404 ]
  [ "$(get /wq.v1.Admin/GetStore -H 'Content-Type: application/json' -d '{}')" = 404 ]
  [ "$(get /healthz)" = 200 ]
  run -1 log_has serve page
  stop
}

@test "serve --http-any-address: the page needs a token" {
  serve --create --http 0.0.0.0:0 --http-any-address
  log_has serve 'without the page, which needs a token there'
  [ "$(get /ui/)" = 404 ]
  [ "$(get /metrics)" = 200 ]
  stop
  (umask 077 && echo first > token && echo second > viewer)
  serve --http 0.0.0.0:0 --http-any-address --token-file token --viewer-token-file viewer
  log_has serve ' with the page'
  [ "$(get /ui/)" = 200 ]
  [ "$(get /metrics)" = 200 ]
  call() { get "/wq.v1.$1" -H 'Content-Type: application/json' -d "$2" "${@:3}"; }
  log_in() { get /ui/login -c cookies -H 'Content-Type: application/json' -d "{\"token\": \"$1\"}"; }
  local add='{"queue": "q", "create": true, "keys": ["YQ=="]}'
  [ "$(call Queue/Add "$add")" = 401 ]
  [ "$(log_in wrong)" = 401 ]
  [ "$(log_in second)" = 200 ]
  [ "$(call Queue/Add "$add" -b cookies)" = 403 ]
  [ "$(log_in first)" = 200 ]
  [ "$(call Queue/Add "$add" -b cookies)" = 200 ]
  [ "$(dumped_keys)" = 'a ' ]
  kill -HUP "$SERVER"
  until_ok log_has serve 'SIGHUP: read the configuration again'
  [ "$(call Queue/Add "$add" -b cookies)" = 401 ]
  stop
}

@test "systemd: READY, RELOADING and READY, STOPPING" {
  listen_for_notifications
  serve --create
  until_ok grep -q '^READY=1 STATUS=serving' notified
  kill -HUP "$SERVER"
  until_ok lines 3 notified
  stop
  until_ok grep -q '^STOPPING=1' notified
  [ "$(cut -d' ' -f1 notified | tr '\n' ' ')" = 'READY=1 RELOADING=1 READY=1 STOPPING=1 ' ]
}

@test "SIGHUP creates the queues of new sections, and says which options need a restart" {
  printf '[queue a]\nmax-requeues = 1\n' > config
  serve --create --config config
  printf '[queue a]\nmax-requeues = 2\n[queue b]\n' > config
  kill -HUP "$SERVER"
  until_ok log_has serve 'SIGHUP: read the configuration again'
  log_has serve 'the other options of queue "a" than its limits change at a restart'
  [ "$(wqctl inspect -o name | tr '\n' ' ')" = 'a b ' ]
  local line message
  while IFS='|' read -r line message; do
    printf '%s\n' "$line" '[queue a]' 'max-processing = 7' > config
    kill -HUP "$SERVER"
    until_ok log_has serve "config:1: $message"
  done <<'END'
wrong|it is not "name = value"
create-queues = false|create-queues is yes or no, not "false"
read-only =|read-only is yes or no, not ""
[queue a/b]|no queue name (1 to 64 of [A-Za-z0-9._-]): 'a/b'
END
  run -0 wqctl add -q a x
  stop
}

@test "SIGTERM waits until workers have answered; a second signal ends at once" {
  store_with a b
  mkfifo gate
  exec 9<> gate
  serve
  start worker work -q q --follow -- sh -c 'echo "$1" >> began; read -r _ < gate; echo "$1" >> ended' _
  local worker=$PID
  until_ok test -s began
  kill -TERM "$SERVER"
  until_ok log_has serve 'SIGTERM: no key is assigned any more'
  echo >&9
  wait "$SERVER"
  [ "$(cat ended)" = a ]
  until_ok grep -qx b began  # The worker owns the store now.
  kill -9 "$worker"
  wait "$worker" || true
  until_ok nobodys  # Its reaper ends its command first.

  serve --grace 1h
  start worker work -q q --follow -- sh -c 'echo > again; read -r _ < gate' _
  until_ok test -e again
  kill -TERM "$SERVER"
  until_ok log_has serve 'SIGTERM: no key is assigned any more'
  terminate "$SERVER"
}

@test "the unit of systemd is valid" {
  command -v systemd-analyze || skip 'systemd-analyze is not installed'
  sed "s|/usr/bin/wqctl|$WQCTL|" "$BATS_TEST_DIRNAME/../../packaging/systemd/wqctl@.service" > wqctl@test.service
  sed -i '/^Documentation=/d' wqctl@test.service
  run -0 systemd-analyze verify --man=no ./wqctl@test.service
  [ -z "$output" ]
}

@test "SIGHUP gives open queues the limits of the file" {
  printf '[queue a]\nmax-processing = 1\n' > config
  serve --create --config config
  wqctl add -q a x y z
  held_back() {
    curl -s --unix-socket "$WQ_STORE/control.sock" -H 'Content-Type: application/json' \
      -d '{"queue": "a"}' http://localhost/wq.v1.Queue/Counts |
      jq -e --arg n "$1" '.held_back == $n' >/dev/null
  }
  "$WQCTL" work -q a -j3 -- sh -c 'until test -e go; do sleep 0.05; done' 2>work.err &
  until_ok held_back 2
  printf '[queue a]\nmax-processing = 2\n' > config
  kill -HUP "$SERVER"
  until_ok held_back 1
  run -1 log_has serve 'change at a restart'
  # A queue that cannot take its limits, before it; and once more with the same file.
  wqctl add -q 0 x
  printf '[queue 0]\nrate = 0.00001\nburst = 4000000000\n[queue a]\nmax-processing = 3\n' > config
  kill -HUP "$SERVER"
  until_ok held_back 0
  until_ok log_has serve 'SIGHUP: queue "0": '
  kill -HUP "$SERVER"
  twice() { [ "$(grep -c 'SIGHUP: queue "0": ' serve.err)" = 2 ]; }
  until_ok twice
  touch go
  wait $!
  stop
}

@test "an owner in another PID namespace is not named by a number that is another one's here" {
  unshare --pid --fork --mount-proc true 2>/dev/null || skip "NOT TESTED: no PID namespace here"
  # Process 1 of a namespace of its own.
  apart() { unshare --pid --fork --mount-proc "$WQCTL" "$@"; }
  store_with a
  wqctl dump >dump
  unshare --pid --fork --mount-proc "$WQCTL" serve >owner.out 2>owner.err 3>&- &
  until_ok pgrep -P $! -x wqctl
  OWNER=$(pgrep -P $! -x wqctl)
  STARTED="${STARTED:-} $OWNER"
  until_ok test -S store/control.sock
  run -0 --separate-stderr apart work -q q -- true
  contains "$stderr" "owned by a process of another PID namespace: working for it"
  rm store/control.sock
  [ "$(cat store/OWNER)" = 1 ]
  for words in "serve" "load dump" "repair --into new" "add -q q k" "pause -q q --yes" "workers"; do
    # shellcheck disable=SC2086
    run -4 --separate-stderr apart $words
    contains "$stderr" "owned by a process of another PID namespace"
  done
  run -0 apart inspect
  contains "$output" "a process of another PID namespace, running"
  # From here the owner can be seen, with another number.
  run -0 wqctl inspect
  contains "$output" "process $OWNER, running"
  run -4 --separate-stderr wqctl load dump
  contains "$stderr" "is owned by process $OWNER"
}
