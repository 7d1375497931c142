#include "tests/storage/support.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <sstream>

extern char** environ;  // NOLINT(readability-redundant-declaration)

namespace wq::storage {

std::string ReadFile(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

void WriteFile(const std::string& path, std::string_view contents) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << contents;
}

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

Child::Child(const std::string& what, const std::string& dir) {
  int ends[2];
  EXPECT_EQ(pipe2(ends, O_CLOEXEC), 0);
  std::vector<std::string> words = {"/proc/self/exe", "--gtest_also_run_disabled_tests",
                                    "--gtest_filter=Child.DISABLED_" + what};
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  std::string dir_variable = "WQ_TEST_CHILD_DIR=" + dir;
  std::vector<char*> variables;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string_view text = *variable;
    // The child must not inherit a test runner's settings (sharding, reports).
    if (!text.starts_with("GTEST_") && !text.starts_with("WQ_TEST_CHILD_DIR=")) {
      variables.push_back(*variable);
    }
  }
  variables.push_back(dir_variable.data());
  variables.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], 3);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  EXPECT_EQ(posix_spawn(&pid_, arguments[0], &actions, nullptr, arguments.data(), variables.data()),
            0);
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  from_child_ = ends[0];
}

Child::~Child() {
  Kill();
  close(from_child_);
}

std::string Child::ReadLine() {
  std::string line;
  char c = 0;
  while (read(from_child_, &c, 1) == 1 && c != '\n') line += c;
  return line;
}

void Child::Kill() {
  if (pid_ <= 0) return;
  kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
  pid_ = -1;
}

}  // namespace wq::storage
