// wqctl man: prints the manual page, generated from the parsers themselves. (help2man cannot do it:
// it makes a page of --help output at build time, but `wqctl man` prints its page at run time.)
#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tools/wqctl/cli/about.h"
#include "tools/wqctl/cli/parse_verbs.h"
#include "tools/wqctl/cli/settings.h"
#include "tools/wqctl/text/exit_code.h"
#include "tools/wqctl/text/output.h"

namespace wqctl {
namespace {

constexpr const char* kManExamples = R"(As roff, for man. The packages install it.

Examples:
  wqctl man | man -l -
  wqctl man > /usr/local/share/man/man1/wqctl.1)";

constexpr std::string_view kHead = R"(.SH NAME
wqctl \- durable work queues from the shell
.SH SYNOPSIS
.B wqctl
.RB [ \-\-store
.IR DIR ]
.I VERB
.RI [ OPTIONS ].\|.\|.
.SH DESCRIPTION
Inspects the store of a controller, running, stopped or crashed; adds keys to its queues, changes
them, and processes them with a command. Verbs that only read change nothing, and work beside the
process that owns the store. Data goes to standard output, messages to standard error.
.SH OPTIONS
)";

constexpr std::string_view kFiles =
    R"(A flag overrides the environment, which overrides the file. The file has lines
.IR "name = value" ,
and comments behind
.BR # .
.SH FILES
.TP
.I $WQ_CONFIG
.TQ
.I $XDG_CONFIG_HOME/wq/config
.TQ
.I ~/.config/wq/config
The settings; the first of these names counts.
.SH SEE ALSO
docs/wqctl.md of the sources is the reference.
)";

struct ManArgs {};

// What roff would otherwise read as a request or set as another character.
constexpr std::array<std::pair<char, std::string_view>, 6> kEscapes = {
    {{'\\', "\\e"}, {'-', "\\-"}, {'\'', "\\(aq"}, {'`', "\\(ga"}, {'^', "\\(ha"}, {'~', "\\(ti"}}};

std::string Roff(std::string_view text) {
  std::string roff;
  for (size_t i = 0; i < text.size(); ++i) {
    const bool line_begins = i == 0 || text[i - 1] == '\n';
    if (line_begins && (text[i] == '.' || text[i] == '\'')) roff += "\\&";
    const auto* const escape = std::find_if(kEscapes.begin(), kEscapes.end(),
                                            [c = text[i]](const auto& e) { return e.first == c; });
    if (escape != kEscapes.end()) {
      roff += escape->second;
    } else if (text.substr(i).starts_with("…")) {  // The only character that is not ASCII.
      roff += "\\[u2026]";
      i += 2;
    } else {
      roff.push_back(text[i]);
    }
  }
  return roff;
}

std::string Verbatim(std::string_view text) { return ".nf\n" + Roff(text) + "\n.fi\n"; }

std::string OptionText(const OptionAbout& option) {
  std::string names;
  for (const std::string& name : option.names) {
    names += (names.empty() ? "\\fB" : "\\fR, \\fB") + Roff(name);
  }
  names += "\\fR";
  if (!option.type.empty()) names += " \\fI" + Roff(option.type) + "\\fR";
  return ".TP\n" + names + "\n" + Roff(option.description) +
         (option.required ? " (required)" : "") + "\n";
}

std::string VerbText(const VerbAbout& verb) {
  std::string text = ".SS " + Roff(verb.name) + "\n.B wqctl " + Roff(verb.name) +
                     "\n.RI [ OPTIONS ]" +
                     (verb.synopsis.empty() ? "" : "\n" + Roff(verb.synopsis.substr(1))) +
                     "\n.PP\n" + Roff(verb.description) + "\n";
  for (const OptionAbout& option : verb.options) {
    // These two are the same for every verb.
    if (option.names.back() != "--store" && option.names.back() != "--help")
      text += OptionText(option);
  }
  return text + ".PP\n" + Verbatim(verb.examples);
}

int Run(const ManArgs&) {
  Output out;
  out.Write(".TH WQCTL 1 \"\" \"wq " WQ_VERSION "\" \"wq\"\n");
  out.Write(kHead);
  for (const OptionAbout& option : AboutRoot().options) out.Write(OptionText(option));
  out.Write(".SH VERBS\n");
  for (const VerbAbout& verb : AboutVerbs()) out.Write(VerbText(verb));
  out.Write(".SH EXIT STATUS\n" + Roff(kExitCodes) + "\n");
  out.Write(".SH ENVIRONMENT\nThe name in the settings file, and the variable:\n.PP\n" +
            Verbatim(SettingsText()) + ".PP\n");
  out.Write(kFiles);
  return out.Finish(kExitOk);
}

}  // namespace

Command ParseMan(const Input& input) {
  VerbParser parser(input, {"Prints the manual page.", "", kManExamples}, nullptr);
  parser.ParseWithoutArguments();
  return ManArgs();
}

}  // namespace wqctl
