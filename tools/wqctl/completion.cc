// wqctl completion: prints a completion script, generated from the parsers themselves.
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tools/wqctl/cli/about.h"
#include "tools/wqctl/cli/parse_verbs.h"
#include "tools/wqctl/text/exit_code.h"
#include "tools/wqctl/text/output.h"

namespace wqctl {
namespace {

constexpr const char* kCompletionExamples =
    R"sh(The packages install it where the shells find it. Verbs, options, their values, the store's
queues, their keys, and directories are completed.

Examples:
  source <(wqctl completion bash)
  wqctl completion zsh > ~/.zfunc/_wqctl     # ~/.zfunc is in fpath
  wqctl completion fish > ~/.config/fish/completions/wqctl.fish)sh";

enum class Shell : uint8_t { kBash, kZsh, kFish };

struct CompletionArgs {
  Shell shell = Shell::kBash;
};

std::string Quoted(std::string_view text) {
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? "'\\''" : std::string(1, c);
  return quoted + "'";
}

std::string Joined(const std::vector<std::string>& words, const char* between) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : between) + word;
  return text;
}

// The kind of an option's value; "" for a flag.
std::string KindOf(const OptionAbout& option) {
  if (option.type.empty()) return "";
  const std::vector<std::string> choices = option.Choices();
  if (!choices.empty()) return "words " + Joined(choices, " ");
  if (option.names.back() == "--queue") return "queue";
  if (option.names.back() == "--state") return "words pending delayed failing quarantined";
  return option.type == "DIR" || option.type == "NEW" ? "directory" : "other";
}

// Whether the arguments of the verb are keys that a queue may have.
bool TakesKeys(const VerbAbout& verb) {
  return verb.synopsis.find("KEY") != std::string::npos && verb.name != "add";
}

// The verbs that take keys, as patterns of a shell's `case`.
std::string KeyVerbs(const std::vector<VerbAbout>& verbs) {
  std::vector<std::string> patterns;
  for (const VerbAbout& verb : verbs) {
    if (TakesKeys(verb)) patterns.push_back(Quoted(verb.name));
  }
  return Joined(patterns, "|");
}

// Matches a key with a control of the direction of text, for bash and zsh: on a terminal such a key
// looks like another.
constexpr const char* kHasBidi =
    R"sh(*[$'\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069']*)sh";

// Two functions that know the verbs, for bash and zsh.
std::string VerbFunctions(const std::vector<VerbAbout>& verbs, Shell shell) {
  std::string options = "_wqctl_options() {\n  case \"$1\" in\n";
  std::string kinds =
      "_wqctl_kind() {\n  case \"$1\" in\n    --store) echo directory ;;\n"
      "    ' --color' | ' --progress') echo 'words auto always never' ;;\n";
  for (const VerbAbout& verb : verbs) {
    std::vector<std::string> names;
    for (const OptionAbout& option : verb.options) {
      std::vector<std::string> patterns;
      for (const std::string& name : option.names) {
        const std::string shown = name + ":" + option.description;
        names.push_back(shell == Shell::kBash ? name : Quoted(shown));
        patterns.push_back(Quoted(verb.name + " " + name));
      }
      const std::string kind = KindOf(option);
      if (!kind.empty())
        kinds += "    " + Joined(patterns, "|") + ") echo " + Quoted(kind) + " ;;\n";
    }
    const std::string list = shell == Shell::kBash ? "echo " + Quoted(Joined(names, " "))
                                                   : "reply=(" + Joined(names, " ") + ")";
    options += "    " + Quoted(verb.name) + ") " + list + " ;;\n";
  }
  return options + "  esac\n}\n" + kinds + "  esac\n}\n";
}

// The first words of verbs; with `family` the second words of its verbs.
std::vector<std::string> NextWords(const std::vector<VerbAbout>& verbs, const std::string& family,
                                   bool with_summary) {
  std::vector<std::string> words;
  for (const VerbAbout& verb : verbs) {
    const size_t space = verb.name.find(' ');
    std::string word = verb.name.substr(0, space);
    std::string summary = verb.summary;
    if (!family.empty()) {
      if (space == std::string::npos || word != family) continue;
      word = verb.name.substr(space + 1);
    } else if (space != std::string::npos) {
      summary = "see wqctl " + word + " --help";
    }
    if (with_summary) word = Quoted(word + ":" + summary);
    if (words.empty() || words.back() != word) words.push_back(word);
  }
  return words;
}

// Reads the words before the completed word. Sets: verb, perhaps family, store and queue (as
// options), expect (the option whose value is next), rest (behind "--").
constexpr std::string_view kWalk = R"sh(    word=$W
    if [[ $word == = ]]; then continue; fi
    if [[ -n $expect ]]; then
      case $expect in
        --store) store=(--store "$word") ;;
        -q|--queue) queue=(--queue "$word") ;;
      esac
      expect=
    elif [[ $word == -- ]]; then
      rest=1
    elif [[ $word == --queue=* ]]; then
      queue=("$word")
    elif [[ $word == -* ]]; then
      if [[ $word == --store || -n $(_wqctl_kind "$verb $word") ]]; then expect=$word; fi
    elif [[ -z $verb && -z $family ]]; then
      case $word in FAMILIES) family=$word ;; *) verb=$word ;; esac
    elif [[ -z $verb ]]; then
      verb="$family $word"
    fi
)sh";

std::string Replaced(std::string text, std::string_view what, const std::string& with) {
  for (size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += with.size()) {
    text.replace(at, what.size(), with);
  }
  return text;
}

std::string WalkOf(const std::vector<VerbAbout>& verbs, const std::string& word) {
  return Replaced(Replaced(std::string(kWalk), "$W", word), "FAMILIES",
                  Joined(FamiliesOf(verbs), "|"));
}

// "    family) … ;;" for each family.
std::string FamilyCases(const std::vector<VerbAbout>& verbs, const std::string& before,
                        const std::string& after, bool with_summary) {
  std::string text;
  for (const std::string& family : FamiliesOf(verbs)) {
    text += "      " + family + ") " + before +
            Joined(NextWords(verbs, family, with_summary), " ") + after + " ;;\n";
  }
  return text;
}

std::string BashText(const std::vector<VerbAbout>& verbs) {
  return "# bash completion for wqctl, as wqctl completion bash prints it.\n" +
         VerbFunctions(verbs, Shell::kBash) + R"sh(_wqctl() {
  local cur=${COMP_WORDS[COMP_CWORD]} word verb= family= expect= rest= keys= kind i
  local -a store=() queue=() found=()
  COMPREPLY=()
  for ((i = 1; i < COMP_CWORD; i++)); do
)sh" + WalkOf(verbs, "${COMP_WORDS[i]}") +
         R"sh(  done
  if [[ $cur == = ]]; then cur=; fi
  case $verb in KEYVERBS) keys=1 ;; esac
  if [[ -n $rest && -z $keys ]]; then
    mapfile -t COMPREPLY < <(compgen -f -- "$cur")
  elif [[ -n $expect ]]; then
    kind=$(_wqctl_kind "$verb $expect")
    if [[ $expect == --store ]]; then kind=directory; fi
    case $kind in
      words\ *) mapfile -t COMPREPLY < <(compgen -W "${kind#words }" -- "$cur") ;;
      queue) mapfile -t COMPREPLY < <()sh"
         R"sh(compgen -W "$(wqctl "${store[@]}" inspect -o name 2>/dev/null)" -- "$cur") ;;
      directory) compopt -o filenames 2>/dev/null; mapfile -t COMPREPLY < <(compgen -d -- "$cur") ;;
    esac
  elif [[ -n $verb && -z $rest && $cur == -* ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$(_wqctl_options "$verb")" -- "$cur")
  elif [[ -n $keys ]]; then
    # Keys may be any bytes: no expansion may see them. Bash splits a word at colons.
    if [[ $cur == : || ${COMP_WORDS[COMP_CWORD - 1]} == : ]]; then return; fi
    mapfile -d '' -t found < <(wqctl "${store[@]}" ls "${queue[@]}" ${cur:+"--prefix=$cur"} )sh"
         R"sh(--limit 200 -o name -0 2>/dev/null)
    for word in "${found[@]}"; do
      # Before "--" it would be an option.
      if [[ $word == -* && -z $rest ]]; then continue; fi
      if [[ $word == HASBIDI ]]; then
        LC_ALL=C printf -v word %q "$word"
      else
        printf -v word %q "$word"
      fi
      COMPREPLY+=("$word")
    done
  elif [[ -n $verb ]]; then
    compopt -o filenames 2>/dev/null; mapfile -t COMPREPLY < <(compgen -f -- "$cur")
  else
    case $family in
)sh" + FamilyCases(verbs, "word='", "'", false) +
         "      *) word='" + Joined(NextWords(verbs, "", false), " ") +
         R"sh( --store --color --progress --help --version' ;;
    esac
    mapfile -t COMPREPLY < <(compgen -W "$word" -- "$cur")
  fi
}
complete -F _wqctl wqctl
)sh";
}

std::string ZshText(const std::vector<VerbAbout>& verbs) {
  return "#compdef wqctl\n# zsh completion for wqctl, as wqctl completion zsh prints it.\n" +
         VerbFunctions(verbs, Shell::kZsh) + R"sh(_wqctl() {
  local word verb= family= expect= rest= keys= kind i
  local -a store queue reply found
  for ((i = 2; i < CURRENT; i++)); do
)sh" + WalkOf(verbs, "${words[i]}") +
         R"sh(  done
  case $verb in KEYVERBS) keys=1 ;; esac
  if [[ -n $expect ]]; then
    kind=$(_wqctl_kind "$verb $expect")
    if [[ $expect == --store ]]; then kind=directory; fi
    case $kind in
      words\ *) compadd -- ${=kind#words } ;;
      queue) compadd -- ${(f)"$(wqctl $store inspect -o name 2>/dev/null)"} ;;
      directory) _files -/ ;;
    esac
  elif [[ -z $rest && -n $verb && ${words[CURRENT]} == -* ]]; then
    _wqctl_options "$verb"
    _describe -o option reply
  elif [[ -n $keys ]]; then
    for word in ${(0)"$(wqctl $store ls $queue ${words[CURRENT]:+"--prefix=${words[CURRENT]}"} )sh"
         R"sh(--limit 200 -o name -0 2>/dev/null)"}; do
      # Before "--" it would be an option; and zsh prints what it offers as it is.
      if [[ ($word == -* && -z $rest) || $word == HASBIDI ]]; then continue; fi
      found+=("$word")
    done
    compadd -- "${found[@]}"
  elif [[ -n $rest || -n $verb ]]; then
    _files
  else
    case $family in
)sh" + FamilyCases(verbs, "reply=(", ")", true) +
         "      *) reply=(" + Joined(NextWords(verbs, "", true), " ") +
         R"sh( '--store:the directory of the store' )sh"
         R"sh('--color:colours' '--progress:a line about progress' )sh"
         R"sh('--help:help' '--version:version') ;;
    esac
    _describe verb reply
  fi
}
if [[ ${funcstack[1]} == _wqctl ]]; then _wqctl "$@"; else compdef _wqctl wqctl; fi
)sh";
}

std::string FishOption(const VerbAbout& verb, const OptionAbout& option) {
  std::string line = "complete -c wqctl -n '__wqctl_at " + verb.name + "'";
  for (const std::string& name : option.names) {
    line += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
  }
  const std::string kind = KindOf(option);
  if (kind.starts_with("words ")) line += " -x -a " + Quoted(kind.substr(6));
  if (kind == "queue") line += " -x -a '(__wqctl_queues)'";
  if (kind == "directory") line += " -x -a '(__fish_complete_directories)'";
  if (kind == "other") line += " -x";
  return line + " -d " + Quoted(option.description) + "\n";
}

// Before the verbs.
constexpr std::string_view kFishHead =
    R"sh(# fish completion for wqctl, as wqctl completion fish prints it.
function __wqctl_verb
  set -l verb
  set -l skip 0
  for word in (commandline -opc)[2..-1]
    if test $skip = 1
      set skip 0
    else if contains -- "$word" --store --color --progress
      set skip 1
    else if string match -q -- '-*' $word
      test -n "$verb"; and break
    else if test -n "$verb"
      set verb "$verb $word"
      break
    else
      set verb $word
      contains -- $word FAMILIES; or break
    end
  end
  echo $verb
end
function __wqctl_at
  test (__wqctl_verb) = "$argv"
end
function __wqctl_queues
  set -l words (commandline -opc)
  set -l at (contains -i -- --store $words)
  if test -n "$at"; and set -q words[(math $at + 1)]
    wqctl --store $words[(math $at + 1)] inspect -o name 2>/dev/null
  else
    wqctl inspect -o name 2>/dev/null
  end
end
function __wqctl_keys
  set -l words (commandline -opc)
  set -l options
  for i in (seq (count $words))
    if contains -- $words[$i] --store -q --queue; and set -q words[(math $i + 1)]
      set -a options $words[$i] $words[(math $i + 1)]
    else if string match -q -- '--queue=*' $words[$i]
      set -a options $words[$i]
    end
  end
  set -l before '^-' # Before "--" it would be an option.
  contains -- -- $words; and set before '^$'
  # fish prints what it offers as it is: no controls of the direction of text, and no others.
  wqctl ls $options --prefix (commandline -ct) --limit 200 -o name -0 2>/dev/null |
    string split0 | string match -rv '[\p{Cc}\p{Cf}]' | string match -rv -- $before
end
complete -c wqctl -n '__wqctl_at ""' -f
complete -c wqctl -n '__wqctl_at ""' -l store -x -a '(__fish_complete_directories)')sh"
    R"sh( -d 'The directory of the store'
complete -c wqctl -n '__wqctl_at ""' -l color -x -a 'auto always never' -d 'Colours'
complete -c wqctl -n '__wqctl_at ""' -l progress -x -a 'auto always never' -d 'Progress on stderr'
complete -c wqctl -n '__wqctl_at ""' -l version -d 'The version'
)sh";

// Offers `word` after the words `at`.
std::string FishWord(const std::string& at, const std::string& word, const std::string& summary) {
  return "complete -c wqctl -n '__wqctl_at " + (at.empty() ? "\"\"" : at) + "' -f -a " + word +
         " -d " + Quoted(summary) + "\n";
}

std::string FishText(const std::vector<VerbAbout>& verbs) {
  const std::vector<std::string> families = FamiliesOf(verbs);
  std::string text = Replaced(std::string(kFishHead), "FAMILIES", Joined(families, " "));
  for (const std::string& family : families) {
    text += FishWord("", family, "see wqctl " + family + " --help");
  }
  for (const VerbAbout& verb : verbs) {
    const size_t space = verb.name.find(' ');
    const bool two = space != std::string::npos;
    text += FishWord(two ? verb.name.substr(0, space) : "",
                     two ? verb.name.substr(space + 1) : verb.name, verb.summary);
    if (TakesKeys(verb)) {
      text += "complete -c wqctl -n '__wqctl_at " + verb.name + "' -f -a '(__wqctl_keys)'\n";
    }
    for (const OptionAbout& option : verb.options) text += FishOption(verb, option);
  }
  return text;
}

int Run(const CompletionArgs& args) {
  const std::vector<VerbAbout> verbs = AboutVerbs();
  Output out;
  const std::string text = args.shell == Shell::kBash  ? BashText(verbs)
                           : args.shell == Shell::kZsh ? ZshText(verbs)
                                                       : FishText(verbs);
  out.Write(Replaced(Replaced(text, "KEYVERBS", KeyVerbs(verbs)), "HASBIDI", kHasBidi));
  return out.Finish(kExitOk);
}

}  // namespace

Command ParseCompletion(const Input& input) {
  CompletionArgs args;
  VerbParser parser(input,
                    {"Prints the script that completes wqctl's command lines in a shell.",
                     " bash|zsh|fish", kCompletionExamples},
                    nullptr);
  const Words words = parser.Parse();
  if (words.size() != 1) Usage("which shell? bash, zsh or fish");
  if (words.front() == "zsh") {
    args.shell = Shell::kZsh;
  } else if (words.front() == "fish") {
    args.shell = Shell::kFish;
  } else if (words.front() != "bash") {
    Usage("no completion for \"" + words.front() + "\": bash, zsh or fish");
  }
  return args;
}

}  // namespace wqctl
