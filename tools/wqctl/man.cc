// wqctl man: the manual page, out of the parsers themselves.
#include <array>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>
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
Looks into the store of a controller, running, stopped or crashed; puts keys into its queues, changes
them, and works them off with a command. What only looks changes nothing, and works beside the process
that owns the store. Data goes to standard output, messages to standard error.
.SH OPTIONS
.TP
.BI \-\-store " DIR"
The store's directory.
.TP
.B \-\-no\-pager
Do not show long listings by a pager.
.TP
.B \-\-version
.TQ
.B \-\-help
.SH VERBS
)";

constexpr std::string_view kTail = R"(.SH EXIT STATUS
.TP
.B 0
All is well; also when the reader of standard output went away.
.TP
.B 1
Failure.
.TP
.B 2
Usage.
.TP
.B 3
The store, the queue or the key was not found.
.TP
.B 4
Another process owns the store, and takes no changes from others.
.TP
.B 5
The store is damaged.
)";

constexpr std::string_view kFiles =
    R"(A flag goes before the environment, and that before the file, which has lines
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

// The character at *at, which is moved behind it.
uint32_t TakeCodePoint(std::string_view text, size_t* at) {
  const auto first = static_cast<unsigned char>(text[(*at)++]);
  if (first < 0xc0) return first;
  uint32_t code = first < 0xe0 ? first & 0x1fU : first < 0xf0 ? first & 0x0fU : first & 0x07U;
  while (*at < text.size() && (static_cast<unsigned char>(text[*at]) & 0xc0U) == 0x80U) {
    code = code << 6U | (static_cast<unsigned char>(text[(*at)++]) & 0x3fU);
  }
  return code;
}

// Text as roff: nothing in it is a request, and a hyphen is the one that was typed.
std::string Roff(std::string_view text) {
  std::string roff;
  bool line_begins = true;
  for (size_t at = 0; at < text.size();) {
    const uint32_t c = TakeCodePoint(text, &at);
    if (line_begins && (c == '.' || c == '\'')) roff += "\\&";
    line_begins = c == '\n';
    if (c == '\\') {
      roff += "\\e";
    } else if (c == '-') {
      roff += "\\-";
    } else if (c == '\'') {
      roff += "\\(aq";
    } else if (c == '`') {
      roff += "\\(ga";
    } else if (c == '^') {
      roff += "\\(ha";
    } else if (c == '~') {
      roff += "\\(ti";
    } else if (c < 0x80) {
      roff += static_cast<char>(c);
    } else {
      std::array<char, 16> name{};
      std::snprintf(name.data(), name.size(), "\\[u%04X]", static_cast<unsigned>(c));
      roff += name.data();
    }
  }
  return roff;
}

// As it stands, line by line.
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
    // They are the same everywhere.
    if (option.names.back() != "--store" && option.names.back() != "--help")
      text += OptionText(option);
  }
  return text + ".PP\n" + Verbatim(verb.examples);
}

int Run(const ManArgs&) {
  Output out;
  out.Write(".TH WQCTL 1 \"\" \"wq " WQ_VERSION "\" \"wq\"\n");
  out.Write(kHead);
  for (const VerbAbout& verb : AboutVerbs()) out.Write(VerbText(verb));
  out.Write(kTail);
  out.Write(".SH ENVIRONMENT\nThe name in the file of settings, and the variable:\n.PP\n" +
            Verbatim(SettingsText()) + ".PP\n");
  out.Write(kFiles);
  return out.Finish(kExitOk);
}

}  // namespace

Command ParseMan(const Input& input) {
  std::string no_store = "-";
  VerbParser parser({"man", "Prints the manual page.", "", kManExamples}, &no_store);
  parser.Parse(input.words);
  NoMore(Concatenate(parser.positionals(), input.behind));
  return ManArgs();
}

}  // namespace wqctl
