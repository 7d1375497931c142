#!/usr/bin/env bats
# The question before a change. What the changes do: unit/changes_test.cc.
load helpers

@test "on a terminal it asks, and only a yes is a yes" {
  store_with a b c d e f g
  wqctl add -q q --after 1h l m >/dev/null
  local answer verb
  for answer in n '' Yup; do
    run -1 on_terminal "$answer" rm -q q a
    contains "$output" 'Remove "a" of queue "q"? [y/N]'
    contains "$output" "nothing was changed"
  done
  while IFS='|' read -r verb answer; do
    # shellcheck disable=SC2086
    run -1 on_terminal n $verb
    contains "$output" "$answer? [y/N]"
  done <<'END'
rm -q q --all|Remove all 7 pending keys of queue "q"
rm -q q --match [ab]|Remove 2 pending keys of queue "q" that match
cancel-delay -q q --all|Cancel the delay of all 2 delayed keys of queue "q"
requeue -q q --all|Requeue all 2 delayed keys of queue "q"
delete -q q --all|Delete all 9 keys of queue "q"
pause -q q --for 1h|Pause queue "q" for 1h
queue delete -q q|Delete queue "q": pending 7, delayed 2, failing 0, quarantined 0, cursors 0
END
  [ "$(wqctl ls -o name | wc -l)" = 9 ]
  run -0 on_terminal y rm -q q a b c d e f g
  contains "$output" 'Remove "a", "b", "c", "d", "e" and 2 more of queue "q"? [y/N]'
  contains "$output" "removed 7"
  wqctl delete -q q --all --yes
  give_up x y
  run -0 on_terminal Y release -q q --all
  contains "$output" 'Release all 2 keys in quarantine of queue "q"? [y/N]'
  wqctl pause -q q --yes
  run -0 on_terminal yes resume -q q
  contains "$output" 'Resume queue "q"? [y/N]'
  run -3 on_terminal y rm -q nope a
  [[ "$output" != *"[y/N]"* ]]
}

@test "an order without a limit selects no key" {
  store_with a b
  run -2 wqctl delete -q q --sort-by key --yes
  contains "$output" "which keys?"
  run -0 wqctl delete -q q --sort-by key --limit 1 --yes
  [ "$(dumped_keys)" = "b " ]
}
