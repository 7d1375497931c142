#include "tools/wqctl/text/log.h"

#include <spdlog/sinks/ansicolor_sink.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <memory>
#include <system_error>
#include <utility>

#include "tools/wqctl/text/progress.h"
#include "tools/wqctl/text/terminal.h"

namespace wqctl {
namespace {

spdlog::logger& Logger() {
  static const std::shared_ptr<spdlog::logger> logger = [] {
    const auto mode =
        WantsColour(STDERR_FILENO) ? spdlog::color_mode::always : spdlog::color_mode::never;
    auto sink = std::make_shared<spdlog::sinks::ansicolor_stderr_sink_mt>(mode);
    sink->set_color(spdlog::level::info, "");
    sink->set_color(spdlog::level::warn, kYellow);
    sink->set_color(spdlog::level::err, kRed);
    auto made = std::make_shared<spdlog::logger>("wqctl", std::move(sink));
    made->set_pattern("%n: %^%l%$: %v");  // The level has the colour.
    made->flush_on(spdlog::level::info);
    return made;
  }();
  return *logger;
}

}  // namespace

void LogInfo(std::string_view message) {
  EraseProgress();
  Logger().info(message);
}
void LogWarning(std::string_view message) {
  EraseProgress();
  Logger().warn(message);
}
void LogError(std::string_view message) {
  EraseProgress();
  Logger().error(message);
}

std::string ErrnoText(int error) { return std::generic_category().message(error); }

}  // namespace wqctl
