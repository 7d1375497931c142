#include "base/limits.h"

#include <limits>

#include <gtest/gtest.h>

namespace wq {
namespace {

TEST(NumberText, IsReadAsTheSameNumber) {
  EXPECT_EQ(NumberText(0), "0");
  EXPECT_EQ(NumberText(-1), "-1");
  EXPECT_EQ(NumberText(1.5), "1.5");
  EXPECT_EQ(NumberText(0.6), "0.6");
  EXPECT_EQ(NumberText(1e-7), "0.0000001");
  EXPECT_EQ(NumberText(2'000'000), "2000000");
  EXPECT_EQ(NumberText(1e-30), "1e-30");
  EXPECT_EQ(NumberText(-1.7976931348623157e308), "-1.7976931348623157e+308");
  EXPECT_EQ(NumberText(std::numeric_limits<double>::infinity()), "inf");
  EXPECT_EQ(NumberText(std::numeric_limits<double>::quiet_NaN()), "nan");
}

}  // namespace
}  // namespace wq
