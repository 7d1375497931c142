#include "tools/wqctl/work/command_line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace wqctl {
namespace {

using ::testing::ElementsAre;

TEST(CommandLineTest, PlacesAreFilledWithoutReadingTheFilledText) {
  const CommandLine line({"cmd", "{}", "a{}{}b", "{ }", "{"}, true);
  EXPECT_THAT(line.ArgvFor("{}x"), ElementsAre("cmd", "{}x", "a{}x{}xb", "{ }", "{"));
  EXPECT_FALSE(line.program_varies());
  EXPECT_TRUE(line.UsesKey());
}

TEST(CommandLineTest, TheKeyIsAppendedIfThereIsNoPlace) {
  const CommandLine line({"cmd", "a"}, true);
  EXPECT_THAT(line.ArgvFor("k"), ElementsAre("cmd", "a", "k"));
  EXPECT_TRUE(line.UsesKey());
  EXPECT_THAT(CommandLine({"cmd"}, false).ArgvFor("k"), ElementsAre("cmd"));
  EXPECT_FALSE(CommandLine({"cmd"}, false).UsesKey());
  EXPECT_TRUE(CommandLine({"bin/{}"}, true).program_varies());
}

TEST(CommandLineTest, ShellTextQuotesWhatAShellWouldChange) {
  EXPECT_EQ(ShellText({"echo", "a/b-c_1.2", ""}), "echo a/b-c_1.2 ''");
  EXPECT_EQ(ShellText({"a b", "$x", "it's", "\\"}), "'a b' '$x' 'it'\\''s' '\\'");
  EXPECT_EQ(ShellText({"naïve"}), "'naïve'");
  EXPECT_EQ(ShellText({"a\nb\t'\\"}), R"($'a\nb\t\'\\')");
  EXPECT_EQ(ShellText({"\xff\x1b"}), R"($'\xff\x1b')");
}

}  // namespace
}  // namespace wqctl
