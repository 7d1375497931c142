#!/usr/bin/env bats
load helpers

names() { wqctl ls -o name "$@" | tr '\n' ' '; }

@test "filters" {
  wqctl init
  give_up bad
  fail_once failing
  wqctl add -q q web-1 web-22 db
  wqctl add -q q --lane slow --group ns1 web-slow
  wqctl add -q q --after 1h soon
  wqctl add -q q --after 30s sooner
  wqctl add -q r other
  [ "$(names)" = "web-1 web-22 db web-slow sooner soon failing bad other " ]
  [ "$(names -q r)" = "other " ]
  [ "$(names --state delayed,quarantined)" = "sooner soon failing bad " ]
  [ "$(names --lane slow)" = "web-slow " ]
  [ "$(names --group ns1)" = "web-slow " ]
  [ "$(names --group '' --state pending)" = "web-1 web-22 db other " ]
  [ "$(names --prefix web- --limit 2)" = "web-1 web-22 " ]
  [ "$(names --hex --prefix 7765622d --lane slow)" = "7765622d736c6f77 " ]
  [ "$(names --match '^web-[0-9]+$')" = "web-1 web-22 " ]
  [ "$(names --match 'o.*r$')" = "sooner other " ]
  [ "$(names --failures-over 0)" = "failing bad " ]
  [ "$(names --due-within 1m)" = "sooner " ]
  [ "$(names --older-than 1h)" = "" ]
  [ "$(names --older-than 1h --now 2100-01-01T00:00:00Z -q r)" = "other " ]
  [ "$(names --older-than 1h --now @-9223372036854775808)" = "" ]
  [ "$(names --due-within 1h --now @9223372036854775807)" = "sooner soon failing " ]
  [ "$(names --sort-by key --limit 3)" = "bad db failing " ]
  [ "$(names --sort-by due --limit 2)" = "sooner soon " ]
  [ "$(names --sort-by age -q q --state pending)" = "web-1 web-22 db web-slow " ]
  [ "$(names --sort-by failures --limit 2)" = "failing bad " ]
  [ "$(names --limit 0)" = "" ]
  [ "$(wqctl ls --state quarantined --match a -o name)" = bad ]
  [ "$(wqctl dump --state quarantined | jq -r .key)" = bad ]
}

@test "failing is a key with failures, in every door: inspect, ls, errors and bulk changes" {
  wqctl init
  give_up bad
  fail_once alone
  wqctl cancel-delay -q q --yes alone
  fail_once fails
  wqctl add -q q waits
  wqctl add -q q --after 1h plain
  [ "$(names --state failing)" = "fails alone " ]
  [ "$(names --state failing,quarantined)" = "fails alone bad " ]
  [ "$(wqctl inspect -o json | jq '.queues[0].failing')" = 2 ]
  [ "$(wqctl errors --state failing -o json | jq 'map(.keys) | add')" = 2 ]
  [ "$(wqctl dump --state failing | jq -r .state | tr '\n' ' ')" = "delayed failing " ]
  [ "$(wqctl cancel-delay -q q --state failing --dry-run | tail -1)" = "to be cancelled 1" ]
  [ "$(wqctl delete -q q --state failing --yes)" = "deleted 2" ]
  [ "$(names)" = "waits plain bad " ]
}

@test "formats" {
  store_with a
  wqctl add -q q --after 1h b
  run -0 wqctl ls
  [[ "${lines[0]}" =~ ^QUEUE\ +KEY\ +STATE\ +LANE\ +GROUP\ +AGE\ +DUE\ +FAILURES\ +LAST\ ERROR$ ]]
  [[ "${lines[2]}" =~ ^q\ +b\ +delayed\ +fast\ +-\ +[0-9]+s\ +in\ 59m.*\ 0\ +-$ ]]
  run -0 wqctl ls --times absolute
  [[ "${lines[1]}" =~ \ 20[0-9-]+T[0-9:.]+Z\  ]]
  run -0 wqctl ls -o wide
  contains "${lines[0]}" SEQUENCE
  [ "$(wqctl ls -o json --state failing)" = "[]" ]
  [ "$(wqctl ls -o name -0 | od -An -c | tr -d ' ')" = 'a\0b\0' ]
  [ "$(wqctl ls --hex -o json | jq -r '.[0].key_hex')" = 61 ]
}
