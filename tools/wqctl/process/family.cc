#include "tools/wqctl/process/family.h"

#include <dirent.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <optional>
#include <sstream>
#include <string>

#include "base/files.h"

namespace wqctl {
namespace {

constexpr int kOpenAttempts = 2000;  // A millisecond each.

// Between two looks at what SIGKILL has left, at first and at most.
constexpr int kKillIntervalMs = 1;
constexpr int kLongestKillIntervalMs = 100;

struct Process {
  pid_t pid = 0;
  char state = ' ';
  pid_t parent = 0;
  pid_t session = 0;
  uint64_t started = 0;
  bool is_member = false;
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
  if (!wq::ReadSmallFile("/proc/" + pid + "/stat", 4096, &text).ok()) return std::nullopt;
  const size_t name_end = text.rfind(')');
  if (name_end == std::string::npos) return std::nullopt;
  Process process;
  process.pid = std::stoi(pid);
  std::istringstream fields(text.substr(name_end + 1));
  std::string skipped;
  fields >> process.state >> process.parent >> skipped >> process.session;  // Fields 3 to 6.
  for (int field = 7; field < 22; ++field) fields >> skipped;
  fields >> process.started;
  return fields ? std::optional(process) : std::nullopt;
}

std::vector<Process> AllProcesses() {
  std::vector<Process> all;
  for (const std::string& pid : AllPids()) {
    if (const auto process = ReadProcess(pid)) all.push_back(*process);
  }
  return all;
}

// Makes members of those below the members. A list of processes that was not read at one instant
// may have a cycle of parents; each process is taken once.
void AddDescendants(std::vector<Process>* all) {
  std::vector<pid_t> parents;
  for (const Process& process : *all) {
    if (process.is_member) parents.push_back(process.pid);
  }
  while (!parents.empty()) {
    const pid_t parent = parents.back();
    parents.pop_back();
    for (Process& process : *all) {
      if (process.parent != parent || process.is_member) continue;
      process.is_member = true;
      parents.push_back(process.pid);
    }
  }
}

}  // namespace

bool Family::IsCommand(pid_t pid) const {
  return std::find(commands_.begin(), commands_.end(), pid) != commands_.end();
}

// Returns whether a process that had not ended yet could be signalled.
bool Family::Signal(int signal, Members members) {
  std::vector<Process> all = AllProcesses();
  for (Process& process : all) {
    process.is_member = IsCommand(process.pid) || IsCommand(process.session) ||
                        seen_.contains({process.pid, process.started});
  }
  AddDescendants(&all);
  bool any = false;
  for (const Process& process : all) {
    if (!process.is_member) continue;
    seen_.emplace(process.pid, process.started);
    if (members == Members::kAllButCommands && IsCommand(process.pid)) continue;
    if (kill(process.pid, signal) == 0 && process.state != 'Z') any = true;
  }
  return any;
}

void Family::Terminate() {
  if (Signal(SIGTERM, Members::kAll)) return;
  for (const pid_t command : commands_) kill(-command, SIGTERM);
}

// What is born during a look at /proc may be missed by it: two that find nothing tell.
void Family::KillUntilEnded(Members members) {
  int interval_ms = kKillIntervalMs;
  for (int found_nothing = 0;;) {
    found_nothing = Signal(SIGKILL, members) ? 0 : found_nothing + 1;
    if (found_nothing == 2) return;
    poll(nullptr, 0, interval_ms);
    interval_ms = std::min(2 * interval_ms, kLongestKillIntervalMs);
  }
}

void Family::Kill() {
  for (const pid_t command : commands_) kill(command, SIGSTOP);
  KillUntilEnded(Members::kAllButCommands);
  for (const pid_t command : commands_) kill(-command, SIGKILL);
  KillUntilEnded(Members::kAll);
}

}  // namespace wqctl
