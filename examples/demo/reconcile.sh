#!/bin/sh
# reconcile.sh FILE: the controller's reconcile step. Appends "<sha256>  <file>" to
# $WQ_DEMO_DIR/sums.
#
# Every eighth file, by its contents, fails twice before it succeeds, to show retries. Each line is
# one write to a file opened with O_APPEND, so workers never mix their lines, and a killed worker
# leaves a complete line or none.
set -eu

file=$1
dir=$WQ_DEMO_DIR

printf '%s\n' "$file" >>"$dir/handed-out"
# The first worker of a run records the instant: noclobber lets only one worker create the file.
[ -e "$dir/first.$WQ_DEMO_RUN" ] ||
  (set -C; date +%s%6N >"$dir/first.$WQ_DEMO_RUN") 2>/dev/null || true

sum=$(sha256sum "$file")
sum=${sum%% *}

case $sum in
  [01]*)
    name=$(printf '%s' "$file" | sha256sum)
    tries=$dir/tries/${name%% *}
    case $(cat "$tries" 2>/dev/null) in
      xx*) ;;
      *)
        printf x >>"$tries"
        printf '%s\n' "$file" >>"$dir/failed"
        echo "$file: not yet, try again" >&2
        exit 1
        ;;
    esac
    ;;
esac

printf '%s  %s\n' "$sum" "$file" >>"$dir/sums"
