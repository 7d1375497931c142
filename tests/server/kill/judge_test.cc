// Judge must find planted violations: a check that cannot fail is useless.
#include "tests/server/kill/judge.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace wq::support {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr uint32_t kDurableDone = kDoneDetail | kDurableDetail;

class JudgeTest : public testing::Test {
 protected:
  uint64_t Do(EventKind kind, uint64_t token = 0, uint32_t session = 1, uint32_t detail = 0) {
    events_.push_back(
        {.kind = kind, .key = 7, .token = token, .session = session, .detail = detail});
    return events_.size() - 1;
  }
  void AddKey() { Do(EventKind::kAdded, Do(EventKind::kAddBegins)); }
  void Assign(uint64_t token, uint32_t session = 1) { Do(EventKind::kAssigned, token, session); }
  void Send(uint64_t token, uint32_t session = 1, uint32_t detail = kDurableDone) {
    Do(EventKind::kAnswerSent, token, session, detail);
  }
  void Accept(uint64_t token, uint32_t session = 1) {
    Do(EventKind::kAnswerAccepted, token, session);
  }
  std::vector<std::string> Violations(const JudgeOptions& options = {}) const {
    return Judge(events_, options).violations;
  }

  std::vector<Event> events_;
};

TEST_F(JudgeTest, AcceptsALifeWithoutFault) {
  AddKey();
  Assign(1);
  AddKey();
  Send(1);
  Accept(1);
  Assign(2, 2);
  Send(2, 2);
  Accept(2, 2);
  EXPECT_THAT(Violations(), IsEmpty());
}

TEST_F(JudgeTest, AnAcknowledgedAddMustBeDone) {
  AddKey();
  Assign(1);
  Send(1);
  Accept(1);
  AddKey();
  EXPECT_THAT(Violations(), ElementsAre(HasSubstr("Add is lost")));
  EXPECT_THAT(Violations({.drained = false}), IsEmpty());
  Do(EventKind::kLocalGot);
  Do(EventKind::kLocalEnds, 0, 1, kDoneDetail);
  EXPECT_THAT(Violations(), IsEmpty());
}

TEST_F(JudgeTest, AnUnacknowledgedAddMayBeLost) {
  Do(EventKind::kAddBegins);
  EXPECT_THAT(Violations(), IsEmpty());
}

TEST_F(JudgeTest, AnAcceptedAnswerComesBeforeTheNextAssignment) {
  AddKey();
  AddKey();
  Assign(1);
  Assign(2, 2);
  Send(1);
  Accept(1);
  Send(2, 2);
  EXPECT_THAT(Violations(), ElementsAre(HasSubstr("accepted after a later one")));
}

TEST_F(JudgeTest, TwoAcceptedHoldsDoNotOverlap) {
  AddKey();
  AddKey();
  Assign(2, 2);  // By token, this is after the next one.
  Assign(1);
  Send(1);
  Accept(1);
  Send(2, 2);
  Accept(2, 2);
  EXPECT_THAT(Violations(), testing::Contains(HasSubstr("held twice at once")));
}

TEST_F(JudgeTest, TheServersOwnWorkerHoldsAKeyAlone) {
  AddKey();
  Do(EventKind::kLocalGot, 0, 9);
  Do(EventKind::kSessionBegins, 0, 2);
  Assign(1, 2);
  Do(EventKind::kLocalEnds, 0, 9, kDoneDetail);
  EXPECT_THAT(Violations(), ElementsAre(HasSubstr("while the server's own worker held it")));
}

TEST_F(JudgeTest, AKillEndsTheHoldsOfTheServersOwnWorker) {
  AddKey();
  Do(EventKind::kLocalGot, 0, 9);
  Do(EventKind::kServerKilling);
  Do(EventKind::kServerKilled);
  Do(EventKind::kSessionBegins, 0, 2);
  Assign(1, 2);
  Send(1, 2);
  EXPECT_THAT(Violations(), IsEmpty());
}

TEST_F(JudgeTest, TokensGrow) {
  AddKey();
  Assign(5);
  Send(5);
  Do(EventKind::kSessionBegins, 0, 2);
  Assign(4, 2);
  EXPECT_THAT(Violations(), ElementsAre(HasSubstr("token 4 is not above 5")));
  Assign(5, 3);
  EXPECT_THAT(Violations(), testing::Contains(HasSubstr("token 5 was assigned twice")));
}

TEST_F(JudgeTest, WhatWasDurablyDoneStaysDone) {
  AddKey();
  Assign(1);
  Send(1);
  Accept(1);
  Assign(2, 2);
  EXPECT_THAT(Violations(), ElementsAre(HasSubstr("again after it was durably done")));
}

TEST_F(JudgeTest, WhatWasDoneMayReturnWithoutDurability) {
  AddKey();
  Assign(1);
  Send(1, 1, kDoneDetail);
  Accept(1);
  Assign(2, 2);
  Send(2, 2, kDoneDetail);
  EXPECT_THAT(Violations(), IsEmpty());
}

TEST_F(JudgeTest, AHeldTokenIsNotRefusedAndAnOldOneIsNotAccepted) {
  AddKey();
  Assign(1);
  Send(1);
  Do(EventKind::kAnswerRefused, 1);
  EXPECT_THAT(Violations(), ElementsAre(HasSubstr("token 1 was refused")));
  EXPECT_THAT(Violations({.may_lose_keys = true}), IsEmpty());
  Do(EventKind::kReplayAccepted, 1);
  EXPECT_THAT(Violations(), testing::Contains(HasSubstr("accepted twice")));
}

}  // namespace
}  // namespace wq::support
