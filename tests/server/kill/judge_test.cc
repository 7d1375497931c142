// Judge must find planted violations: a check that cannot fail is useless.
#include "tests/server/kill/judge.h"

#include <cstdlib>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace wq::support {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;

// The events of one key in words: "begin" and "add" are an Add that is begun, and one that is
// acknowledged; "EVENT", "EVENT:TOKEN" or "EVENT:TOKEN:SESSION" is another, of session 1 unless it
// says so. A key that is "sent" is durably done, and one that is "told" is done.
std::vector<Event> EventsOf(const std::string& words) {
  const std::map<std::string, EventKind> kinds = {
      {"begin", EventKind::kAddBegins},       {"session", EventKind::kSessionBegins},
      {"assigned", EventKind::kAssigned},     {"sent", EventKind::kAnswerSent},
      {"told", EventKind::kAnswerSent},       {"accepted", EventKind::kAnswerAccepted},
      {"refused", EventKind::kAnswerRefused}, {"replayed", EventKind::kReplayAccepted},
      {"got", EventKind::kLocalGot},          {"ends", EventKind::kLocalEnds},
      {"killing", EventKind::kServerKilling}, {"killed", EventKind::kServerKilled}};
  std::vector<Event> events;
  std::istringstream in(words);
  for (std::string word; in >> word;) {
    if (word == "add") {
      events.push_back({.kind = EventKind::kAddBegins, .key = 7});
      events.push_back({.kind = EventKind::kAdded, .key = 7, .token = events.size() - 1});
      continue;
    }
    std::istringstream parts(word);
    std::string name;
    std::string token = "0";
    std::string session = "1";
    std::getline(parts, name, ':');
    std::getline(parts, token, ':');
    std::getline(parts, session, ':');
    const bool done = name == "sent" || name == "told" || name == "ends";
    events.push_back({.kind = kinds.at(name),
                      .key = 7,
                      .token = std::strtoull(token.c_str(), nullptr, 10),
                      .session = static_cast<uint32_t>(std::strtoul(session.c_str(), nullptr, 10)),
                      .detail = (done ? kDoneDetail : 0) | (name == "sent" ? kDurableDetail : 0)});
  }
  return events;
}

TEST(JudgeTest, FindsWhatIsPlantedAndNothingElse) {
  struct Case {
    const char* events;
    const char* violation;  // nullptr: none.
    JudgeOptions options = {};
  };
  for (const Case& c : {
           Case{"add assigned:1 add sent:1 accepted:1 assigned:2:2 sent:2:2 accepted:2:2", nullptr},
           // An acknowledged Add must be done.
           Case{"add assigned:1 sent:1 accepted:1 add", "Add is lost"},
           Case{"add assigned:1 sent:1 accepted:1 add", nullptr, {.drained = false}},
           Case{"add assigned:1 sent:1 accepted:1 add got ends", nullptr},
           Case{"begin", nullptr},
           // An accepted answer comes before the next assignment.
           Case{"add add assigned:1 assigned:2:2 sent:1 accepted:1 sent:2:2",
                "accepted after a later one"},
           // By token, the first of these is after the second.
           Case{"add add assigned:2:2 assigned:1 sent:1 accepted:1 sent:2:2 accepted:2:2",
                "held twice at once"},
           // The server's own worker holds a key alone, until its end or a kill.
           Case{"add got:0:9 session:0:2 assigned:1:2 ends:0:9",
                "while the server's own worker held it"},
           Case{"add got:0:9 killing killed session:0:2 assigned:1:2 sent:1:2", nullptr},
           Case{"add assigned:5 sent:5 session:0:2 assigned:4:2", "token 4 is not above 5"},
           Case{"add assigned:5 sent:5 assigned:5:3", "token 5 was assigned twice"},
           // What was durably done stays done; what was done may return without durability.
           Case{"add assigned:1 sent:1 accepted:1 assigned:2:2", "again after it was durably done"},
           Case{"add assigned:1 told:1 accepted:1 assigned:2:2 told:2:2", nullptr},
           // A token that is held is not refused, and an old one not accepted.
           Case{"add assigned:1 sent:1 refused:1", "token 1 was refused"},
           Case{"add assigned:1 sent:1 refused:1", nullptr, {.may_lose_keys = true}},
           Case{"add assigned:1 sent:1 refused:1 replayed:1", "accepted twice"},
       }) {
    const std::vector<std::string> violations = Judge(EventsOf(c.events), c.options).violations;
    if (c.violation == nullptr) {
      EXPECT_THAT(violations, IsEmpty()) << c.events;
    } else {
      EXPECT_THAT(violations, Contains(HasSubstr(c.violation))) << c.events;
    }
  }
}

}  // namespace
}  // namespace wq::support
