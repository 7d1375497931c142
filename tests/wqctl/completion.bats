#!/usr/bin/env bats
# Completion in each shell, and the manual page.
load helpers

# complete_bash WORD...: what bash offers for the last word, sorted, on one line.
complete_bash() {
  bash --norc -c '
    wqctl() { "$WQCTL" "$@"; }
    source completion.bash
    COMP_WORDS=(wqctl "$@")
    COMP_CWORD=$#
    _wqctl "${COMMAND:-wqctl}"
    printf "%s\n" "${COMPREPLY[@]}"' _ "$@" | sort | tr '\n' ' '
}

@test "bash completes verbs, options, their values, queues and directories" {
  store_with a
  wqctl add -q other b >/dev/null
  wqctl completion bash >completion.bash
  contains "$(complete_bash '')" 'add cancel-delay '
  [ "$(complete_bash ins)" = 'inspect ' ]
  [ "$(complete_bash sn)" = 'snapshot ' ]
  [ "$(complete_bash snapshot '')" = 'create ls restore ' ]
  [ "$(complete_bash snapshot r)" = 'restore ' ]
  [ "$(complete_bash add --dur)" = '--durability ' ]
  [ "$(complete_bash add --durability '')" = 'async power process replicated ' ]
  [ "$(complete_bash add --durability = p)" = 'power process ' ]
  [ "$(complete_bash ls -o j)" = 'json jsonl ' ]
  [ "$(complete_bash --col)" = '--color ' ]
  [ "$(COMMAND=$WQCTL WQ_COLOR=wrong complete_bash ins)" = 'inspect ' ]
  [ "$(complete_bash --color '')" = 'always auto never ' ]
  [ "$(complete_bash --progress = n)" = 'never ' ]
  [ "$(complete_bash --color never --progress auto insp)" = 'inspect ' ]
  [ "$(complete_bash ls -q '')" = 'other q ' ]
  [ "$(unset WQ_STORE && complete_bash --store store ls --queue o)" = 'other ' ]
  mkdir -p dir-one
  touch dir-file
  [ "$(complete_bash --store dir-)" = 'dir-one ' ]
  [ "$(complete_bash --store x ls --ti)" = '--times ' ]
  [ "$(complete_bash load dir-)" = 'dir-file dir-one ' ]
  [ "$(complete_bash serve --config dir-)" = 'dir-file dir-one ' ]
  [ "$(complete_bash snapshot create dir-)" = 'dir-one ' ]
  [ "$(complete_bash completion '')" = 'bash fish zsh ' ]
  for words in add work pause promote 'snapshot create one' 'completion bash'; do
    # shellcheck disable=SC2086
    [ "$(complete_bash $words dir-)" = ' ' ]
  done
  [ "$(complete_bash work -q q -- dir-f)" = 'dir-file ' ]
}

@test "bash completes keys of the queue, and expands nothing in them" {
  store_with default/web-1 default/web-2 'a b' $'new\nline' '$(touch ran)' '`touch ran`'
  wqctl add -q other default/other >/dev/null
  wqctl completion bash >completion.bash
  [ "$(complete_bash inspect -q q default/w)" = 'default/web-1 default/web-2 ' ]
  [ "$(complete_bash inspect -q q a)" = 'a\ b ' ]
  [ "$(complete_bash delete -q other '')" = 'default/other ' ]
  [ "$(complete_bash delete --queue = other '')" = 'default/other ' ]
  [ "$(complete_bash release -q other --yes '')" = 'default/other ' ]
  [ "$(complete_bash rm -q q -- default/web-1 default/web-2)" = 'default/web-2 ' ]
  [ "$(complete_bash inspect default/)" = 'default/other default/web-1 default/web-2 ' ]
  [ "$(unset WQ_STORE && complete_bash --store store inspect -q other d)" = 'default/other ' ]
  contains "$(complete_bash inspect -q q '')" "\$'new\\nline'"
  contains "$(complete_bash inspect -q q '')" '\$\(touch\ ran\)'
  contains "$(complete_bash inspect -q q -)" '--exact '
  [ ! -e ran ]
  wqctl add -q q ns=a/pod1 >/dev/null
  [ "$(complete_bash inspect -q q ns)" = 'ns=a/pod1 ' ]
  for split in '=' '= a/p'; do
    # shellcheck disable=SC2086
    [ -z "$(complete_bash inspect -q q ns $split | tr -d ' ')" ]
  done
}

@test "bash offers a key like an option behind -- only, and escapes controls of the direction" {
  store_with a --all $'x\u202ey'
  wqctl completion bash >completion.bash
  [ "$(complete_bash delete -q q '')" = "\$'x\\342\\200\\256y' a " ]
  contains "$(complete_bash delete -q q -- '')" '--all '
  [ "$(complete_bash delete -q q -- --)" = '--all ' ]
}

@test "no verb and no option is forgotten" {
  wqctl completion bash >completion.bash
  wqctl man >wqctl.1
  wqctl --help | sed -n '/^Verbs:/,/^$/s/^  \([a-z-]*\( [a-z]*\)\?\)  .*/\1/p' | sed 's/ *$//' >verbs
  [ "$(wc -l <verbs)" -gt 25 ]
  while read -r verb; do
    grep -qF ".SS ${verb//-/\\-}" wqctl.1
    # shellcheck disable=SC2086
    offered=" $(complete_bash $verb -) "
    # shellcheck disable=SC2086
    options=$(wqctl $verb --help | grep -oE '^  (-[a-z0-9],)?--[a-z-]+' | grep -oE -e '--[a-z-]+')
    for option in $options; do contains "$offered" " $option "; done
  done <verbs
}

@test "zsh completes" {
  command -v zsh >/dev/null || skip "no zsh"
  store_with a
  wqctl completion zsh >_wqctl
  zsh -n _wqctl
  # Replaces the functions that call the line editor.
  offered() {
    zsh -f -c '
      compdef() { :; }
      compadd() { [[ $1 == -- ]] && shift; print -l -- "$@"; }
      _describe() { [[ $1 == -o ]] && shift; print -l -- "${(@P)2%%:*}"; }
      _files() { print files; }
      wqctl() { "$WQCTL" "$@"; }
      source ./_wqctl
      words=(wqctl "$@"); CURRENT=${#words}
      _wqctl' _ "$@" | sort | tr '\n' ' '
  }
  contains "$(offered '')" 'add cancel-delay '
  [ "$(offered snapshot '')" = 'create ls restore ' ]
  [ "$(offered ls -o '')" = 'json jsonl name table text wide ' ]
  [ "$(offered ls -q '')" = 'q ' ]
  [ "$(offered --store '')" = 'files ' ]
  contains "$(offered add -)" '--durability --group '
  wqctl add -q other '$(touch ran)' 'a b' >/dev/null
  [ "$(offered inspect -q q '')" = 'a ' ]
  [ "$(offered delete --queue=other --yes a)" = 'a b ' ]
  [ "$(offered delete -q other '$')" = '$(touch ran) ' ]
  [ ! -e ran ]
  wqctl add -q odd -- --all plain $'x\u202ey' >/dev/null
  [ "$(offered delete -q odd '')" = 'plain ' ]
  [ "$(offered delete -q odd -- --)" = '--all ' ]
}

@test "fish completes" {
  command -v fish >/dev/null || skip "no fish"
  store_with a
  mkdir bin home
  ln -s "$WQCTL" bin/wqctl
  wqctl completion fish >wqctl.fish
  offered() {
    HOME=$DIR/home PATH=$DIR/bin:$PATH fish --no-config \
      -c "source wqctl.fish; complete -C '$1'" | cut -f1 | sort | tr '\n' ' '
  }
  contains "$(offered 'wqctl ')" 'add cancel-delay '
  [ "$(offered 'wqctl snapshot ')" = 'create ls restore ' ]
  [ "$(offered 'wqctl ls -o j')" = 'json jsonl ' ]
  [ "$(offered 'wqctl ls -q ')" = 'q ' ]
  contains "$(offered 'wqctl add --d')" '--durability '
  wqctl add -q other other-key >/dev/null
  [ "$(offered 'wqctl inspect -q q ')" = 'a ' ]
  [ "$(offered 'wqctl delete -q other --yes oth')" = 'other-key ' ]
  wqctl add -q odd -- --all plain $'x\u202ey' >/dev/null
  [ "$(offered 'wqctl delete -q odd ')" = 'plain ' ]
  [ "$(offered 'wqctl delete -q odd -- ')" = '--all plain ' ]
}

@test "the manual page has no warning, and describes every part" {
  wqctl man >wqctl.1
  run -0 --separate-stderr groff -man -Tutf8 -ww -z wqctl.1
  [ -z "$stderr" ]
  groff -man -Tascii -P-cbou -rLL=100n wqctl.1 >page
  grep -q 'wqctl snapshot restore' page
  grep -q -e '--durability' page
  grep -q 'WQ_OUTPUT' page
  grep -qF "xargs -0 wqctl rm -q pods --yes --" page
}
