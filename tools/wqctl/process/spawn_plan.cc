#include "tools/wqctl/process/spawn_plan.h"

#include <cstddef>
#include <cstring>
#include <vector>

namespace wqctl {
namespace {

// Then the path and the words of the three lists, each with a NUL byte behind it.
struct Header {
  size_t argv = 0;  // Numbers of words.
  size_t environment = 0;
  size_t unset = 0;
  int fds[3] = {};  // stdin, stdout, stderr.
  sigset_t signal_mask = {};
  mode_t umask = 0;
};

bool TakeWord(std::string_view* text, std::string* word) {
  const size_t end = text->find('\0');
  if (end == text->npos) return false;
  *word = text->substr(0, end);
  text->remove_prefix(end + 1);
  return true;
}

bool TakeWords(size_t count, std::string_view* text, std::vector<std::string>* words) {
  for (size_t i = 0; i < count; ++i) {
    if (!TakeWord(text, &words->emplace_back())) return false;
  }
  return true;
}

}  // namespace

std::string EncodePlan(const SpawnRequest& request) {
  Header header;
  header.argv = request.argv.size();
  header.environment = request.environment.size();
  header.unset = request.unset.size();
  header.fds[0] = request.stdin_fd;
  header.fds[1] = request.stdout_fd;
  header.fds[2] = request.stderr_fd;
  header.signal_mask = request.signal_mask;
  header.umask = request.umask;
  std::string plan(reinterpret_cast<const char*>(&header), sizeof header);
  const auto append = [&plan](const std::string& word) { plan.append(word).push_back('\0'); };
  append(request.path);
  for (const auto* list : {&request.argv, &request.environment, &request.unset}) {
    for (const std::string& word : *list) append(word);
  }
  return plan;
}

bool DecodePlan(std::string_view plan, SpawnRequest* request) {
  Header header;
  if (plan.size() < sizeof header) return false;
  std::memcpy(&header, plan.data(), sizeof header);
  plan.remove_prefix(sizeof header);
  *request = {};
  request->stdin_fd = header.fds[0];
  request->stdout_fd = header.fds[1];
  request->stderr_fd = header.fds[2];
  request->signal_mask = header.signal_mask;
  request->umask = header.umask;
  return TakeWord(&plan, &request->path) && TakeWords(header.argv, &plan, &request->argv) &&
         TakeWords(header.environment, &plan, &request->environment) &&
         TakeWords(header.unset, &plan, &request->unset) && plan.empty();
}

}  // namespace wqctl
