#!/usr/bin/env bash
# demo.sh ETCD_MIRROR WQCTL: two etcd_mirrors on one log, each with a store of its own. One of them is
# killed again and again (KILLS, 6) while keys of the source change. At the end both sides must be
# equal, and the source must have been listed once: no event was missed in between.
set -euo pipefail

mirror=$(realpath -- "${1:?usage: demo.sh ETCD_MIRROR WQCTL}")
wqctl=$(realpath -- "${2:?usage: demo.sh ETCD_MIRROR WQCTL}")
kills=${KILLS:-6}
seed=${SEED:-$RANDOM}
RANDOM=$seed
dir=$(mktemp -d)
declare -A pids=()
cleanup() {
  kill -9 "${pids[@]}" 2>/dev/null || true
  wait 2>/dev/null || true
  rm -rf "$dir"
}
trap cleanup EXIT
fail() {
  echo "demo: $*" >&2
  tail -n 20 "$dir"/*.log >&2
  exit 1
}
# Waits until the command succeeds, at most 60 s.
eventually() {
  local until=$((SECONDS + 60))
  until "$@"; do ((SECONDS < until)) || fail "in vain: $*"; done
}

# --- etcd ---

healthy() { curl -sf --max-time 1 "http://$etcd/health" | grep -q true; }
start_etcd() {
  local port
  for _ in {1..20}; do
    port=$((20000 + RANDOM % 6000 * 2))
    etcd=127.0.0.1:$port
    etcd --data-dir "$dir/etcd.$port" --log-level error \
      --listen-client-urls "http://$etcd" --advertise-client-urls "http://$etcd" \
      --listen-peer-urls "http://127.0.0.1:$((port + 1))" \
      --initial-advertise-peer-urls "http://127.0.0.1:$((port + 1))" \
      --initial-cluster "default=http://127.0.0.1:$((port + 1))" >"$dir/etcd.log" 2>&1 &
    pids[etcd]=$!
    until healthy; do kill -0 "${pids[etcd]}" 2>/dev/null || continue 2; done
    return
  done
  fail 'etcd does not start'
}

# change COUNT: puts and deletes keys of the source, over one connection.
changes=0
change() {
  local i key
  for ((i = 0; i < $1; ++i)); do
    key=$(printf '/source/key %d' $((RANDOM % 200)) | base64)
    if ((RANDOM % 4)); then
      printf 'url = "http://%s/v3/kv/put"\ndata = "{\\"key\\":\\"%s\\",\\"value\\":\\"%s\\"}"\n' \
        "$etcd" "$key" "$(printf 'change %d' "$((changes + i))" | base64)"
    else
      printf 'url = "http://%s/v3/kv/deleterange"\ndata = "{\\"key\\":\\"%s\\"}"\n' "$etcd" "$key"
    fi
    ((i + 1 == $1)) || echo next
  done >"$dir/changes"
  curl -sf --parallel-max 1 -K "$dir/changes" >/dev/null || fail 'etcd refuses a change'
  changes=$((changes + $1))
}

# --- The mirrors ---

start() { # start NAME
  "$mirror" "$etcd" /source/ "$dir/target" --store "$dir/store-$1" --log /mirror --replica "$1" \
    --lease 2 2>>"$dir/$1.log" &
  pids[$1]=$!
}
# Whether another ownership has begun than the last one that was seen; $owner is its name.
epoch=0
owned() {
  local status
  status=$("$wqctl" replication status "etcd://$etcd/mirror" -o json 2>/dev/null || true)
  owner=$(jq -r '.owner.name // empty' <<<"$status")
  local now
  now=$(jq -r '.owner.epoch // 0' <<<"$status")
  [[ -n $owner && $now != "$epoch" ]] && epoch=$now
}
listed() { grep -q '^listed' "$dir"/*.log; }

equal() {
  local key value file files=0
  while read -r key value; do
    file=$dir/target/$(base64 -d <<<"$key" | sed 's|/|%2F|g; s| |%20|g')
    [[ -f $file ]] && base64 -d <<<"$value" | cmp -s - "$file" || return 1
    files=$((files + 1))
  done < <(curl -sf "http://$etcd/v3/kv/range" \
    -d "{\"key\":\"$(printf /source/ | base64)\",\"range_end\":\"$(printf /source0 | base64)\"}" |
    jq -r '.kvs[]? | "\(.key) \(.value)"')
  [[ $(find "$dir/target" -maxdepth 1 -type f | wc -l) == "$files" ]]
}

echo "seed $seed"
start_etcd
change 100
start a
start b
eventually listed
for ((round = 0; round < kills; ++round)); do
  change $((20 + RANDOM % 100))
  eventually owned
  kill -9 "${pids[$owner]}"
  wait "${pids[$owner]}" 2>/dev/null || true
  change $((20 + RANDOM % 100))
  start "$owner"
done
change 50
eventually owned
eventually equal
lists=$(grep -hc '^listed' "$dir"/[ab].log | awk '{ n += $1 } END { print n }')
takeovers=$(grep -hc '^owner' "$dir"/[ab].log | awk '{ n += $1 } END { print n }')
echo "kills $kills, changes $changes, takeovers $takeovers, lists $lists: both sides are equal"
[[ $lists == 1 ]] || fail "the source was listed $lists times, not once"
