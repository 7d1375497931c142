// The machine that a figure was made on, and what this process takes of it. Thread-safe.
#pragma once

#include <cstddef>
#include <string>

namespace wq::bench {

struct Machine {
  size_t cores = 0;
  std::string processor;
  std::string kernel;
  std::string file_system;  // Of the directory that is measured in.
  size_t memory_mib = 0;
  std::string build;  // Compiler and build type.
};
Machine InspectMachine(const std::string& dir);

size_t ResidentBytes();                         // Of this process.
size_t DirectoryBytes(const std::string& dir);  // Allocated on disk, by all files in it.
// How often this process's threads have waited so far.
size_t VoluntarySwitches();

}  // namespace wq::bench
