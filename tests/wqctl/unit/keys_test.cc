// Keys with unusual bytes, and of the greatest length, through every verb that takes or shows keys:
// no byte is lost or changed, and what people see has none that a terminal would act on.

#include <algorithm>
#include <fstream>

#include "tests/wqctl/unit/in_process.h"
#include "tools/wqctl/text/bytes_text.h"

namespace wqctl {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// What a terminal acts on, shows as something else, or cannot show.
const Words kRaw = {"\x1b",     "\a",       "\x7f",         "\r",      "\t",
                    "\u0085",   "\u202e",   "\u2066",       "\u2028",  "\ufeff",
                    "\xff\xfe", "\xc0\xaf", "\xed\xa0\x80", "\xf4\x90"};

Words UglyKeys() {
  Words keys = {"-",
                "--",
                "-q",
                "--help",
                "-rf /",
                "it's",
                "\"quoted\"",
                "back\\slash",
                "\\n",
                " ",
                "two  spaces",
                "*",
                "$HOME",
                "{}",
                "%s%n",
                "new\nline",
                "\n",
                "[a,b]",
                "\u00e9",
                "e\u0301",
                "\u65e5\u672c",
                "\xc3",
                std::string(4096, 'k'),
                ""};
  for (int i = 0; i < 4096; ++i) keys.back() += static_cast<char>(i % 255 + 1);
  for (const std::string& raw : kRaw) keys.push_back("x" + raw + "y");
  keys.emplace_back("a\0b", 3);  // On no command line.
  return keys;
}

std::string Joined(const Words& keys) {
  std::string text;
  for (const std::string& key : keys) text += key + '\0';
  return text;
}

class KeysTest : public WqctlTest {
 protected:
  KeysTest() {
    for (const std::string& key : keys_) hex_.push_back(ToHex(key));
    Out("init");
  }

  static Words Behind(const std::string& line, const Words& keys) {
    Words words = Split(line);
    words.insert(words.end(), keys.begin(), keys.end());
    return words;
  }
  // The verb changes all keys.
  void Change(const std::string& verb, const std::string& done) {
    const Ran ran = Run(Behind(verb + " -q q --yes --hex", hex_));
    EXPECT_EQ(ran.out, done + " " + std::to_string(hex_.size()) + "\n") << ran.err;
  }
  static void NoRawBytes(const std::string& text) {
    for (const std::string& raw : kRaw) EXPECT_THAT(text, Not(HasSubstr(raw)));
  }

  const Words keys_ = UglyKeys();
  const Words words_{keys_.begin(), keys_.end() - 1};  // Those that can be arguments.
  Words hex_;
};

TEST_F(KeysTest, AsArgumentsAndFromStdin) {
  EXPECT_EQ(Run(Behind("add -q q --", words_)).code, 0);
  EXPECT_EQ(Out("ls -o name -0"), Joined(words_));
  for (const std::string& key : words_) EXPECT_EQ(Run({"inspect", "--", key}).code, 0) << key;
  EXPECT_EQ(Run(Behind("rm -q q --yes --", words_)).code, 0);
  std::string input = Joined(words_) + "last";  // Without an end of its own.
  EXPECT_EQ(Run(Split("add -q q -0"), input).code, 0);
  EXPECT_EQ(Out("ls -o name -0"), input + '\0');
}

TEST_F(KeysTest, AddedInHexadecimal) {
  std::string lines;
  for (const std::string& hex : hex_) lines += hex + "\n";
  EXPECT_EQ(Run(Behind("add -q q --hex", hex_)).code, 0);
  EXPECT_EQ(Out("ls -q q --hex -o name"), lines);
  EXPECT_EQ(Run(Split("add -q r --hex -"), lines).code, 0);
  EXPECT_EQ(Out("ls -q r -o name -0"), Joined(keys_));
  Expect(2, "add -q q --hex 0", "\"0\" is not hexadecimal");
  const Ran ran = Run(Split("add -q s --hex -"), "6b\n6\n\n" + std::string(8194, '6') + "\n6c");
  EXPECT_EQ(ran.out, "added 2, deduplicated 0, refused 3\n");
  EXPECT_THAT(ran.err, HasSubstr("line 2: \"6\" is not hexadecimal\n"));
  EXPECT_THAT(ran.err, HasSubstr("line 3: the key is empty\n"));
  EXPECT_THAT(ran.err, HasSubstr("line 4: the key has 4097 bytes, more than the limit of 4096"));
  EXPECT_EQ(Out("ls -q s -o name"), "k\nl\n");
}

TEST_F(KeysTest, EveryChange) {
  std::ofstream lines("lines");
  for (const std::string& hex : hex_) {
    lines << R"({"queue":"q","state":"delayed","ready_at":"2100-01-01T00:00:00Z","failures":1,)"
          << R"("key_hex":")" << hex << "\"}\n";
  }
  lines.close();
  Out("load lines");
  EXPECT_EQ(Out("ls --failures-over 0 --limit 1 --hex --prefix 2d -o name"), "2d\n");
  EXPECT_EQ(Out("ls --failures-over 1 -o name"), "");
  Change("forget", "forgotten");
  EXPECT_EQ(Out("ls --failures-over 0 -o name"), "");
  Change("requeue", "requeued");
  EXPECT_EQ(Out("ls --state pending -o name -0"), Joined(keys_));
  Change("rm", "removed");
  Out("load lines");
  Change("cancel-delay", "cancelled");
  Out("load --replace lines");
  Change("delete", "deleted");
  EXPECT_EQ(Out("ls -o name"), "");
}

TEST_F(KeysTest, CopiedAndShown) {
  EXPECT_EQ(Run(Split("add -q q -0"), Joined(keys_)).code, 0);  // The last one is two.
  const std::string dump = Out("dump");
  const Ran cut =
      Run(Split("--store copy load"), dump.substr(0, dump.rfind('\n', dump.size() - 2)));
  EXPECT_EQ(cut.code, 1);
  EXPECT_THAT(cut.err, HasSubstr("the dump was cut short"));
  EXPECT_EQ(Run(Split("--store copy load"), dump).code, 0);
  Out("snapshot create --name s kept");
  Out("snapshot restore kept --into restored");
  Out("repair --into repaired");
  for (const std::string store : {"copy", "restored", "repaired"}) {
    EXPECT_EQ(Out("--store " + store + " ls -o name -0"), Out("ls -o name -0"));
    EXPECT_EQ(Out("--store " + store + " verify -o name"), "");
  }
  const std::string table = Out("ls");
  EXPECT_EQ(std::count(table.begin(), table.end(), '\n'), std::ssize(keys_) + 2);
  NoRawBytes(table + Out("dump -o table") + Out("inspect"));
  for (const std::string& key : words_) {
    NoRawBytes(Run({"inspect", "-q", "q", "--", key}).out);
    NoRawBytes(Run({"inspect", "-q", "q", "--", "no" + key}).err);
  }
  EXPECT_THAT(Run({"inspect", "\xc3", "-o", "json"}).out, HasSubstr(R"("key_base64": "ww==")"));
  EXPECT_THAT(Run({"inspect", "new\nline", "-o", "json"}).out, HasSubstr(R"("key": "new\nline")"));
}

TEST_F(KeysTest, TheGreatestNumbersAreLoadedAgain) {
  const std::string first = "\"@-9223372036854775808\"", last = "\"@9223372036854775807\"";
  const std::string failures = R"("failures":9223372036854775807,"first_failure_at":)" + first +
                               R"(,"last_failure_at":)" + last;
  std::ofstream("lines")
      << R"({"record":"queue","queue":"q","sequence_high_water":4611686018427387904,)"
      << R"("created_at":)" << first << R"(,"paused":true,"paused_until":)" << last << "}\n"
      << R"({"queue":"q","key":"a","state":"pending","sequence":4611686018427387903,"added_at":)"
      << last << R"(,"lane":"-2147483648","causes":"+18446744073709551615",)" << failures << "}\n"
      << R"({"queue":"q","key":"b","state":"delayed","ready_at":)" << first << R"(,"added_at":)"
      << first << R"(,"delay_seconds":3155760000.0,"lane":"2147483647"})"
      << "\n"
      << R"({"queue":"q","key":"c","state":"quarantined","quarantined_at":)" << last << ","
      << failures << "}\n"
      << R"({"queue":"q","key":"d","state":"failing",)" << failures << "}\n";
  Out("load lines");
  Out("verify");
  const std::string dump = Out("dump");
  EXPECT_EQ(std::count(dump.begin(), dump.end(), '\n'), 7);
  const Ran again = Run(Split("--store copy load"), dump);
  EXPECT_EQ(again.code, 0) << again.err;
  Out("--store copy verify");
  EXPECT_EQ(Out("--store copy dump"), dump);
  const Ran refused =
      Run(Split("--store copy load"), R"({"queue":"r","key":"k","state":"failing","failures":)"
                                      "9223372036854775808}");
  EXPECT_EQ(refused.code, 1);
  EXPECT_THAT(refused.err,
              HasSubstr("'k' has 9223372036854775808 failures, more than 9223372036854775807"));
}

TEST_F(KeysTest, InTheCommandsOfWork) {
  const auto shown = [](const std::string& key, const Words& command) {
    Run({"add", "-q", "w", "--", key});
    Words words = {"work", "-q", "w", "--dry-run", "--"};
    words.insert(words.end(), command.begin(), command.end());
    const std::string text = Run(words).out;
    Run({"rm", "-q", "w", "--yes", "--", key});
    return text;
  };
  EXPECT_EQ(shown("k", {"cmd", "a"}), "cmd a k\n");
  // What a place is filled with has no places.
  EXPECT_EQ(shown("{}x", {"cmd", "{}", "a{}{}b", "{ }", "{"}), "cmd '{}x' 'a{}x{}xb' '{ }' '{'\n");
  EXPECT_EQ(shown("a/b-c_1.2", {"echo", ""}), "echo '' a/b-c_1.2\n");
  EXPECT_EQ(shown("it's", {"a b", "$x", "\\"}), "'a b' '$x' '\\' 'it'\\''s'\n");
  EXPECT_EQ(shown("na\u00efve", {"echo"}), "echo 'na\u00efve'\n");
  EXPECT_EQ(shown("a\nb\t'\\", {"echo"}), R"(echo $'a\nb\t\'\\')"
                                          "\n");
  EXPECT_EQ(shown("\xff\x1b", {"echo"}), R"(echo $'\xff\x1b')"
                                         "\n");
}

TEST_F(KeysTest, RefusedByNumber) {
  const Ran ran = Run(Split("add -q q -"), "good\n\n" + std::string(5000, 'x') + "\nfine");
  EXPECT_EQ(ran.code, 1);
  EXPECT_EQ(ran.out, "added 2, deduplicated 0, refused 2\n");
  EXPECT_THAT(ran.err, HasSubstr("line 2: the key is empty\n"));
  EXPECT_THAT(ran.err,
              HasSubstr("line 3: the key has 5000 bytes, more than the limit of 4096: \"x"));
  EXPECT_EQ(Run({"add", "-q", "q", std::string(4097, 'k')}).code, 1);
  EXPECT_EQ(Run({"add", "-q", "q", ""}).code, 1);
  EXPECT_EQ(Out("ls -o name"), "good\nfine\n");
}

TEST_F(KeysTest, PathsAndReasons) {
  const std::string bad = "x\x1b[31mred";
  std::filesystem::create_directories("foreign/" + bad);
  for (const Words& words : {Words{"--store", "foreign", "ls"}, Words{"--store", bad, "ls"},
                             Words{"snapshot", "ls", bad}, Words{"serve", "--token-file", bad},
                             Words{"--store", "/proc/" + bad, "init"}}) {
    const Ran ran = Run(words);
    EXPECT_NE(ran.code, 0);
    EXPECT_THAT(ran.err, HasSubstr("x\\x1b[31mred"));
    NoRawBytes(ran.err);
  }
  Expect(3, "--store back\\slash ls", "no store back\\slash");
  Run({"add", "-q", "q", "--reason", "\u009b31mred \u202egnp.exe", "a"});
  const std::string shown = Out("inspect -q q a");
  EXPECT_THAT(shown, HasSubstr("\\u{9b}31mred"));
  NoRawBytes(shown);
}

}  // namespace
}  // namespace wqctl
