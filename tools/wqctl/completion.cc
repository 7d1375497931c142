// wqctl completion: prints the script of a shell, which asks wqctl itself for what may be next.
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tools/wqctl/cli/about.h"
#include "tools/wqctl/cli/filter.h"
#include "tools/wqctl/cli/parse_verbs.h"
#include "tools/wqctl/cli/queues.h"
#include "tools/wqctl/text/bytes_text.h"
#include "tools/wqctl/text/exit_code.h"
#include "tools/wqctl/text/output.h"

namespace wqctl {
namespace {

constexpr const char* kCompletionExamples =
    R"sh(The packages install it where the shells find it. Verbs, options, their values, the store's
queues, their keys, files and directories are completed.

Examples:
  source <(wqctl completion bash)
  wqctl completion zsh > ~/.zfunc/_wqctl     # ~/.zfunc is in fpath
  wqctl completion fish > ~/.config/fish/completions/wqctl.fish)sh";

// The scripts run `wqctl completion SHELL -- WORD...`, by the name that was typed, with the words
// behind it, of which the last is to be completed. The answer is texts that end with NUL: first
// "files" or "directories", which the shell completes; "keys", and keys; or "words", and words with
// their descriptions.

constexpr std::string_view kBash =
    R"sh(# bash completion for wqctl, as wqctl completion bash prints it.
_wqctl() {
  local cur=${COMP_WORDS[COMP_CWORD]} word
  local bidi=$'*[\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069]*'
  local -a found=()
  COMPREPLY=()
  if [[ $cur == = ]]; then cur=; fi
  # The command as it was typed.
  mapfile -d '' -t found < <(
    "${1/#\~\//$HOME/}" completion bash -- "${COMP_WORDS[@]:1:COMP_CWORD-1}" "$cur" 2>/dev/null)
  case ${found[0]} in
    files) compopt -o filenames 2>/dev/null; mapfile -t COMPREPLY < <(compgen -f -- "$cur") ;;
    directories) compopt -o filenames 2>/dev/null; mapfile -t COMPREPLY < <(compgen -d -- "$cur") ;;
    keys)
      # Keys may be any bytes: no expansion may see them. Bash splits a word at ":" and "=".
      for word in "${COMP_WORDS[@]:COMP_CWORD-1:2}"; do
        if [[ $word == [:=] ]]; then return; fi
      done
      for word in "${found[@]:1}"; do
        # On a terminal a key with a control of the direction of text looks like another.
        if [[ $word == $bidi ]]; then
          LC_ALL=C printf -v word %q "$word"
        else
          printf -v word %q "$word"
        fi
        COMPREPLY+=("$word")
      done ;;
    words) COMPREPLY=("${found[@]:1}") ;;
  esac
}
complete -F _wqctl wqctl
)sh";

constexpr std::string_view kZsh = R"sh(#compdef wqctl
# zsh completion for wqctl, as wqctl completion zsh prints it.
_wqctl() {
  local -a found
  found=(${(0)"$(${~words[1]} completion zsh -- "${(@)words[2,CURRENT]}" 2>/dev/null)"})
  case ${found[1]} in
    files) _files ;;
    directories) _files -/ ;;
    keys) shift found; compadd -- "${found[@]}" ;;
    words) shift found; _describe wqctl found ;;
  esac
}
if [[ ${funcstack[1]} == _wqctl ]]; then _wqctl "$@"; else compdef _wqctl wqctl; fi
)sh";

constexpr std::string_view kFish =
    R"sh(# fish completion for wqctl, as wqctl completion fish prints it.
function __wqctl_complete
  set -l words (commandline -opc)
  set -l current (commandline -ct)
  type -q $words[1]; or return
  set -l found ($words[1] completion fish -- $words[2..-1] "$current" 2>/dev/null | string split0)
  switch "$found[1]"
    case files
      __fish_complete_path "$current"
    case directories
      __fish_complete_directories "$current" ''
    case keys words
      string join \n -- $found[2..-1]
  end
end
complete -c wqctl -f -a '(__wqctl_complete)'
)sh";

struct CompletionArgs {
  std::string shell;
  std::string store_dir;       // Of the settings.
  std::optional<Words> words;  // To be completed. Unset: the script is to be printed.
};

class Completer {
 public:
  Completer(const CompletionArgs& args, Output* out)
      : args_(args), out_(*out), store_dir_(args.store_dir) {
    for (size_t i = 0; i + 1 < args.words->size(); ++i) Take((*args.words)[i]);
    current_ = args.words->empty() ? "" : args.words->back();
  }

  void Complete() {
    const size_t equals = current_.find('=');
    if (option_ == nullptr && !behind_ && current_.starts_with("--") && equals != current_.npos) {
      before_ = current_.substr(0, equals + 1);
      option_ = verb_.Find(current_.substr(0, equals));
    }
    if (option_ != nullptr) return CompleteValue(*option_);
    const bool has_verb = !verb_.name.empty();
    if (has_verb && !behind_ && current_.starts_with('-')) return CompleteOption();
    const bool takes_keys = verb_.synopsis.find("KEY") != std::string::npos && verb_.name != "add";
    if (takes_keys) return CompleteKey();
    if (has_verb || behind_) return CompleteArgument();
    CompleteVerb();
    if (family_.empty()) CompleteOption();
  }

 private:
  // A word before the one that is to be completed. Bash gives "=" as a word of its own.
  void Take(const std::string& word) {
    if (word == "=") return;
    if (option_ != nullptr) {
      TakeValue(std::exchange(option_, nullptr)->names.back(), word);
    } else if (behind_ || word == "--") {
      behind_ = true;
    } else if (word.starts_with('-')) {
      const size_t equals = word.find('=');
      const OptionAbout* const option = verb_.Find(word.substr(0, equals));
      if (option == nullptr || option->type.empty()) return;
      if (equals == std::string::npos) {
        option_ = option;
      } else {
        TakeValue(option->names.back(), word.substr(equals + 1));
      }
    } else if (verb_.name.empty()) {
      TakeVerb(family_.empty() ? word : family_ + " " + word);
    } else {
      ++arguments_;
    }
  }
  void TakeVerb(const std::string& name) {
    for (const VerbAbout& verb : verbs_) {
      if (verb.name == name) verb_ = verb;
      if (verb.name.starts_with(name + " ")) family_ = name;
    }
  }
  void TakeValue(const std::string& option, const std::string& value) {
    if (option == "--store") store_dir_ = value;
    if (option == "--queue") queue_ = value;
  }

  void Say(const std::string& text) { out_.Write(text + '\0'); }
  // Begins the answer with the first word.
  void Offer(const std::string& word, const std::string& description) {
    if (!std::exchange(has_words_, true)) Say("words");
    if (!word.starts_with(current_)) return;
    const char* const between = args_.shell == "zsh" ? ":" : "\t";
    Say(args_.shell == "bash" || description.empty() ? word : word + between + description);
  }

  // As the value of an option of the type that the synopsis begins with: " DIR [URL]".
  void CompleteArgument() {
    const bool has_command = verb_.synopsis.starts_with(" -- ");
    if (has_command ? !behind_ : arguments_ > 0 || verb_.synopsis.empty()) return;
    const std::string type = verb_.synopsis.substr(1, verb_.synopsis.find(' ', 1) - 1);
    CompleteValue({{""}, has_command || type == "[FILE|-]" ? "FILE" : type, ""});
  }
  void CompleteValue(const OptionAbout& option) {
    const std::string name = option.names.back();
    if (option.type == "DIR" || option.type == "NEW") return Say("directories");
    if (option.type == "FILE") return Say("files");
    std::vector<std::string> values = option.Choices();
    if (name == "--state") values = {"pending", "delayed", "failing", "quarantined"};
    if (name == "--queue") {
      std::unique_ptr<wq::StoreView> view;
      if (!ViewQueues(store_dir_, std::nullopt, &view, &values).ok()) return;
    }
    for (const std::string& value : values) Offer(before_ + value, "");
  }
  void CompleteOption() {
    for (const OptionAbout& option : verb_.options) {
      for (const std::string& name : option.names) Offer(name, option.description);
    }
  }
  void CompleteVerb() {
    std::string last;
    for (const VerbAbout& verb : verbs_) {
      const size_t space = verb.name.find(' ');
      const std::string first = verb.name.substr(0, space);
      const bool two = space != std::string::npos;
      if (!family_.empty() && first == family_) Offer(verb.name.substr(space + 1), verb.summary);
      if (!family_.empty() || std::exchange(last, first) == first) continue;
      Offer(first, two ? "see wqctl " + first + " --help" : verb.summary);
    }
  }
  void CompleteKey() {
    constexpr uint64_t kMaxKeys = 200;
    Say("keys");
    std::unique_ptr<wq::StoreView> view;
    std::vector<std::string> queues;
    if (!ViewQueues(store_dir_, queue_, &view, &queues).ok()) return;
    Filter filter;
    filter.prefix = current_;
    filter.limit = kMaxKeys;
    static_cast<void>(
        VisitMatching(*view, queues, filter, 0, [this](const std::string&, const wq::Entry& entry) {
          // Before "--" it would be an option; and zsh and fish print what they offer as it is.
          const bool as_option = !behind_ && entry.key.starts_with('-');
          if (!as_option && (args_.shell == "bash" || !NeedsEscapes(entry.key))) Say(entry.key);
          return true;
        }));
  }

  const CompletionArgs& args_;
  Output& out_;
  const std::vector<VerbAbout> verbs_ = AboutVerbs();
  std::string current_;  // The word that is to be completed.
  std::string before_;   // The part of it before the value: "--name=".
  // What the words before it say.
  VerbAbout verb_ = AboutRoot();         // Without a name before the verb.
  std::string family_;                   // The first word of a verb that has two.
  const OptionAbout* option_ = nullptr;  // Its value is next. Of verb_.
  size_t arguments_ = 0;                 // Of the verb, before "--".
  bool behind_ = false;                  // Behind "--".
  std::string store_dir_;
  std::optional<std::string> queue_;
  bool has_words_ = false;
};

int Run(const CompletionArgs& args) {
  Output out;
  if (args.words) {
    Completer(args, &out).Complete();
  } else {
    out.Write(args.shell == "bash" ? kBash : args.shell == "zsh" ? kZsh : kFish);
  }
  return out.Finish(kExitOk);
}

}  // namespace

Command ParseCompletion(const Input& input) {
  CompletionArgs args;
  VerbParser parser(input,
                    {"Prints the script that completes wqctl's command lines in a shell.",
                     " bash|zsh|fish", kCompletionExamples},
                    nullptr);
  parser.Parse();
  const Words& shells = parser.positionals();
  if (shells.size() != 1) Usage("which shell? bash, zsh or fish");
  args.shell = shells.front();
  if (args.shell != "bash" && args.shell != "zsh" && args.shell != "fish") {
    Usage("no completion for \"" + args.shell + "\": bash, zsh or fish");
  }
  args.store_dir = input.store_dir;
  args.words = input.behind;
  return args;
}

}  // namespace wqctl
