// load: what dump has written is loaded as it was, and of a wrong or cut dump nothing is.

#include <fstream>

#include "tests/wqctl/unit/in_process.h"

namespace wqctl {
namespace {

using ::testing::HasSubstr;

class LoadTest : public WqctlTest {
 protected:
  static Ran Load(const std::string& options, const std::string& dump) {
    return Run(Split(options + " load --replace"), dump);
  }
  // The lines are refused, and none of them is loaded.
  static void Refused(const std::string& dump, const std::string& why) {
    const Ran ran = Load("--store refused", dump);
    EXPECT_EQ(ran.code, 1) << dump.substr(0, 200);
    EXPECT_THAT(ran.err, HasSubstr(why)) << dump.substr(0, 200);
    EXPECT_THAT(ran.err, HasSubstr("nothing was loaded"));
    EXPECT_EQ(Run(Split("--store refused inspect -o name")).out, "");
  }
};

// Whether a delay is one of a resync, the causes, cursors, pauses: each kind of record.
TEST_F(LoadTest, ADumpIsLoadedAsItWas) {
  std::ofstream("lines") << R"({"record":"cursor","queue":"q","name":"offset","value_base64":"NP8x"}
{"record":"queue","queue":"r","paused":true}
{"queue":"q","key":"bad","state":"quarantined","failures":1,"last_error":"no"}
{"queue":"q","key":"fails","state":"failing","failures":2}
{"queue":"r","key":"k","state":"pending","lane":"-2147483648","group":"ns"}
)";
  Out("load lines");
  Out("add -q q --debounce 10m --max-wait 2h gathered");
  Out("add -q q --after 1h --delay-mode resync again");
  Out("add -q q --after 1h --reason later plain");
  Run({"add", "-q", "q", "--reason", "node \"a\" drained", "--traceparent",
       "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", "a"});
  for (int i = 1; i <= 12; ++i) Out("add -q q --reason change-" + std::to_string(i) + " a");
  Out("add -q q --reason - c");
  Out("add -q q --reason \\- c");
  const std::string dump = Out("dump");
  EXPECT_THAT(dump, HasSubstr(R"("causes":"- later\n")"));
  EXPECT_THAT(dump, HasSubstr(R"("causes":"- \\-\n- \\\\-\n")"));
  EXPECT_THAT(dump, HasSubstr(R"(\n+5\n")"));
  EXPECT_EQ(Load("--store copy", dump).out, "loaded queues 2, entries 8, cursors 1\n");
  EXPECT_EQ(Out("--store copy dump"), dump);
  const std::string now = "inspect --now 2100-01-01T00:00:00Z -o json";
  const auto queues = [](const std::string& text) { return text.substr(text.find("\"queues\"")); };
  EXPECT_EQ(queues(Out("--store copy " + now)), queues(Out(now)));
  // The copy works: a resync gives way to a later delay, another one does not.
  Out("--store copy add -q q --after 3h again plain");
  EXPECT_THAT(Out("--store copy inspect again"), HasSubstr("delay           3h\n"));
  EXPECT_THAT(Out("--store copy inspect plain"), HasSubstr("delay           1h\n"));
  EXPECT_THAT(Out("--store copy inspect gathered"), HasSubstr("delay           10m, debounced\n"));
  EXPECT_THAT(Out("inspect again"), HasSubstr(", until its resync\n"));
}

TEST_F(LoadTest, WhatWasCutIsRefusedAtWhateverLine) {
  Out("init");
  Out("add -q q a b");
  const std::string whole = Out("dump");
  std::vector<size_t> ends;
  for (size_t at = 0; (at = whole.find('\n', at)) != whole.npos; ++at) ends.push_back(at + 1);
  ASSERT_EQ(ends.size(), 5U);
  for (size_t n = 0; n + 1 < ends.size(); ++n) {
    Refused(whole.substr(0, ends[n]),
            "cut short after " + std::to_string(n) + " records: it has no end");
  }
  const std::string last = whole.substr(ends[3]), row = whole.substr(ends[2], ends[3] - ends[2]);
  Refused(whole.substr(0, ends[2]) + last, "line 4: the dump had 3 records, and here are 2");
  Refused(whole + row, "line 6: it is behind the end of the dump");
  Refused(whole.substr(0, ends[3]) + whole, "line 5: the dump was cut short after 3 records");
  Refused(last, "end of a dump without its begin");
  std::string other = whole;
  other.replace(other.find("\"version\":1"), 11, "\"version\":2");
  Refused(other, "of version 2");
  // Whole ones one after the other, one of an earlier version, and a part of one.
  Out("--store second init");
  Out("--store second add -q r c");
  EXPECT_EQ(Load("--store both", whole + Out("--store second dump")).code, 0);
  EXPECT_EQ(Out("--store both ls -o name"), "a\nb\nc\n");
  EXPECT_EQ(Load("--store early", whole.substr(ends[0], ends[3] - ends[0])).code, 0);
  EXPECT_EQ(Out("--store early dump"), whole);
  EXPECT_EQ(Load("--store part", row).code, 0);
  Out("--store part add -q q c");
  EXPECT_EQ(Out("--store part ls -o name"), "b\nc\n");
}

TEST_F(LoadTest, AQueueThatIsThereIsReplacedOnlyIfAsked) {
  Out("init");
  Out("add -q q a");
  std::ofstream("dumped") << Out("dump");
  Out("add -q q b");
  Out("add -q r c");
  Expect(R"(
1 load dumped => line 2: queue "q" is there, and is not empty: --replace
0 load --dry-run --replace dumped => to be loaded: queues 1, entries 1, cursors 0
0 ls -o name => a\nb\nc
0 load --replace -o jsonl dumped => {"queues":1,"entries":1,"cursors":0,"objects":0,"dry_run":false}
0 ls -o name => a\nc
0 --store new load --dry-run dumped => to be loaded: queues 1, entries 1, cursors 0
3 --store new ls => no store new
1 load nothing => cannot open nothing: No such file
1 load . => cannot read: Is a directory
)");
  std::filesystem::create_directory("other");
  std::ofstream("other/file") << "precious";
  EXPECT_EQ(Run(Split("--store other load dumped")).code, 1);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator("other"), {}), 1);
}

TEST_F(LoadTest, LimitsOfAnEarlierDumpAreLeftOutWithOneWarning) {
  const std::string limits =
      R"({"record":"limits","queue":"q","max_processing":7,"per_second":0.1,)"
      R"("burst":3,"weight":1,"group)";
  const Ran ran =
      Load("--store store", R"({"queue":"q","key":"a","state":"pending"})"
                            "\n" +
                                limits + "\":\"ns\"}\n" + limits + "_base64\":\"AP8=\"}\n");
  EXPECT_EQ(ran.out, "loaded queues 1, entries 1, cursors 0\n");
  EXPECT_THAT(ran.err, ::testing::EndsWith("the dump has limits of groups: they are options of a "
                                           "queue now, and left out\n"));
  EXPECT_EQ(std::count(ran.err.begin(), ran.err.end(), '\n'), 1);
}

TEST_F(LoadTest, AWrongLineIsNamed) {
  const std::string k = R"({"queue":"q","key":"k","state":)", pending = k + R"("pending",)";
  const std::string delayed = k + R"("delayed","ready_at":"2026-02-20T00:01:00Z",)";
  const std::string source = R"({"record":"source","queue":"q","name":"s",)";
  const std::string deep(100'000, '[');
  const std::pair<std::string, std::string> kRows[] = {
      {R"({"queue":"q")", "not JSON at byte"},
      {pending + R"("failures":1e400})", "a number is too large"},
      {"7", "no JSON object"},
      {R"([{"queue":"q"}])", "array"},
      {R"({"queue":)" + deep, "array"},
      {R"({"queue":{"queue":1}})", "object"},
      {R"({"key":"k","state":"pending"})", "no \"queue\""},
      {R"({"queue":"q","key":"k"})", "no \"state\""},
      {R"({"queue":"q","state":"pending"})", "\"key\""},
      {pending + R"("key_hex":"6b"})", "\"key\""},
      {pending + R"("queue":"q"})", "there twice"},
      {pending + R"("x":1})", "unknown field \"x\""},
      {k + R"("done"})", "not a state"},
      {R"({"queue":"q","key_base64":"Zh==","state":"pending"})", "base64"},
      {pending + R"("last_error":"a","last_error_base64":"Yg=="})", "not one of \"last_error\""},
      {source + R"("fingerprint":"0x00000000000001"})", "16 hexadecimal digits"},
      {source + R"("fingerprint":"              01"})", "16 hexadecimal digits"},
      {pending + R"("sequence":-1})", "whole number"},
      {pending + R"("sequence":18446744073709551616})", "whole number"},
      {pending + R"("added_at":"2026-02-30T00:00:00Z"})", "a time"},
      {pending + R"("causes":"x later"})", "\"causes\" is not a list of causes"},
      {k + R"("delayed"})", "ready_at"},
      {delayed + R"("debounced":true,"resync":true})", "it is both debounced and a resync"},
      {R"({"queue":"q","key":"a","state":"pending"})", "pending twice"},
      {R"({"queue":"q~loading","key":"a","state":"pending"})", "queue name"},
      {R"({"record":"store","queue":"q"})", "kind of record"},
      {R"({"record":"queue","queue":"q"})", "is there twice"},
      {R"({"queue":")" + std::string(1'100'000, 'a') + "\"}", "longer than"},
      {"{\"queue\":\"q\",\"key\":\"\xff\",\"state\":\"pending\"}", "not JSON"}};
  const std::string good = R"({"record":"queue","queue":"q"}
{"queue":"q","key":"a","state":"pending"}

)";
  for (const auto& [line, why] : kRows) {
    Refused(good + line + "\n", why);
    EXPECT_THAT(Load("--store refused", good + line + "\n").err, HasSubstr("line 4: "));
  }
  std::ofstream("wrong") << "7\n";
  Expect(1, "load --dry-run wrong", "line 1: ");
}

}  // namespace
}  // namespace wqctl
