// The environment of a test run: seeds and lengths from variables, and a directory for its files.
#pragma once

#include <stdlib.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <string>

namespace wq::support {

inline uint64_t FromEnvironment(const char* name, uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr || *text == '\0' ? otherwise : std::strtoull(text, nullptr, 10);
}

// What a test draws its random numbers from: the same at each run, unless WQ_SEED is set.
inline uint64_t Seed() { return FromEnvironment("WQ_SEED", 1); }

// A new directory that the destructor removes. In memory if the machine has /dev/shm: what a kill
// leaves does not depend on the disk, and rounds take a fraction of the time.
class ScratchDirectory {
 public:
  ScratchDirectory() {
    const std::filesystem::path memory = "/dev/shm";
    std::error_code ignored;
    const bool roomy = std::filesystem::space(memory, ignored).available > (uint64_t{256} << 20) &&
                       access(memory.c_str(), W_OK) == 0;
    path_ = ((roomy ? memory : std::filesystem::temp_directory_path()) / "wq-test-XXXXXX").string();
    if (mkdtemp(path_.data()) == nullptr) {
      std::abort();
    }
  }
  ~ScratchDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  ScratchDirectory(const ScratchDirectory&) = delete;
  ScratchDirectory& operator=(const ScratchDirectory&) = delete;

  const std::string& path() const { return path_; }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

}  // namespace wq::support
