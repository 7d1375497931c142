// The machine on which figures are measured, and the resources that this process uses. Thread-safe.
#pragma once

#include <cstddef>
#include <string>

namespace wq::bench {

struct Machine {
  size_t cores = 0;
  std::string processor;
  std::string kernel;
  std::string file_system;  // Of the stores' directory.
  size_t memory_mib = 0;
  std::string build;  // Compiler and build type.
};
Machine InspectMachine(const std::string& dir);

size_t ResidentBytes();  // Of this process.
// The most that it was since the last BeginPeak, or since the start of the process.
size_t PeakResidentBytes();
void BeginPeak();
size_t DirectoryBytes(const std::string& dir);  // Allocated on disk by all files in `dir`.
// How often the threads of this process have waited since its start.
size_t VoluntarySwitches();

}  // namespace wq::bench
