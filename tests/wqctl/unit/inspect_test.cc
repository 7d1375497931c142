// What inspect, ls, dump and errors show of a store: fields, positions, groups. The texts and
// tables are in ../goldens/screens.

#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/wqctl/unit/in_process.h"
#include "tools/wqctl/text/table.h"
#include "wq/store.h"

namespace wqctl {
namespace {

using nlohmann::json;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;

class InspectTest : public WqctlTest {
 protected:
  static json Json(const std::string& line) { return json::parse(Out(line + " -o json")); }
  static std::string FieldsOf(const std::string& key) {
    const json entry = json::parse(Out("ls --match ^" + key + "$ -o jsonl"));
    std::string fields;
    for (const auto& field : entry.items()) fields += field.key() + " ";
    return fields;
  }
};

TEST_F(InspectTest, TheNamesOfTheContract) {
  std::ofstream("lines") << R"({"record":"queue","queue":"q","paused":true}
{"record":"cursor","queue":"q","name":"informer","value":"12345"}
{"queue":"q","key":"a","state":"pending","added_at":"2026-01-31T12:00:00Z"}
{"queue":"q","key":"s","state":"pending","lane":"slow","group":"ns",)"
                            R"("added_at":"2026-01-31T12:00:01Z"}
{"queue":"q","key":"soon","state":"delayed","ready_at":"2100-01-01T00:00:00Z"}
{"queue":"r","key":"bad","state":"delayed","ready_at":"2100-01-01T00:00:00Z",)"
                            R"("failures":1,"last_error":"broken"}
{"queue":"r","key":"held","state":"quarantined","failures":1,"last_error":"no"}
)";
  Out("load lines");
  const json all = Json("inspect --now 2026-01-31T12:01:00Z"), q = all["queues"][0],
             r = all["queues"][1];
  const std::string time = R"([0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:]{8}\.[0-9]{6}Z)";
  EXPECT_EQ(q["name"], "q");
  EXPECT_EQ(json::array({q["pending"], q["delayed"], q["failing"], q["quarantined"]}).dump(),
            "[2,1,0,0]");
  EXPECT_EQ(json::array({r["pending"], r["delayed"], r["failing"], r["quarantined"]}).dump(),
            "[0,1,1,1]");
  EXPECT_EQ(q["lanes"].dump(), R"({"fast":1,"slow":1})");
  EXPECT_EQ(q["paused"], true);
  EXPECT_EQ(q["paused_until"], nullptr);
  EXPECT_EQ(r["oldest_age_seconds"], nullptr);
  EXPECT_EQ(q["oldest_age_seconds"], 60.0);
  EXPECT_THAT(q["oldest_added_at"].get<std::string>(), MatchesRegex(time));
  EXPECT_THAT(q["next_ready_at"].get<std::string>(), MatchesRegex(time));
  EXPECT_EQ(r["top_failing"][0]["key"], "bad");
  EXPECT_EQ(r["top_failing"][0]["count"], 1);
  EXPECT_EQ(r["top_failing"][0]["last_error"], "broken");
  const json store = all["store"];
  EXPECT_EQ(store["dir"].get<std::string>(), "store");
  EXPECT_EQ(store["format_version"], 3);
  EXPECT_EQ(store["owner_pid"], getpid());
  EXPECT_EQ(store["owner_closed"], true);
  EXPECT_EQ(store["process_log_bytes"], 0);
  EXPECT_EQ(FieldsOf("s"), "added_at failures group key lane queue sequence state ");
  EXPECT_EQ(FieldsOf("bad"),
            "added_at delay_seconds failures first_failure_at key lane last_error last_failure_at "
            "queue ready_at state ");
  EXPECT_EQ(FieldsOf("held"),
            "failures first_failure_at key lane last_error last_failure_at quarantined_at queue "
            "state ");
  const json bad = Json("inspect bad --base-delay 1m")["entries"][0];
  EXPECT_EQ(bad["next_delay_seconds"], 120);
  EXPECT_EQ(Json("inspect held")["entries"][0]["next_delay_seconds"], nullptr);
  EXPECT_THAT(Out("ls -q q --limit 1 --hex -o jsonl"), HasSubstr(R"("key_hex":"61")"));
}

TEST_F(InspectTest, APauseBesideAnOwnerIsWhatTheOwnerKeeps) {
  std::ofstream("lines") << R"({"record":"queue","queue":"q","paused":true,)"
                         << R"("paused_until":"2026-01-31T12:00:00Z"})";
  Out("load lines");
  const auto paused = [] { return Json("inspect")["queues"][0]["paused"]; };
  EXPECT_EQ(paused(), false);
  EXPECT_THAT(Out("inspect"), HasSubstr("paused        no\n"));
  std::unique_ptr<wq::Store> owner;  // It may have the queue open, by a clock of its own.
  ASSERT_TRUE(wq::Store::Open({}, "store", &owner).ok());
  EXPECT_EQ(paused(), true);
  EXPECT_THAT(Out("inspect"), ContainsRegex("paused        yes, was to end [0-9]+.* ago\n"));
  Expect(R"(0 resume -q q --dry-run => would resume queue "q")");
}

TEST_F(InspectTest, AStoreWithoutQueues) {
  Out("init");
  EXPECT_EQ(Json("inspect")["queues"].dump(), "[]");
  EXPECT_EQ(Out("dump"),
            "{\"record\":\"begin\",\"version\":1}\n{\"record\":\"end\",\"records\":0}\n");
  EXPECT_EQ(Json("errors").dump(), "[]");
}

TEST_F(InspectTest, ThePlaceOfAKeyIsThatAmongAllLanes) {
  Out("init");
  std::string keys;
  for (int i = 0; i < 70'000; ++i) keys += std::to_string(i) + "\n";
  Run(Split("add -q q -"), keys);
  Out("add -q q --priority 5 first");
  Out("add -q q --lane slow last");
  for (const auto& [key, place] : {std::pair("first", 0), {"0", 1}, {"2", 3}}) {
    const json entry = Json(std::string("inspect ") + key)["entries"][0];
    EXPECT_EQ(entry["position"], place) << key;
    EXPECT_EQ(entry["position_at_most"], place) << key;
  }
  const json about = Json("inspect last")["entries"][0];
  EXPECT_LT(about["position"], 70'001);
  EXPECT_GE(about["position_at_most"], 70'001);
  EXPECT_EQ(Json("inspect last --exact")["entries"][0]["position"], 70'001);
  const std::string table = Out("ls -o table");  // Rows beyond the first thousand.
  EXPECT_EQ(std::count(table.begin(), table.end(), '\n'), 70'003);
}

TEST_F(InspectTest, ManyLanesAndGroups) {
  Out("init");
  for (int i = 1; i <= 12; ++i) {
    const std::string n = std::to_string(i);
    Out("add -q q --priority " + n + " --group g" + n + " k" + n);
  }
  Run({"add", "-q", "q", "--group", "\xff", "--lane", "slow", "odd", "odder"});
  EXPECT_THAT(Out("inspect -o table"),
              HasSubstr("12 1, 11 1, 10 1, 9 1, 8 1, 7 1, 6 1, 5 1, others 6 "));
  const std::string text = Out("inspect");
  EXPECT_THAT(text, HasSubstr("pending by group, the deepest of 13\n    2         \\xff\n"));
  const json q = Json("inspect")["queues"][0];
  EXPECT_EQ(q["lanes"].size(), 14U);
  EXPECT_EQ(q["groups"]["count"], 13);
  EXPECT_EQ(q["groups"]["top"][0].dump(), R"({"group_base64":"/w==","pending":2})");
}

TEST_F(InspectTest, TheQueuesFitANarrowTerminal) {
  std::ofstream lines("lines");
  for (const char* lane : {"fast", "slow", "7"}) {
    for (int i = 1000; i < 1120; ++i) {
      const std::string n = std::to_string(i);
      lines << json({{"queue", "q"},
                     {"key", n + "/" + lane},
                     {"state", "pending"},
                     {"lane", lane},
                     {"group", "g" + n},
                     {"failures", i},
                     {"last_error", "ж\t\x1b" + std::string(40, 'x') + n}})
            << "\n";
    }
  }
  lines << R"({"queue":"q","key":"later","state":"delayed","ready_at":"2100-01-01T00:00:00Z"})";
  lines.close();
  Out("load lines");
  Out("snapshot create --name s snapshots");
  setenv("COLUMNS", "40", 1);
  for (const std::string store : {"store", "snapshots/s"}) {
    const std::string text = Out("--store " + store + " inspect --now 2099-12-31T23:59:00Z");
    std::istringstream shown(text);
    for (std::string line; std::getline(shown, line);) {
      if (line.starts_with("uuid")) continue;
      EXPECT_LE(WidthOf(line), 40U) << line;
    }
    EXPECT_THAT(text, HasSubstr("\n  pending       360       7 120,\n"
                                "                fast 120, slow 120\n"));
    EXPECT_THAT(text, HasSubstr("\n  pending by namespace,\n  the deepest of 120\n"));
    EXPECT_THAT(text, HasSubstr("\n          ж\\t\\x1bxxxxxxxxxxxxxxxxxxxxxx…\n"));
  }
}

TEST_F(InspectTest, ErrorsOfOneCauseAreOneRow) {
  std::ofstream lines("lines");
  const auto fails = [&lines](const std::string& queue, const std::string& key,
                              const std::string& error, const char* state = "failing") {
    lines << json({{"queue", queue},
                   {"key", key},
                   {"state", state},
                   {"failures", 1},
                   {"last_error", error}})
          << "\n";
  };
  fails("q", "ns/a-1", "dial tcp 10.0.0.1:443: timeout after 30s");
  fails("q", "ns/a-2", "dial tcp 10.0.0.2:443: timeout after 31s");
  fails("q", "ns/a-3", "dial tcp 10.0.0.2:443: timeout after 9s", "quarantined");
  fails("q", "ns/b-1", "pods \"b-1\" not found");
  fails("r", "k", "\x1b[31mred\u202e<script>");
  lines.close();
  Out("load lines");
  const json groups = Json("errors");
  ASSERT_EQ(groups.size(), 3U);
  EXPECT_EQ(groups[0]["keys"], 3);
  EXPECT_EQ(groups[0]["quarantined"], 1);
  EXPECT_EQ(groups[0]["examples"][0]["key"], "ns/a-1");
  EXPECT_EQ(groups[1]["error"], "pods \"<key>\" not found");
  EXPECT_EQ(groups[1]["examples"][0]["error"], "pods \"b-1\" not found");
  EXPECT_EQ(groups[1]["first_at"], groups[1]["last_at"]);
  EXPECT_EQ(groups[2]["examples"][0]["error"], "\x1b[31mred\u202e<script>");
  EXPECT_THAT(Out("errors"),
              MatchesRegex("QUEUE +KEYS +QUARANTINED +FAILURES +LAST +EXAMPLE +ERROR\n"
                           "q +3 +1 +3 .* ns/a-1 +dial tcp <address>: timeout after <time>\n"
                           "q +1 +0 +1 .*\nr +1 +0 +1 .* k .*x1b.<n>mred.*202e.*<script>\n"));
  Expect(R"(
0 errors --prefix ns/b -o name => pods "<key>" not found
0 errors --state quarantined -o name => dial tcp <address>: timeout after <time>
0 errors -q q --error pods -o name => pods "<key>" not found
0 errors --failures-over 1 -o name =>
0 errors --limit 1 -o name => dial tcp <address>: timeout after <time>
2 errors --state pending => pending
)");
}

}  // namespace
}  // namespace wqctl
