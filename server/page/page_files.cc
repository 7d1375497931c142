#include "server/page/page_files.h"

#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "server/page/embedded_files.h"

namespace wq {
namespace {

constexpr std::string_view kRoot = "/ui/";

constexpr std::array<std::pair<std::string_view, std::string_view>, 5> kTypes = {
    {{".html", "text/html; charset=utf-8"},
     {".css", "text/css; charset=utf-8"},
     {".js", "text/javascript; charset=utf-8"},
     {".svg", "image/svg+xml"},
     {".txt", "text/plain; charset=utf-8"}}};

// By the suffix.
std::string_view ContentTypeOf(std::string_view name) {
  for (const auto& [suffix, type] : kTypes) {
    if (name.ends_with(suffix)) {
      return type;
    }
  }
  return "application/octet-stream";
}

HttpReply FileReply(const EmbeddedFile& file, const HttpRequest& request) {
  const std::string tag = "\"" + std::string(file.hash) + "\"";
  HttpReply reply{.type = std::string(ContentTypeOf(file.name)),
                  .headers = {{"Cache-Control", "no-cache"}, {"ETag", tag}}};
  if (request.if_none_match.find(tag) != std::string::npos || request.if_none_match == "*") {
    reply.status = 304;
  } else {
    reply.body.assign(reinterpret_cast<const char*>(file.bytes), file.size);
  }
  return reply;
}

HttpReply ToRoot(const HttpRequest&) {
  return {.status = 302, .headers = {{"Location", std::string(kRoot)}}};
}

}  // namespace

void AddPageFiles(Http* http) {
  for (const EmbeddedFile& file : EmbeddedFiles()) {
    const auto answer = [&file](const HttpRequest& request) { return FileReply(file, request); };
    http->Get(std::string(kRoot) + std::string(file.name), answer);
    if (file.name == "index.html") {
      http->Get(std::string(kRoot), answer);
    }
  }
  http->Get("/", ToRoot);
  http->Get("/ui", ToRoot);
}

}  // namespace wq
