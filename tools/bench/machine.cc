#include "tools/bench/machine.h"

#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysinfo.h>
#include <sys/utsname.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <thread>

#include "tools/bench/bench.h"

namespace wq::bench {
namespace {

std::string ProcessorName() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("model name")) {
      return line.substr(line.find(": ") + 2);
    }
  }
  return "unknown";
}

std::string FileSystemName(const std::string& dir) {
  static const std::map<unsigned long, std::string> kNames = {
      {0xEF53, "ext4"},      {0x58465342, "xfs"},     {0x9123683E, "btrfs"},
      {0x01021994, "tmpfs"}, {0x794C7630, "overlay"}, {0x2FC12FC1, "zfs"}};
  struct statfs file_system {};
  if (statfs(dir.c_str(), &file_system) != 0) {
    return "unknown";
  }
  const auto type = static_cast<unsigned long>(file_system.f_type);
  const auto it = kNames.find(type);
  if (it != kNames.end()) {
    return it->second;
  }
  std::ostringstream hex;
  hex << "0x" << std::hex << type;
  return hex.str();
}

}  // namespace

Machine InspectMachine(const std::string& dir) {
  utsname kernel{};
  uname(&kernel);
  struct sysinfo info {};
  sysinfo(&info);
  return {.cores = std::thread::hardware_concurrency(),
          .processor = ProcessorName(),
          .kernel = std::string(kernel.sysname) + " " + kernel.release,
          .file_system = FileSystemName(dir),
          .memory_mib = info.totalram / (size_t{1} << 20) * info.mem_unit,
          .build = std::string("g++ ") + __VERSION__ + ", " + WQ_BUILD_TYPE};
}

size_t ResidentBytes() {
  std::ifstream file("/proc/self/statm");
  size_t size = 0;
  size_t resident = 0;
  file >> size >> resident;
  return resident * static_cast<size_t>(sysconf(_SC_PAGESIZE));
}

size_t PeakResidentBytes() {
  std::ifstream file("/proc/self/status");
  for (std::string word; file >> word;) {
    if (word == "VmHWM:") {
      size_t kib = 0;
      file >> kib;
      return kib * 1024;
    }
  }
  Require(false, "/proc/self/status has no peak");
  return 0;
}

void BeginPeak() {
  std::ofstream file("/proc/self/clear_refs");
  file << "5" << std::flush;
  Require(file.good(), "the peak cannot be reset");
}

size_t DirectoryBytes(const std::string& dir) {
  size_t bytes = 0;
  std::error_code removed;  // Files are created and removed during the scan.
  for (std::filesystem::recursive_directory_iterator it(dir, removed), end; !removed && it != end;
       it.increment(removed)) {
    struct stat file {};
    if (stat(it->path().c_str(), &file) == 0 && S_ISREG(file.st_mode)) {
      bytes += static_cast<size_t>(file.st_blocks) * 512;
    }
  }
  return bytes;
}

size_t VoluntarySwitches() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<size_t>(usage.ru_nvcsw);
}

}  // namespace wq::bench
