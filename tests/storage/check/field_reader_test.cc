#include "storage/check/field_reader.h"

#include <gtest/gtest.h>

#include <string>

namespace wq::storage {
namespace {

TEST(FieldReader, TakesThemOneByOne) {
  FieldReader fields(
      std::string_view("\x07\x96\x01\x03"
                       "abcxy",
                       9));
  EXPECT_EQ(fields.Small(), 7U);
  EXPECT_EQ(fields.Number(), 150U);
  EXPECT_EQ(fields.Bytes(), "abc");
  EXPECT_TRUE(fields.more());
  EXPECT_EQ(fields.Take(2), "xy");
  EXPECT_TRUE(fields.good());
  EXPECT_FALSE(fields.more());
}

TEST(FieldReader, TheLargestNumbers) {
  FieldReader fields(
      std::string_view("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\xff\xff\xff\xff\x0f", 15));
  EXPECT_EQ(fields.Number(), UINT64_MAX);
  EXPECT_EQ(fields.Small(), UINT32_MAX);
  EXPECT_TRUE(fields.good());
}

// After the first missing field all fields read as zero or empty.
void ExpectCutOff(FieldReader fields) {
  EXPECT_FALSE(fields.good());
  EXPECT_FALSE(fields.more());
  EXPECT_EQ(fields.Take(1), "");
  EXPECT_EQ(fields.Bytes(), "");
}

TEST(FieldReader, ANumberThatIsCutOff) {
  for (const std::string& bytes : {std::string(), std::string("\x96"), std::string(10, '\x80')}) {
    FieldReader fields(bytes);
    EXPECT_EQ(fields.Number(), 0U);
    ExpectCutOff(fields);
  }
}

TEST(FieldReader, ASmallNumberThatIsTooLarge) {
  FieldReader fields(std::string_view("\x80\x80\x80\x80\x10\x01", 6));
  fields.Small();
  ExpectCutOff(fields);
}

TEST(FieldReader, BytesThatAreCutOff) {
  FieldReader fields(
      std::string_view("\x04"
                       "abc",
                       4));
  EXPECT_EQ(fields.Bytes(), "");
  ExpectCutOff(fields);
}

}  // namespace
}  // namespace wq::storage
