#include "base/crc32c.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace wq {
namespace {

// The instruction reads words, the table bytes: every start and end of a word.
TEST(Crc32c, IsTheTablesAtEveryAlignmentAndLength) {
  std::string bytes(96, '\0');
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(i * 151 + 7);
  for (size_t start = 0; start < 16; ++start) {
    for (size_t size = 0; size <= 80; ++size) {
      const std::string_view part = std::string_view(bytes).substr(start, size);
      ASSERT_EQ(Crc32c(0, part), Crc32cByTable(0, part)) << start << ", " << size;
      ASSERT_EQ(Crc32c(0xdeadbeef, part), Crc32cByTable(0xdeadbeef, part)) << start << ", " << size;
    }
  }
  EXPECT_EQ(Crc32c(0, "123456789"), 0xe3069283U);
}

}  // namespace
}  // namespace wq
