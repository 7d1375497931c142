# What the tests of replication share: an etcd of one member, for one test.

# start_etcd: starts etcd; $ETCD is its address, $ETCD_PID its process, $LOG a log in it.
start_etcd() {
  command -v etcd >/dev/null || skip "no etcd"
  ! wqctl replication status etcd://127.0.0.1:1/p 2>&1 | grep -q 'built without etcd' ||
    skip "wqctl was built without etcd"
  local attempt
  for attempt in {1..10}; do
    # Below the ports that the kernel gives to outgoing connections.
    local client=$((20000 + RANDOM % 6000 * 2))
    local peer=$((client + 1))
    etcd --name one --data-dir "$BATS_TEST_TMPDIR/etcd.$attempt" \
      --listen-client-urls "http://127.0.0.1:$client" \
      --advertise-client-urls "http://127.0.0.1:$client" \
      --listen-peer-urls "http://127.0.0.1:$peer" \
      --initial-advertise-peer-urls "http://127.0.0.1:$peer" \
      --initial-cluster "one=http://127.0.0.1:$peer" \
      >"$BATS_TEST_TMPDIR/etcd.log" 2>&1 3>&- &
    ETCD_PID=$!
    STARTED="${STARTED:-} $ETCD_PID"
    ETCD=127.0.0.1:$client
    LOG=etcd://$ETCD/wq/test
    if until_ok etcd_answers_or_ended && etcd_is_healthy; then return 0; fi
  done
  cat "$BATS_TEST_TMPDIR/etcd.log" >&2
  return 1
}
# A port that another process has ends it.
etcd_answers_or_ended() { etcd_is_healthy || ! kill -0 "$ETCD_PID"; }
etcd_is_healthy() {
  kill -0 "$ETCD_PID" && wqctl replication status "etcd://$ETCD/health" -o json |
    jq -e '.members | length == 1 and .[0].leads'
}

log_status() { wqctl replication status "$LOG" -o json; }
# log_is FILTER: whether the status of the log has it.
log_is() { log_status | jq -e "$1"; }

# replica NAME ARG...: wqctl in the background, with the store and the name of a replica.
replica() {
  local name=$1
  shift
  start "$name" --store "$DIR/$name" "$@" --replicate "$LOG" --replica "$name"
}
