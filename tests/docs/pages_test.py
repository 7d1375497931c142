#!/usr/bin/env python3
"""pages_test.py WQCTL PAGE...: plays the commands of every page in order, as written, each page in one
shell in an empty directory.

A block ```sh or ```console is played. The line before it may be one of
  <!-- played by PATH -->       not here, but by another test: PATH names this page
  <!-- not played: REASON -->
  <!-- after NAME -->           first the function NAME of PREPARED is called
In ```sh every line is a command; in ```console a line after "$ " is, and every other line without
a … is printed by it, but for times, process ids and the widths of columns. A command must succeed, or end with the status of its comment "# exit N". One
that begins with wqctl must print something, apart from init and output to a file. A block without a
language is a synopsis: its options are in the verb's --help."""

import ast
import contextlib
import os
import pathlib
import re
import shlex
import signal
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]

# What the shell of a page begins with.
PLAYER = r"""
set -e
bats_require_minimum_version() { :; }
skip() { echo "cannot be played: $1" >&2; exit 1; }
source "$ROOT/tests/wqctl/helpers.bash"
source "$ROOT/tests/wqctl/etcd.bash"
fail() { echo "pages_test: $PAGE:$1: $2" >&2; exit 1; }
play() { # play LINE COMMAND STATUS PRINTS
  local status=0
  eval "$2" >"$OUT" 2>&1 || status=$?
  [[ $status == "$3" ]] || { cat "$OUT" >&2; fail "$1" "exit $status, not $3: $2"; }
  [[ $4 == no || -s $OUT ]] || fail "$1" "shows nothing: $2"
}
steady() { sed -E 's/[0-9]+[dhms]([0-9]+[hms])?\b/T/g; s/pid [0-9]+/pid N/; s/ +/ /g; s/^ | $//g'; }
shows() {
  grep -qxF -- "$(steady <<<"$2")" <(steady <"$OUT") ||
    { cat "$OUT" >&2; fail "$1" "not shown: $2"; }
}
"""

# What a page presupposes in its directory.
PREPARED = {
    # A replicated store with a running owner, and a key in quarantine.
    "docs/alerts.md": """
start_etcd
export LOG=etcd://$ETCD/wq/pods WQ_STORE=$PWD/store
wqctl init
wqctl add -q pods bad
wqctl work -q pods --max-requeues 0 -- false || [[ $? == 1 ]]
wqctl add -q pods default/web-1 default/web-2
wqctl replication init store "$LOG" --replica node-1
start serve serve --replicate "$LOG" --replica node-1 --http 127.0.0.1:0
until_ok grep 'http port' serve.err
export INSTANCE=127.0.0.1:$(grep -o 'http port [0-9]*' serve.err | tr -dc 0-9)
""",
    # A store with a snapshot, which has lost its newest write-ahead log.
    "docs/recovery.md": """
wqctl --store pods.wq init
wqctl --store pods.wq add -q pods default/web-1
wqctl --store pods.wq snapshot create --copy snapshots
wqctl --store pods.wq add -q pods default/web-2
rm pods.wq/*.log
""",
    # DIR is the store of a running owner.
    "docs/server.md": """
wqctl --store DIR init
wqctl --store DIR add -q pods default/web-0
start serve --store DIR serve
until_ok test -S DIR/control.sock
""",
    "docs/replication.md": """
start_etcd
export LOG=etcd://$ETCD/wq/pods
""",
    "docs/wqctl.md": r"""
export WQ_STORE=$PWD/store
wqctl init
wqctl add -q pods default/web-1 default/web-2
ago() { date -u -d "$1 ago" +%FT%TZ; }
# The store of a controller that was killed while its only worker held default/web-1.
night_store() {
  export WQ_STORE=pod-controller
  wqctl load - >/dev/null <<END
{"record":"queue","queue":"pods","created_at":"$(ago '1 day')","sequence_high_water":9,"paused":false,"shards":0}
{"queue":"pods","key":"default/web-1","state":"pending","sequence":1,"added_at":"$(ago '62 minutes')"}
{"queue":"pods","key":"default/web-2","state":"pending","sequence":2,"added_at":"$(ago '20 minutes')"}
{"queue":"pods","key":"kube-system/dns","state":"pending","lane":"slow","sequence":3,"added_at":"$(ago '10 minutes')"}
{"queue":"pods","key":"default/db","state":"delayed","added_at":"$(ago '2 minutes')","ready_at":"$(ago '-15 minutes')","delay_seconds":1100,"failures":4,"last_error":"no route to host","first_failure_at":"$(ago '1 hour')","last_failure_at":"$(ago '2 minutes')"}
END
  start controller work -q pods --follow -- sh -c 'echo >started; exec sleep 1000' _
  until_ok test -s started
  kill_owner
}
# The next controller processes all keys but default/db, which fails once more.
next_controller() {
  wqctl requeue -q pods --yes default/db >/dev/null
  start controller work -q pods --follow --base-delay 1h -- sh -c 'test "$1" != default/db' _
  until_ok worked_off
  terminate
}
worked_off() {
  wqctl inspect -q pods -o json | jq -e '.queues[0] | .pending == 0 and .delayed == 1'
}
""",
}

complaints, skipped = [], []


def blocks(page):
    """Each block: its line, its language, the mark before it, and its lines."""
    language, mark = None, ""
    for number, line in enumerate(page.read_text().splitlines(), 1):
        if line.startswith("```") and language is None:
            begin, language, lines = number, line[3:] or "synopsis", []
        elif line.startswith("```"):
            yield begin, language, mark, lines
            language, mark = None, ""
        elif language is not None:
            lines.append(line)
        elif found := re.fullmatch("<!-- (.*) -->", line):
            mark = found[1]
        elif line:
            mark = ""


def steps(begin, language, lines):
    """The calls of PLAYER's functions for a block."""
    command = ""
    for number, line in enumerate(lines, begin + 1):
        if language == "console" and not command and not line.startswith("$ "):
            if line and "…" not in line:
                yield shlex.join(["shows", str(number), line])
            continue
        if language == "console":
            line = line.removeprefix("$ ")
        if not command and re.match("#|$", line):
            continue
        command += line
        if line.endswith("\\"):
            command += "\n"
            continue
        status = re.search("# exit ([0-9]+)", command)
        silent = re.match(r"(?!wqctl )|wqctl (--store [^ ]+ )?init", command) or re.search(
            r">| -o [a-z]+\.", command
        )
        yield shlex.join(
            ["play", str(number), command, status[1] if status else "0", "no" if silent else "yes"]
        )
        command = ""


def check_synopsis(where, lines):
    """The verbs and options are ones that the tool has."""
    for line in lines:
        if not line.startswith("wqctl "):
            complaints.append(f"{where}: not of wqctl; a block of commands is ```sh: {line}")
            continue
        words = line.split()[1:]
        if not re.match("[a-z]", words[0]):
            continue  # wqctl [--store DIR] VERB
        verb = words[:2] if re.fullmatch("[a-z]+", "".join(words[1:2])) else words[:1]
        shown = subprocess.run(["wqctl", *verb, "--help"], capture_output=True, text=True)
        if shown.returncode != 0:
            complaints.append(f"{where}: wqctl has no such verb: {line}")
            continue
        for option in sorted(set(re.findall(r"(?:^|[ |[])(--?[a-z][a-z-]*)", line))):
            if not re.search(rf"(^|[ ,|[]){option}\b", shown.stdout, re.MULTILINE):
                complaints.append(f"{where}: --help has no {option}: {line}")


def script_of(name):
    """Checks the blocks of the page, and returns the steps of those that are played."""
    script = []
    for begin, language, mark, lines in blocks(ROOT / name):
        where = f"{name}:{begin}"
        if language in ("sh", "console"):
            if mark.startswith("not played: "):
                skipped.append(f"{where}: {mark.removeprefix('not played: ')}")
            elif mark.startswith("played by "):
                other = mark.removeprefix("played by ")
                if name not in (ROOT / other).read_text():
                    complaints.append(f"{where}: {other} does not name this page")
            else:
                script.append(mark.removeprefix("after ") if mark.startswith("after ") else "")
                script.extend(steps(begin, language, lines))
        elif language == "synopsis":
            check_synopsis(where, lines)
        elif language == "python":
            ast.parse("\n".join(lines), where)
        elif language not in ("cpp", "c", "go", "text"):
            complaints.append(f"{where}: a block of {language} is neither played nor checked")
    return script


def play(name, script):
    with tempfile.TemporaryDirectory() as scratch, tempfile.TemporaryDirectory() as out:
        os.environ.update(PAGE=name, OUT=f"{out}/out", BATS_TEST_TMPDIR=out, TMPDIR=out)
        # What it starts, and does not end itself, ends with its process group.
        shell = subprocess.Popen(
            ["bash", "-c", "\n".join([PLAYER, PREPARED.get(name, ""), "set +e -o pipefail", *script])],
            cwd=scratch,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            if shell.wait(1200) != 0:
                complaints.append(f"{name}: not played to its end")
        except subprocess.TimeoutExpired:
            complaints.append(f"{name}: not played in time")
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(shell.pid, signal.SIGKILL)


def main():
    wqctl, *names = sys.argv[1:]
    played = 0
    with tempfile.TemporaryDirectory() as scratch:
        os.symlink(os.path.realpath(wqctl), f"{scratch}/wqctl")
        for variable in ("WQ_STORE", "WQ_CONFIG", "WQ_OUTPUT", "WQ_TIMES", "WQ_COLOR"):
            os.environ.pop(variable, None)
        os.environ.update(
            PATH=f"{scratch}:{os.environ['PATH']}",
            WQCTL=os.path.realpath(wqctl),
            ROOT=str(ROOT),
            MANPAGER="cat",
            XDG_CONFIG_HOME=scratch,
        )
        for name in names:
            name = os.path.relpath(name, ROOT) if os.path.isabs(name) else name
            if script := script_of(name):
                play(name, script)
                played += len(script)
    print(f"pages_test: played {played} lines of {len(names)} pages")
    for text in [f"not played: {each}" for each in skipped] + complaints:
        print(f"pages_test: {text}")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
