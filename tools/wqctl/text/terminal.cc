#include "tools/wqctl/text/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>

namespace wqctl {
namespace {

constexpr size_t kUnknownColumns = 80;

When colour = When::kAuto;

std::string_view EnvironmentOf(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? std::string_view() : value;
}

bool TermUnderstandsEscapes() {
  const std::string_view term = EnvironmentOf("TERM");
  return !term.empty() && term != "dumb";
}

}  // namespace

bool OnTerminal() { return isatty(STDOUT_FILENO) == 1; }

std::optional<When> ParseWhen(std::string_view text) {
  if (text == "auto") return When::kAuto;
  if (text == "always") return When::kAlways;
  if (text == "never") return When::kNever;
  return std::nullopt;
}

void SetColour(When when) { colour = when; }

bool WantsColour(int fd) {
  if (colour != When::kAuto) return colour == When::kAlways;
  return isatty(fd) == 1 && TermUnderstandsEscapes() && EnvironmentOf("NO_COLOR").empty();
}

bool IsScreen(int fd) { return isatty(fd) == 1 && TermUnderstandsEscapes(); }

size_t ColumnsOf(int fd) {
  winsize size = {};
  const bool known = ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  return known ? size.ws_col : kUnknownColumns;
}

}  // namespace wqctl
