#include "tests/storage/support.h"

#include <sys/stat.h>

#include <filesystem>
#include <sstream>

namespace wq::storage {

std::vector<std::string> FilesIn(const std::string& dir) { return FilesWithSuffix(dir, ""); }

std::vector<std::string> FilesWithSuffix(const std::string& dir, std::string_view suffix) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(dir)) {
    const std::string name = entry.path().filename();
    if (std::string_view(name).ends_with(suffix)) names.push_back(name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::string Fingerprint(const std::string& dir) {
  std::ostringstream text;
  std::vector<std::string> names = FilesIn(dir);
  names.emplace_back(".");
  for (const std::string& name : names) {
    struct stat info = {};
    EXPECT_EQ(lstat((dir + "/" + name).c_str(), &info), 0);
    text << name << " " << std::oct << info.st_mode << std::dec << " " << info.st_size << " "
         << info.st_mtim.tv_sec << "." << info.st_mtim.tv_nsec << " " << info.st_ino;
    if (S_ISREG(info.st_mode)) text << " " << std::hash<std::string>()(ReadFile(dir + "/" + name));
    text << "\n";
  }
  return text.str();
}

std::string Contents(const Reader& reader, Family family) {
  std::string text;
  EXPECT_OK(reader.Scan(family, "", "", [&text](std::string_view key, std::string_view value) {
    if (!text.empty()) text += ' ';
    text.append(key).append("=").append(value);
    return true;
  }));
  return text;
}

std::string Hex(std::string_view bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (const char c : bytes) {
    text += kDigits[static_cast<unsigned char>(c) >> 4];
    text += kDigits[static_cast<unsigned char>(c) & 15];
  }
  return text;
}

Status Put(Storage* storage, Family family, std::string_view key, std::string_view value) {
  MutationBatch batch;
  batch.Put(family, key, value);
  return storage->Write(batch, /*sync=*/false);
}

Status OpenNew(const std::string& dir, std::unique_ptr<Storage>* storage) {
  return OpenStorage(dir, {.create_if_missing = true, .now_us = 1'700'000'000'000'000}, storage);
}

Status OpenExisting(const std::string& dir, std::unique_ptr<Storage>* storage) {
  return OpenStorage(dir, {}, storage);
}

}  // namespace wq::storage
