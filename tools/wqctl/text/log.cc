#include "tools/wqctl/text/log.h"

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <system_error>

namespace wqctl {
namespace {

spdlog::logger& Logger() {
  static const std::shared_ptr<spdlog::logger> logger = [] {
    auto made = std::make_shared<spdlog::logger>("wqctl",
                                                 std::make_shared<spdlog::sinks::stderr_sink_mt>());
    made->set_pattern("%n: %l: %v");
    made->flush_on(spdlog::level::info);
    return made;
  }();
  return *logger;
}

}  // namespace

void LogInfo(std::string_view message) { Logger().info(message); }
void LogWarning(std::string_view message) { Logger().warn(message); }
void LogError(std::string_view message) { Logger().error(message); }

std::string ErrnoText(int error) { return std::generic_category().message(error); }

}  // namespace wqctl
