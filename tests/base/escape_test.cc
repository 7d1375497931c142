#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "wq/keys.h"

namespace wq {
namespace {

using namespace std::string_literals;

TEST(EscapeKey, PrintableTextStays) {
  EXPECT_EQ(EscapeKey(""), "");
  EXPECT_EQ(EscapeKey("default/pod-1"), "default/pod-1");
  EXPECT_EQ(EscapeKey(" !\"'~"), " !\"'~");
  EXPECT_EQ(EscapeKey("grüße/日本/😀"), "grüße/日本/😀");
  EXPECT_EQ(EscapeKey("👩\u200D🔧"), "👩\u200D🔧") << "a joiner belongs to the emoji";
}

TEST(EscapeKey, ControlBytes) {
  EXPECT_EQ(EscapeKey("a\nb\tc\rd"), R"(a\nb\tc\x0dd)");
  EXPECT_EQ(EscapeKey("\x1b[31mred"), R"(\x1b[31mred)");
  EXPECT_EQ(EscapeKey("a\0b\x7f"s), R"(a\x00b\x7f)");
  EXPECT_EQ(EscapeKey("\xC2\x9B"
                      "31m"),
            R"(\u{9b}31m)")
      << "CSI as one C1 control";
  for (int c = 0; c < 0x20; ++c) {
    EXPECT_EQ(EscapeKey(std::string(1, static_cast<char>(c))).front(), '\\') << c;
  }
}

TEST(EscapeKey, ABackslashCannotBeTakenForAnEscape) {
  EXPECT_EQ(EscapeKey("\\n"), R"(\\n)");
  EXPECT_NE(EscapeKey("\\n"), EscapeKey("\n"));
}

TEST(EscapeKey, InvisibleAndBidirectionalCodePoints) {
  for (char32_t c = 0x202A; c <= 0x202E; ++c) {
    const std::string text{'\xE2', '\x80', static_cast<char>(0x80 + (c & 0x3F))};
    EXPECT_EQ(EscapeKey(text).substr(0, 5), "\\u{20") << std::hex << static_cast<uint32_t>(c);
  }
  EXPECT_EQ(EscapeKey("a\u202Eb"), R"(a\u{202e}b)");
  EXPECT_EQ(EscapeKey("\u2066\u2067\u2068\u2069"), R"(\u{2066}\u{2067}\u{2068}\u{2069})");
  EXPECT_EQ(EscapeKey("\u200E\u200F\u061C"), R"(\u{200e}\u{200f}\u{61c})");
  EXPECT_EQ(EscapeKey("\u2028\u2029\u0085"), R"(\u{2028}\u{2029}\u{85})");
  EXPECT_EQ(EscapeKey("\u200B\uFEFF"), R"(\u{200b}\u{feff})");
  EXPECT_EQ(EscapeKey("\xF3\xA0\x81\x81"), R"(\u{e0041})");
}

TEST(EscapeKey, BytesThatAreNotUtf8) {
  EXPECT_EQ(EscapeKey("a\xFF"
                      "b"),
            R"(a\xffb)");
  EXPECT_EQ(EscapeKey("\x80"), R"(\x80)");
  EXPECT_EQ(EscapeKey("\xC3"), R"(\xc3)") << "cut off";
  EXPECT_EQ(EscapeKey("\xE2\x82"
                      "x"),
            R"(\xe2\x82x)")
      << "cut off by another character";
  EXPECT_EQ(EscapeKey("\xC0\xAF"), R"(\xc0\xaf)") << "an overlong slash";
  EXPECT_EQ(EscapeKey("\xED\xA0\x80"), R"(\xed\xa0\x80)") << "a surrogate";
}

TEST(EscapeKey, CutsAtTheLimitAndNeverWithinACodePoint) {
  EXPECT_EQ(EscapeKey("abcdef", 6), "abcdef");
  EXPECT_EQ(EscapeKey("abcdef", 5), "abcde…");
  EXPECT_EQ(EscapeKey("ab€", 5), "ab€");
  EXPECT_EQ(EscapeKey("ab€", 4), "ab…");
  EXPECT_EQ(EscapeKey("ab€", 3), "ab…");
  EXPECT_EQ(EscapeKey("ab€", 2), "ab…");
  EXPECT_EQ(EscapeKey("a", 0), "…");
  EXPECT_EQ(EscapeKey("", 0), "");
  EXPECT_EQ(EscapeKey(std::string(300, 'x')), std::string(256, 'x') + "…");
}

TEST(EscapeKey, IsAlwaysValidUtf8OnOneLine) {
  for (int first = 0; first < 256; ++first) {
    for (int second = 0; second < 256; ++second) {
      const std::string bytes{static_cast<char>(first), static_cast<char>(second), '\x80', 'a'};
      const std::string escaped = EscapeKey(bytes);
      ASSERT_TRUE(IsValidUtf8(escaped)) << first << " " << second;
      ASSERT_EQ(escaped.find_first_of("\n\r\x1b"), std::string::npos) << first << " " << second;
    }
  }
}

TEST(IsValidUtf8, AcceptsEveryLengthAtItsBounds) {
  for (const std::string& text :
       {""s, "a\0b"s, "\x7F"s, "\xC2\x80"s, "\xDF\xBF"s, "\xE0\xA0\x80"s, "\xED\x9F\xBF"s,
        "\xEE\x80\x80"s, "\xEF\xBF\xBF"s, "\xF0\x90\x80\x80"s, "\xF4\x8F\xBF\xBF"s}) {
    EXPECT_TRUE(IsValidUtf8(text)) << EscapeKey(text);
  }
}

TEST(IsValidUtf8, RefusesWhatRfc3629Refuses) {
  for (const char* text : {"\x80",                                          // A continuation.
                           "\xC0\x80", "\xC1\xBF",                          // Overlong.
                           "\xE0\x9F\xBF", "\xF0\x8F\xBF\xBF",              // Overlong.
                           "\xED\xA0\x80", "\xED\xBF\xBF",                  // Surrogates.
                           "\xF4\x90\x80\x80", "\xF5\x80\x80\x80", "\xFE",  // Above U+10FFFF.
                           "a\xE2\x82", "\xE2\x28\xA1"}) {                  // Cut off.
    EXPECT_FALSE(IsValidUtf8(text)) << EscapeKey(text);
  }
}

TEST(Base64, ThereAndBack) {
  const std::pair<std::string, std::string> kPairs[] = {{"", ""},
                                                        {"f", "Zg=="},
                                                        {"fo", "Zm8="},
                                                        {"foo", "Zm9v"},
                                                        {"foob", "Zm9vYg=="},
                                                        {"fooba", "Zm9vYmE="},
                                                        {"foobar", "Zm9vYmFy"},
                                                        {"\xff\xfe", "//4="}};
  for (const auto& [bytes, text] : kPairs) {
    EXPECT_EQ(ToBase64(bytes), text);
    EXPECT_EQ(FromBase64(text), bytes);
  }
  std::string all;
  for (int i = 0; i < 256; ++i) {
    all.push_back(static_cast<char>(i));
    EXPECT_EQ(FromBase64(ToBase64(all)), all);
  }
}

TEST(Base64, WhatIsNone) {
  for (const char* text :
       {"Z", "Zg", "Zg=", "Zg===", "====", "=", "Z===", "Zh==", "Zm9=", "Zg==Zg==", "Zm8=\n",
        "Zm 8", "Zm-_", "=Zg=", "Zg..", "Zg==    ", " Zg== "}) {
    EXPECT_EQ(FromBase64(text), std::nullopt) << text;
  }
}

TEST(Lane, NamesAndNumbers) {
  EXPECT_EQ(LaneName(kFastLane), "fast");
  EXPECT_EQ(LaneName(kSlowLane), "slow");
  EXPECT_EQ(LaneName(7), "7");
  EXPECT_EQ(LaneName(-1), "-1");
  for (const Lane lane : {kFastLane, kSlowLane, Lane{7}, std::numeric_limits<Lane>::min(),
                          std::numeric_limits<Lane>::max()}) {
    EXPECT_EQ(ParseLane(LaneName(lane)), lane);
  }
  EXPECT_EQ(ParseLane("0"), kFastLane);
  EXPECT_EQ(ParseLane("-100"), kSlowLane);
}

TEST(Lane, WhatIsNoLane) {
  for (const char* text : {"", "Fast", "fast ", " 1", "1 ", "+1", "1.0", "2147483648", "x"}) {
    EXPECT_EQ(ParseLane(text), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace wq
