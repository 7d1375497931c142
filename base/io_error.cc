// Apart from files.cc, because libwq_server.a contains this source (packaging/CMakeLists.txt).
#include <string>
#include <string_view>
#include <system_error>

#include "base/files.h"

namespace wq {

Status IOErrorOf(std::string_view what, const std::string& path, int error_number) {
  return Status::IOError(std::string(what) + " " + path + ": " +
                         std::generic_category().message(error_number));
}

}  // namespace wq
