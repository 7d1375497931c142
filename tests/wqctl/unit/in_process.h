// WqctlTest: runs command lines of wqctl in this process, where one takes a millisecond. The store
// is WQ_STORE, "store" in a directory of the test's own, and no setting of the user has an effect.
//
//   Expect(R"(
//   0 add -q q a b => added 2, deduplicated 0
//   3 ls -q r => no queue "r")");
//
// Threading: one test at a time, as it has the standard descriptors of the process.
#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/environment.h"
#include "tools/wqctl/parse.h"

namespace wqctl {

using Words = std::vector<std::string>;

// A standard descriptor with another file, or with one in memory, until the end of the scope.
class Redirected {
 public:
  Redirected(int fd, int other, const std::string& bytes = {})
      : fd_(fd), saved_(fcntl(fd, F_DUPFD_CLOEXEC, 3)), file_(memfd_create("fd", MFD_CLOEXEC)) {
    std::fflush(stdout);  // What gtest has printed.
    EXPECT_EQ(pwrite(file_, bytes.data(), bytes.size(), 0), static_cast<ssize_t>(bytes.size()));
    dup2(other >= 0 ? other : file_, fd);
  }
  ~Redirected() {
    dup2(saved_, fd_);
    close(saved_);
    close(file_);
  }
  Redirected(const Redirected&) = delete;
  Redirected& operator=(const Redirected&) = delete;

  std::string Bytes() const {
    std::string bytes(static_cast<size_t>(lseek(file_, 0, SEEK_END)), '\0');
    EXPECT_EQ(pread(file_, bytes.data(), bytes.size(), 0), static_cast<ssize_t>(bytes.size()));
    return bytes;
  }

 private:
  const int fd_, saved_, file_;
};

class WqctlTest : public ::testing::Test {
 protected:
  struct Ran {
    int code = 0;
    std::string out, err;
  };

  WqctlTest() {
    std::signal(SIGPIPE, SIG_IGN);
    umask(077);
    std::filesystem::current_path(scratch_.path());
    for (const char* name : {"WQ_CONFIG", "WQ_OUTPUT", "WQ_TIMES", "WQ_COLOR", "WQ_PROGRESS",
                             "WQ_REPLICATE", "WQ_REPLICA", "COLUMNS"}) {
      unsetenv(name);
    }
    setenv("XDG_CONFIG_HOME", (scratch_ / "none").c_str(), 1);
    setenv("WQ_STORE", "store", 1);
  }
  ~WqctlTest() override { std::filesystem::current_path("/"); }

  // `in` and `out` are descriptors in the place of `input` and the result's `out`.
  static Ran Run(const Words& words, const std::string& input = {}, int in = -1, int out = -1) {
    const Redirected new_in(STDIN_FILENO, in, input);
    const Redirected new_out(STDOUT_FILENO, out);
    const Redirected new_err(STDERR_FILENO, -1);
    const int code = RunCommandLine(words, 022);
    return {code, new_out.Bytes(), new_err.Bytes()};
  }
  // The stdout of a line that succeeds.
  static std::string Out(const std::string& line) {
    const Ran ran = Run(Split(line));
    EXPECT_EQ(ran.code, 0) << line << ": " << ran.err;
    return ran.out;
  }
  // The line ends with the code. If that is 0, `text` is its stdout but for the line end; otherwise
  // it is in stderr, which has one line unless the usage was wrong, and stdout is empty.
  static void Expect(int code, const std::string& line, const std::string& text) {
    const Ran ran = Run(Split(line));
    const std::string& shown = code == 0 ? ran.out : ran.err;
    EXPECT_EQ(ran.code, code) << line << ": " << ran.err;
    EXPECT_THAT(shown, ::testing::HasSubstr(text)) << line;
    if (code == 0) {
      EXPECT_EQ(shown.size(), text.size() + (text.empty() ? 0 : 1)) << line;
      return;
    }
    EXPECT_EQ(ran.out, "") << line;
    if (code != 2) {
      EXPECT_EQ(std::count(shown.begin(), shown.end(), '\n'), 1) << shown;
    }
  }
  // The same of rows "CODE LINE => TEXT", or "CODE LINE => TEXT | ERROR" for the whole stdout and
  // a part of stderr. In TEXT "\n" is a line end. A row goes on in a line that begins with two
  // spaces.
  static void Expect(std::string rows) {
    for (size_t at; (at = rows.find("\n  ")) != rows.npos;) rows.erase(at, 3);
    std::istringstream in(rows);
    for (std::string row; std::getline(in, row);) {
      if (row.empty()) continue;
      const size_t end = row.find(" =>");
      ASSERT_NE(end, row.npos) << row;
      const int code = row[0] - '0';
      const std::string line = row.substr(2, end - 2);
      std::string text = row.substr(std::min(end + 4, row.size()));
      for (size_t at; (at = text.find("\\n")) != text.npos;) text.replace(at, 2, "\n");
      const size_t bar = text.find(" | ");
      if (bar == text.npos) {
        Expect(code, line, text);
        continue;
      }
      const Ran ran = Run(Split(line));
      EXPECT_EQ(ran.code, code) << line << ": " << ran.err;
      EXPECT_EQ(ran.out, text.substr(0, bar) + "\n") << line;
      EXPECT_THAT(ran.err, ::testing::HasSubstr(text.substr(bar + 3))) << line;
    }
  }

  static Words Split(const std::string& line) {
    std::istringstream words(line);
    return {std::istream_iterator<std::string>(words), {}};
  }

  const wq::support::ScratchDirectory scratch_;
};

}  // namespace wqctl
