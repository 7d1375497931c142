#!/usr/bin/env bats
# ui: the page of a store that nobody serves.
load helpers

@test "ui shows a store, says where, changes nothing, and ends with SIGTERM" {
  store_with
  wqctl add -q q a b
  wqctl ls -q q -o name > before
  start ui ui
  until_ok grep -q '^open http://127\.0\.0\.1:[0-9]*/ui/$' ui.out
  url=$(sed -n 's|^open \(.*\)/ui/$|\1|p' ui.out)
  curl -fsS "$url/ui/" | grep -q '<title>'
  run -0 curl -fsS -H 'Content-Type: application/json' -d '{"queue": "q"}' "$url/wq.v1.Browse/Search"
  [ "$(jq -r .matched <<< "$output")" = 2 ]
  run -22 curl -fsS -H 'Content-Type: application/json' -d '{"queue": "q"}' "$url/wq.v1.Admin/Pause"
  wqctl add -q q c  # The page is no owner.
  wqctl rm -q q --yes c > /dev/null
  wqctl ls -q q -o name | diff before -
  terminate
}

@test "ui: no store, an address of another machine" {
  run -3 --separate-stderr wqctl --store none ui
  store_with
  run -2 --separate-stderr wqctl ui --http 192.0.2.1:80
  [[ $stderr == *192.0.2.1* ]]
  run -2 --separate-stderr wqctl ui --http-any-address --http 0.0.0.0:0
  [[ $stderr == *token* ]]
}
