#!/usr/bin/env bats
# Every screen of one store, as a user sees it: goldens/screens has the commands and their output.
# WQ_GOLDENS=write writes it again.
load helpers

GOLDENS=$BATS_TEST_DIRNAME/goldens

# Replaces what differs between runs. Columns keep their widths.
steady() {
  sed -E -e 's/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/00000000-0000-0000-0000-000000000000/g' \
    -e 's/pid [0-9]+/pid N/g' -e 's/^[0-9]{2}(:[0-9]{2}){2}Z/hh:mm:ssZ/' -e 's/ +$//' \
    -e '/^(made|opened|written) /d' -e '/^files /,/^$/{/./d}'
}

@test "the screens are unchanged" {
  wqctl load "$GOLDENS/store.jsonl" >/dev/null
  mkdir bin && ln -s "$WQCTL" bin/wqctl
  PATH=$DIR/bin:$PATH
  export WQ_STORE=store COLUMNS=80 NOW=2026-01-31T12:00:00Z
  while IFS= read -r line; do
    printf '$ %s\n' "$line"
    sh -c "$line" 2>&1 | steady
  done < <(sed -n 's/^\$ //p' "$GOLDENS/screens") >screens
  [ "${WQ_GOLDENS:-}" != write ] || cp screens "$GOLDENS/screens"
  [ -s screens ]
  diff "$GOLDENS/screens" screens
}
