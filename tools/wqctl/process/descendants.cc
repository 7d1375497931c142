#include "tools/wqctl/process/descendants.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/types.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "tools/wqctl/process/descriptor.h"

namespace wqctl {
namespace {

constexpr int kOpenAttempts = 2000;  // A millisecond each.

struct Process {
  pid_t pid = 0;
  pid_t parent = 0;
  bool ended = false;  // A zombie.
  bool is_descendant = false;
};

// The pids of all processes. A descriptor may be free soon.
std::vector<std::string> AllPids() {
  std::vector<std::string> pids;
  DIR* folder = nullptr;
  for (int attempt = 0; attempt < kOpenAttempts; ++attempt) {
    folder = opendir("/proc");
    if (folder != nullptr || (errno != EMFILE && errno != ENFILE)) break;
    poll(nullptr, 0, 1);
  }
  if (folder == nullptr) return pids;
  while (const dirent* const entry = readdir(folder)) {
    if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9') pids.emplace_back(entry->d_name);
  }
  closedir(folder);
  return pids;
}

// nullopt: it has gone.
std::optional<Process> ReadProcess(const std::string& pid) {
  std::string text;  // "4711 (sh) S 4710 …"; the name of the program may contain anything.
  const Descriptor file(open(("/proc/" + pid + "/stat").c_str(), O_RDONLY | O_CLOEXEC));
  if (file.get() < 0 || !ReadWhole(file.get(), &text)) return std::nullopt;
  const size_t state = text.rfind(')') + 2;
  if (state + 2 >= text.size()) return std::nullopt;
  Process process;
  process.ended = text[state] == 'Z';
  const char* const end = text.data() + text.size();
  std::from_chars(text.data(), end, process.pid);
  std::from_chars(text.data() + state + 2, end, process.parent);
  return process;
}

// Marks the children of `parent`, and theirs. A list of processes that was not read at one instant
// may have a cycle of parents; each process is marked once.
void MarkBelow(pid_t parent, std::vector<Process>* all) {
  std::vector<pid_t> parents = {parent};
  while (!parents.empty()) {
    const pid_t next = parents.back();
    parents.pop_back();
    for (Process& process : *all) {
      if (process.parent != next || process.is_descendant) continue;
      process.is_descendant = true;
      parents.push_back(process.pid);
    }
  }
}

}  // namespace

bool SignalDescendants(int signal) {
  std::vector<Process> all;
  for (const std::string& pid : AllPids()) {
    if (const auto process = ReadProcess(pid)) all.push_back(*process);
  }
  MarkBelow(getpid(), &all);
  bool any = false;
  for (const Process& process : all) {
    if (process.is_descendant && kill(process.pid, signal) == 0 && !process.ended) any = true;
  }
  return any;
}

}  // namespace wqctl
