// The files of a directory, whole, as strings.
#pragma once

#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>

namespace wq::support {

using Files = std::map<std::string, std::string>;  // Contents by name.

// "" if it cannot be read.
inline std::string ReadFile(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return std::move(text).str();
}

inline void WriteFile(const std::string& path, std::string_view contents) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << contents;
}

// Without those that an owner removes meanwhile.
inline Files ReadFiles(const std::string& dir) {
  Files files;
  for (const auto& entry : std::filesystem::directory_iterator(dir)) {
    std::string contents = ReadFile(entry.path());
    if (std::filesystem::exists(entry.path())) {
      files.emplace(entry.path().filename(), std::move(contents));
    }
  }
  return files;
}

}  // namespace wq::support
