#!/usr/bin/env bash
# pages_test.sh WQCTL PAGE...: plays the commands of every page in order, as written, each page in one
# shell in an empty directory.
#
# A block ```sh or ```console is played, unless the line before it is one of
#   <!-- played by PATH -->       another test plays it: PATH names this page
#   <!-- not played: REASON -->
# In ```sh every line is a command; in ```console a line after "$ " is, and every other line without
# a … is printed by it. A command must succeed, or end with the status of its comment "# exit N". One
# that begins with wqctl must print something, apart from init and output to a file. A block without a language is a synopsis:
# its options are in the verb's --help.
set -euo pipefail

here=$(dirname -- "$(realpath -- "$0")")
wqctl=$(realpath -- "${1:?usage: pages_test.sh WQCTL PAGE...}")
shift
cd "$here/../.."
root=$PWD
pages=("$@")
scratch=$(mktemp -d)
started=()  # Processes that run until the end.
# The status of the script stays that of its exit: wait returns how a process was killed.
trap '((${#started[@]} == 0)) || { kill -9 "${started[@]}"; wait "${started[@]}"; } 2>/dev/null || true; rm -rf "$scratch"' EXIT
failed=0
complain() {
  echo "pages_test: $*" >&2
  failed=1
}

mkdir "$scratch/bin"
ln -s "$wqctl" "$scratch/bin/wqctl"
export PATH=$scratch/bin:$PATH MANPAGER=cat TMPDIR=$scratch XDG_CONFIG_HOME=$scratch
unset WQ_STORE WQ_CONFIG WQ_OUTPUT WQ_TIMES WQ_COLOR

# Starts an etcd of one member; $LOG is a log in it.
start_etcd() {
  local port
  owner=
  until [[ -n $owner ]] && kill -0 "$owner" 2>/dev/null && { wqctl replication status "$LOG" -o json 2>/dev/null || true; } | jq -e '.members[0].leads' >/dev/null; do
    if [[ -n $owner ]] && kill -0 "$owner" 2>/dev/null; then continue; fi
    port=$((20000 + RANDOM % 6000 * 2))  # Another program may have it: then etcd ends.
    export LOG=etcd://127.0.0.1:$port/wq/pods
    etcd --data-dir "$scratch/etcd.$port" --listen-client-urls "http://127.0.0.1:$port" \
      --advertise-client-urls "http://127.0.0.1:$port" --listen-peer-urls "http://127.0.0.1:$((port + 1))" \
      --initial-advertise-peer-urls "http://127.0.0.1:$((port + 1))" \
      --initial-cluster "default=http://127.0.0.1:$((port + 1))" >/dev/null 2>&1 3>&- &
    owner=$!
    started+=("$owner")
  done
}

# Makes what a page presupposes in its directory.
prepare() { # prepare PAGE
  unset WQ_STORE
  case $1 in
    docs/alerts.md)  # A replicated store with a running owner, and a key in quarantine.
      start_etcd
      export WQ_STORE=$PWD/store
      wqctl init
      wqctl add -q pods bad
      wqctl work -q pods --max-requeues 0 -- false 2>/dev/null || [[ $? == 1 ]]
      wqctl add -q pods default/web-1 default/web-2
      wqctl replication init store "$LOG" --replica node-1
      wqctl serve --replicate "$LOG" --replica node-1 --http 127.0.0.1:0 >serve.log 2>&1 3>&- &
      owner=$!
      started+=("$owner")
      until grep -q 'http port' serve.log; do kill -0 "$owner"; done
      export INSTANCE
      INSTANCE=127.0.0.1:$(grep -o 'http port [0-9]*' serve.log | tr -dc 0-9)
      ;;
    docs/recovery.md)  # A store with a snapshot, which has lost its newest write-ahead log.
      wqctl --store pods.wq init
      wqctl --store pods.wq add -q pods default/web-1
      wqctl --store pods.wq snapshot create --copy snapshots
      wqctl --store pods.wq add -q pods default/web-2
      rm pods.wq/*.log
      ;;
    docs/server.md)  # DIR is the store of a running owner.
      wqctl --store DIR init
      wqctl --store DIR add -q pods default/web-0
      wqctl --store DIR serve >/dev/null 2>&1 3>&- &
      owner=$!
      started+=("$owner")
      until [[ -S DIR/control.sock ]]; do kill -0 "$owner"; done
      ;;
    docs/replication.md)
      start_etcd
      ;;
    docs/wqctl.md)
      export WQ_STORE=$PWD/store
      wqctl init
      wqctl add -q pods default/web-1 default/web-2
      ;;
  esac
}

# --- The player ---

# Prints the blocks of the page, one after another: "LINE LANGUAGE MARK" and the block's lines, each
# behind a |.
blocks() {
  awk '
    /^```/ && !inside { inside = 1; print FNR, (substr($0, 4) == "" ? "synopsis" : substr($0, 4)), mark; next }
    /^```/ { inside = 0; mark = ""; next }
    inside { print "|" $0; next }
    /^<!-- .* -->$/ { mark = substr($0, 6, length($0) - 9); next }
    NF { mark = "" }' "$1"
}

# Writes a command for play.bash: the command, its line, the status and whether it must print.
command_to() { # command_to SCRIPT LINE COMMAND
  local status=0 prints=no
  if [[ $3 =~ '# exit '([0-9]+) ]]; then status=${BASH_REMATCH[1]}; fi
  if [[ $3 =~ ^wqctl\  && ! $3 =~ ^wqctl\ (--store\ [^ ]+\ )?init && ! $3 =~ \>|\ -o\ [a-z]+\. ]]; then prints=yes; fi
  # The command is read from a file, as a shell reads it: without quoting, in the page's own shell.
  printf '%s\n' "$3" >"$1.$2.command"
  printf 'play %q %q %q %q\n' "$2" "$1.$2.command" "$status" "$prints" >>"$1"
}

# Reads a block from stdin, of the page's line $2 and language $3, and adds its commands to SCRIPT.
block_to() { # block_to SCRIPT LINE LANGUAGE
  local number=$2 line command=
  while IFS= read -r line; do
    number=$((number + 1))
    if [[ $3 == console && -z $command && $line != '$ '* ]]; then
      [[ -z $line || $line == *…* ]] || printf 'shows %q %q\n' "$number" "$line" >>"$1"
      continue
    fi
    [[ $3 != console ]] || line=${line#'$ '}
    [[ -n $command || ! $line =~ ^(#|$) ]] || continue
    command+=$line
    if [[ $line == *\\ ]]; then
      command+=$'\n'
      continue
    fi
    command_to "$1" "$number" "$command"
    command=
  done
}

# Checks that a synopsis names verbs and options that the tool has.
synopsis() { # synopsis PAGE LINE < LINES
  local line words help option
  while IFS= read -r line; do
    read -ra words <<<"${line#wqctl }"
    [[ $line == 'wqctl '* ]] || { complain "$1:$2: not of wqctl; a block of commands is \`\`\`sh: $line"; continue; }
    [[ ${words[0]} == [a-z]* ]] || continue  # wqctl [--store DIR] VERB
    if [[ ${words[1]:-} =~ ^[a-z]+$ ]]; then help=$(wqctl "${words[0]}" "${words[1]}" --help 2>&1); else help=$(wqctl "${words[0]}" --help 2>&1); fi ||
      { complain "$1:$2: wqctl has no such verb: $line"; continue; }
    while IFS= read -r option; do
      grep -qE -- "(^|[ ,|[])$option\b" <<<"$help" || complain "$1:$2: --help has no $option: $line"
    done < <(grep -oE -- '(^|[ [|])--?[a-z][a-z-]*' <<<"$line" | tr -d ' [|' | sort -u)
  done
}

# What the page's shell runs.
cat >"$scratch/play.bash" <<'PLAYER'
set -o pipefail
fail() { echo "pages_test: $page:$1: $2" >&2; exit 1; }
play() { # play LINE FILE STATUS PRINTS
  local status=0
  # shellcheck source=/dev/null
  source "$2" >"$out" 2>&1 || status=$?
  [[ $status == "$3" ]] || { cat "$out" >&2; fail "$1" "exit $status, not $3: $(<"$2")"; }
  [[ $4 == no || -s $out ]] || fail "$1" "shows nothing: $(<"$2")"
}
shows() { grep -qxF -- "$2" "$out" || { cat "$out" >&2; fail "$1" "not shown: $2"; }; }
PLAYER

# Plays one page.
page() {
  local line language mark script=$scratch/script code
  rm -f "$script"*
  : >"$script"
  while IFS= read -r code; do
    if [[ $code == \|* ]]; then
      printf '%s\n' "${code:1}" >>"$scratch/block"
      continue
    fi
    flush_block "$1"
    read -r line language mark <<<"$code"
    : >"$scratch/block"
  done < <(blocks "$1"; echo '0 end')
  [[ -s $script ]] || return 0
  mkdir "$scratch/in"
  cd "$scratch/in"
  prepare "$1" >/dev/null
  # shellcheck disable=SC2016
  page=$1 out=$scratch/out timeout 1200 bash -c 'source "$1"; source "$2"' _ "$scratch/play.bash" "$script" \
    </dev/null ||
    complain "$1: not played to its end"
  cd "$root"
  rm -rf "$scratch/in"
}

# Takes the block that has ended, if any: checks its mark, and adds its commands to the script.
flush_block() {
  [[ -n ${line:-} ]] || return 0
  case $language in
    sh | console)
      case $mark in
        'not played: '?*) skipped+=("$1:$line: ${mark#not played: }") ;;
        'played by '*)
          grep -qF -- "$1" "${mark#played by }" || complain "$1:$line: ${mark#played by } does not name this page"
          ;;
        *)
          block_to "$script" "$line" "$language" <"$scratch/block"
          played=$((played + $(wc -l <"$scratch/block")))
          ;;
      esac
      ;;
    synopsis) synopsis "$1" "$line" <"$scratch/block" ;;
    python)
      python3 -c 'import ast, sys; ast.parse(sys.stdin.read())' <"$scratch/block" ||
        complain "$1:$line: not Python"
      ;;
    cpp | c | go | text) ;;
    *) complain "$1:$line: a block of $language is neither played nor checked" ;;
  esac
  line=
}

skipped=()
played=0
for page in "${pages[@]}"; do page "$page"; done
printf 'pages_test: played %d lines of %d pages\n' "$played" "${#pages[@]}"
((${#skipped[@]} == 0)) || printf 'pages_test: not played: %s\n' "${skipped[@]}"
exit "$failed"
