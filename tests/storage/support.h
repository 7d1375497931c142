// Shared by the storage tests: scratch directories, states as short strings.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "storage/open.h"
#include "storage/storage.h"
#include "tests/support/environment.h"
#include "tests/support/files.h"
#include "wq/status.h"

namespace wq {

inline void PrintTo(const Status& status, std::ostream* os) {
  *os << static_cast<int>(status.code()) << ": " << status.message();
}

namespace storage {

#define EXPECT_OK(expression)                           \
  do {                                                  \
    const ::wq::Status expect_ok = (expression);        \
    EXPECT_TRUE(expect_ok.ok()) << expect_ok.message(); \
  } while (false)
#define ASSERT_OK(expression)                           \
  do {                                                  \
    const ::wq::Status assert_ok = (expression);        \
    ASSERT_TRUE(assert_ok.ok()) << assert_ok.message(); \
  } while (false)
// The status has this code, and its message mentions `part`.
#define EXPECT_STATUS(status_code, part, expression)                                             \
  do {                                                                                           \
    const ::wq::Status expect_status = (expression);                                             \
    EXPECT_EQ(expect_status.code(), ::wq::StatusCode::status_code) << expect_status.message();   \
    EXPECT_NE(expect_status.message().find(part), std::string::npos) << expect_status.message(); \
  } while (false)

using TestDirectory = support::ScratchDirectory;

using support::ReadFile;
using support::WriteFile;
std::vector<std::string> FilesIn(const std::string& dir);
// The names in `dir` with this suffix, sorted.
std::vector<std::string> FilesWithSuffix(const std::string& dir, std::string_view suffix);
// Names, modes, sizes, times and contents of all that is in `dir`, one line each.
std::string Fingerprint(const std::string& dir);

// "k=v k2=v2" of one family in order.
std::string Contents(const Reader& reader, Family family);
std::string Hex(std::string_view bytes);

Status Put(Storage* storage, Family family, std::string_view key, std::string_view value);

Status OpenNew(const std::string& dir, std::unique_ptr<Storage>* storage);
Status OpenExisting(const std::string& dir, std::unique_ptr<Storage>* storage);

}  // namespace storage
}  // namespace wq
