#!/usr/bin/env bats
# What every verb says to a store that it cannot use.
load helpers

# Every verb that needs a store, with valid arguments.
VERBS=(inspect "report -o page" ls dump verify "quarantine ls" "cursor ls" "cursor get -q q c" "watch --count 1"
  "add -q q k" "work -q q -- true" "rm -q q --yes k" "cancel-delay -q q --yes k" "requeue -q q --yes k"
  "forget -q q --yes k" "quarantine release -q q --yes k" "quarantine drop -q q --dry-run k"
  "pause -q q --yes" "resume -q q --yes" "load line" "load --dry-run line" "repair --into new"
  "snapshot create kept" "diff store store")

# every CODE TEXT EXCEPT...: each verb but EXCEPT ends with the code, and writes one line with the
# text to stderr.
every() {
  local code=$1 text=$2 words
  shift 2
  echo '{"queue":"q","key":"k","state":"pending"}' >line
  for words in "${VERBS[@]}"; do
    [[ " $* " != *" ${words%% *} "* ]] || continue
    echo "# $words"
    # shellcheck disable=SC2086
    run "-$code" --separate-stderr "${AS[@]}" "$WQCTL" $words
    # shellcheck disable=SC2154 # run sets it.
    contains "$stderr" "$text"
    [ "$(wc -l <<<"$stderr")" = 1 ]
    [ ! -e new ] && [ ! -e kept/.creating ]
  done
}

@test "another format, older or newer: exit 1 names both versions, and nothing changes" {
  store_with k
  for version in 0 3; do
    sed -i "s/^wq-store [0-9]*/wq-store $version/" store/FORMAT
    before=$(fingerprint)
    every 1 "has format version $version; this wq reads versions 1 to 2"
    [ "$before" = "$(fingerprint)" ]
  done
}

@test "a file of the store is missing: exit 5 names it, and nothing changes" {
  store_with k
  rm store/MANIFEST-*
  before=$(fingerprint)
  every 5 "MANIFEST-" repair verify
  run -5 wqctl verify
  [ "$before" = "$(fingerprint)" ]
}

@test "no permission: exit 1 says so" {
  store_with k
  AS=()
  if [ "$EUID" = 0 ]; then
    AS=(setpriv --reuid=65534 --regid=65534 --clear-groups)
    chmod 777 "$DIR"
    "${AS[@]}" "$WQCTL" --version >/dev/null 2>&1 || skip "another user cannot run $WQCTL"
  else
    chmod 000 store
  fi
  every 1 "Permission denied"
  chmod 700 store
}

@test "no permission to write where it should: exit 1 says where, and nothing is made" {
  store_with k
  wqctl dump >lines
  wqctl snapshot create kept >/dev/null
  mkdir -m 755 closed
  AS=()
  if [ "$EUID" = 0 ]; then
    AS=(setpriv --reuid=65534 --regid=65534 --clear-groups)
    chmod 755 "$DIR"
    chown -R nobody store kept
    "${AS[@]}" "$WQCTL" --version >/dev/null 2>&1 || skip "another user cannot run $WQCTL"
  else
    chmod 555 closed
  fi
  for words in "report -o closed/page" "snapshot create closed" "snapshot create closed/kept" \
    "snapshot restore kept --into closed/new" "repair --into closed/new" "--store closed/new init" \
    "--store closed/new load lines"; do
    # shellcheck disable=SC2086
    run -1 --separate-stderr "${AS[@]}" "$WQCTL" $words
    [[ "$stderr" == *closed*"Permission denied" ]] || { echo "$words: $stderr"; false; }
    [ "$(wc -l <<<"$stderr")" = 1 ]
    [ -z "$(ls -A closed)" ]
  done
}

@test "a torn log, as a kill leaves it: every verb works with the intact records" {
  store_with k
  start owner work -q q --follow -- true
  until_ok test -S store/control.sock
  wqctl add -q q first second >/dev/null
  kill -9 "$PID"
  wait "$PID" || true
  log=$(find store -name '*.log' -size +0 | sort | tail -1)
  truncate -s -3 "$log"
  run -0 wqctl verify
  run -0 wqctl inspect
  contains "$output" "is gone and did not close it"
  run -0 wqctl watch --count 1 -q q
  [ "$(jq .live <<<"$output")" = false ]
  run -0 wqctl add -q q third
  contains "$(dumped_keys)" third
  run -0 wqctl verify
}

@test "the reader closes stdout: no message, and exit 0" {
  store_with
  seq 20000 | wqctl add -q q - >/dev/null
  wqctl --store other init >/dev/null
  for words in dump ls "ls -o json" "ls -o name" "diff other store" inspect "completion bash" man; do
    # shellcheck disable=SC2086
    { code=0; wqctl $words 2>err || code=$?; echo "$code" >code; } | head -1 >/dev/null
    [ ! -s err ]
    [ "$(cat code)" = 0 ] || [ "$words:$(cat code)" = "diff other store:1" ]
  done
}

@test "a stdin and a stdout that do not block, as another process made them: waited for" {
  wqctl init
  run -0 python3 - <<'END'
import os, subprocess

wqctl = os.environ["WQCTL"]
read, write = os.pipe()
os.set_blocking(read, False)
add = subprocess.Popen([wqctl, "add", "-q", "q", "-"], stdin=read)
os.close(read)
keys = "".join(f"key-{i}\n" for i in range(20000)).encode()
for at in range(0, len(keys), 1000):
    os.write(write, keys[at : at + 1000])
os.close(write)
assert add.wait() == 0

read, write = os.pipe()
os.set_blocking(write, False)
ls = subprocess.Popen([wqctl, "ls", "-o", "name"], stdout=write)
os.close(write)
listed = b""
while part := os.read(read, 1000):
    listed += part
assert ls.wait() == 0
assert listed == keys, len(listed)
END
}

@test "a terminal of 40 columns: the text of inspect fits" {
  store_with
  give_up "a-key-of-a-rather-long-name/that-nobody-would-like-to-read"
  wqctl add -q q --lane slow b c >/dev/null
  COLUMNS=40 run -0 wqctl inspect
  # Lines with the store's path, its uuid and file names are not shortened.
  longest=$(grep -v -e ^store -e ^uuid -e ^files <<<"$output" | wc -L)
  [ "$longest" -le 40 ] || { grep -E '.{41}' <<<"$output"; false; }
}
