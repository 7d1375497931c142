#!/usr/bin/env bats
# report in a browser: headless Chromium, driven by its DevTools protocol over a pair of pipes.
load helpers

# Starts Chromium; skips the test if it is not installed (tools/dev/deps.sh check installs it).
browse() {
  command -v chromium >/dev/null || skip "no chromium"
  local sandbox=()
  ((EUID != 0)) || sandbox=(--no-sandbox) # It refuses to be root in one.
  mkfifo to from
  exec 5<>to 6<>from
  HOME=$DIR chromium --headless "${sandbox[@]}" --disable-gpu --disable-dev-shm-usage --no-first-run \
    --disable-background-networking --disable-component-update --user-data-dir="$DIR/profile" \
    --remote-debugging-pipe about:blank 3<to 4>from 5>&- 6>&- >/dev/null 2>chromium.err &
  STARTED="${STARTED:-} $!"
  LAST=0
  SESSION=
  call Target.createTarget '{"url":"about:blank"}'
  call Target.attachToTarget "{\"targetId\":$(jq .result.targetId <<<"$ANSWER"),\"flatten\":true}"
  SESSION=$(jq -r .result.sessionId <<<"$ANSWER")
  call Page.enable '{}'
  call Network.enable '{}'
  call Runtime.enable '{}'
}

# until_message TEXT: reads messages, each ended by NUL, until one contains TEXT.
until_message() {
  local message
  while IFS= read -r -d '' -t 20 message <&6; do
    printf '%s\n' "$message" >>messages
    [[ $message != *"$1"* ]] || { ANSWER=$message && return; }
  done
  echo "no $1 from the browser: $(tail -5 chromium.err)" >&2
  return 1
}

# call METHOD PARAMETERS: the answer is in ANSWER.
call() {
  printf '{"id":%d,"method":"%s","params":%s%s}\0' $((++LAST)) "$1" "$2" \
    "${SESSION:+,\"sessionId\":\"$SESSION\"}" >&5
  until_message "{\"id\":$LAST,"
}

show() { # URL
  : >messages
  call Page.navigate "{\"url\":\"about:blank\"}"
  until_message Page.loadEventFired
  : >messages
  call Page.navigate "{\"url\":\"$1\"}"
  until_message Page.loadEventFired
}

# value_of EXPRESSION: the value of a JavaScript expression in the page.
value_of() {
  call Runtime.evaluate "$(jq -cn --arg e "$1" '{expression: $e, returnByValue: true}')"
  jq -r .result.result.value <<<"$ANSWER"
}

# The requests of the page, and those that its policy forbade.
fetched() {
  jq -r 'select(.method == "Network.requestWillBeSent") | .params.request.url' messages | grep -v "/r.html$"
}
complaints() { jq -c 'select(.method == "Runtime.exceptionThrown" or .method == "Page.javascriptDialogOpening" or
  .method == "Runtime.consoleAPICalled" or .method == "Log.entryAdded")' messages; }

shown_keys() {
  value_of '[...document.querySelectorAll("#keys tbody tr")].filter((row) => !row.hidden)
    .map((row) => row.querySelector(".key").textContent).join(" ")'
}
type_in() {
  value_of "search.value = $(jq -cn --arg text "$1" '$text'); search.dispatchEvent(new Event('input')); shown.textContent"
}
click() { value_of "[...document.querySelectorAll('#keys button')].find((b) => b.textContent === '$1').click()"; }

UGLY=('<script>alert(1)</script>' '</script><script>alert(2)</script>' '"onmouseover="alert(3)' "it's" '&lt;b&gt;'
  '<img src="http://127.0.0.1:9/x.png" onerror="alert(4)">' '<link rel=stylesheet href=//127.0.0.1:9/x.css>'
  $'\342\200\256gnp.exe' $'\377\376' $'\033[31mred' $'new\nline' '{{7*7}}' '日本')

@test "the check for requests detects a request" {
  browse
  echo '<!doctype html><img src="http://127.0.0.1:9/x.png">' >r.html
  show "file://$PWD/r.html"
  [ "$(fetched)" = "http://127.0.0.1:9/x.png" ]
}

@test "nothing is fetched, ugly keys are text, the table is searched and sorted" {
  store_with
  give_up 'default/<b>bold</b>'
  wqctl add -q q -- "${UGLY[@]}"
  wqctl add -q q --group '<svg onload=alert(5)>' default/web-1 default/web-2
  wqctl add -q q --after 1h default/later
  wqctl add -q q --after 2h default/latest
  wqctl report --title '<script>alert(6)</script>' -o r.html
  browse
  show "file://$PWD/r.html"
  [ "$(value_of 'document.title')" = '<script>alert(6)</script>' ]
  # The only script and the only style sheet are the page's own, and its policy allows them.
  [ "$(value_of '[document.scripts.length, document.styleSheets.length, search.form.hidden].join()')" = 1,1,false ]
  [ "$(value_of 'getComputedStyle(document.body).maxWidth')" = 1280px ]
  [ "$(value_of 'document.querySelectorAll("body img, body link, body b b, td svg, td b").length')" = 0 ]
  # The page shows each key as ls does.
  value_of '[...document.querySelectorAll("#keys td.key")].map((cell) => cell.textContent).sort().join("\n")' >found
  LC_ALL=C sort <(wqctl ls -o table | sed '1d; s/^q  *//; s/   *\(pending\|delayed\|quarantined\) .*//') >expected
  LC_ALL=C sort found | diff expected -

  [ "$(type_in 'WEB-')" = "2 of 18" ]
  [ "$(shown_keys)" = "default/web-1 default/web-2" ]
  [ "$(type_in 'web- 2')" = "1 of 18" ]
  [ "$(type_in '<script>')" = "2 of 18" ]
  [ "$(type_in 'nowhere')" = "0 of 18" ]
  [ "$(type_in '')" = "18 rows" ]
  click quarantined
  [ "$(shown_keys)" = 'default/<b>bold</b>' ]
  [ "$(value_of 'location.hash')" = "#find=quarantined" ]
  click quarantined
  click due
  [[ "$(shown_keys)" == "default/later default/latest "* ]]
  click due
  [[ "$(shown_keys)" == "default/latest default/later "* ]]
  click key
  [[ "$(shown_keys)" == '"onmouseover='* ]]
  [ -z "$(fetched)$(complaints)" ]
}

@test "an address with a search, narrow, dark and on paper" {
  store_with
  seq -f 'default/web-%g' 40 | wqctl add -q q -
  wqctl report -o r.html
  browse
  show "file://$PWD/r.html#find=web-3%20pending"
  [ "$(value_of shown.textContent)" = "11 of 40" ]
  call Emulation.setDeviceMetricsOverride '{"width":400,"height":800,"deviceScaleFactor":1,"mobile":false}'
  [ "$(value_of 'document.documentElement.scrollWidth <= 400')" = true ]
  # No cell is out of sight.
  [ "$(value_of '[...document.querySelectorAll(".rows tr:not([hidden]) td")].filter((cell) => cell.getBoundingClientRect().right > 400).length')" = 0 ]
  [ "$(value_of 'getComputedStyle(document.querySelector(".rows td.lane"), "::before").content')" = '"lane "' ]
  light=$(value_of 'getComputedStyle(document.body).backgroundColor')
  call Emulation.setEmulatedMedia '{"features":[{"name":"prefers-color-scheme","value":"dark"}]}'
  [ "$light" = 'rgb(246, 247, 249)' ]
  [ "$(value_of 'getComputedStyle(document.body).backgroundColor')" = 'rgb(18, 21, 26)' ]
  call Emulation.setEmulatedMedia '{"media":"print","features":[{"name":"prefers-color-scheme","value":"dark"}]}'
  [ "$(value_of 'getComputedStyle(document.body).backgroundColor')" = 'rgb(255, 255, 255)' ]
  [ "$(value_of 'getComputedStyle(search.form).display')" = none ]
}

@test "a long table on paper: its first hundred rows, on a few pages" {
  store_with
  seq -f 'default/web-with-a-name-of-some-length-%g' 500 | wqctl add -q q -
  wqctl report -o r.html
  browse
  show "file://$PWD/r.html"
  [ "$(value_of 'document.querySelectorAll(".rows tbody tr").length')" = 500 ]
  call Page.printToPDF '{}'
  pages=$(jq -r .result.data <<<"$ANSWER" | base64 -d | grep -ac '/Type */Page\>')
  echo "$pages pages"
  [ "$pages" -ge 2 ]
  [ "$pages" -le 8 ]
}
