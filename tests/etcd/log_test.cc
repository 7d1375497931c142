// EtcdLog on one member: what is special about etcd. The contract of ReplicatedLog has tests of its
// own.
#include <chrono>
#include <thread>

#include "tests/etcd/fixture.h"

namespace wq {
namespace {

using std::chrono::milliseconds;
using testing::HasSubstr;

TEST_F(EtcdTest, ManyPagesAreOneRead) {
  StartOne();
  ASSERT_TRUE(AppendAll(log_.get(), owned_, 1, 200).ok());
  EXPECT_EQ(AllOf(log_.get()), Expected(1, 200));
  std::vector<LogEntry> entries;
  ASSERT_TRUE(log_->Read(10, 20, &entries).ok());
  EXPECT_EQ(Text(entries), Expected(10, 12));
  EXPECT_EQ(Text(Collect(log_->Follow(3).get(), 198).entries), Expected(3, 200));
}

TEST_F(EtcdTest, GarbageIsCorruptionThatNamesTheKey) {
  StartOne();
  ASSERT_TRUE(AppendAll(log_.get(), owned_, 1, 2).ok());
  const std::vector<std::pair<std::string, std::string>> garbage = {
      {"store", ""},
      {"successor", ""},
      {"first", "x"},
      {"first", "0"},
      {"first", "99999999999999999999"},
      {"log/zz", "bytes"},
      {"log/0000000000000000", "bytes"},
      {"log/000000000000000A", "bytes"},
      {"log/0000000000000007", "bytes"},
      {"checkpoint", ""},
      {"checkpoint", "sequence=1 parts=-1 rows=1 bytes=1 made_at_us=1 id=a"},
      {"checkpoint", "sequence=1 parts=1 rows=1 bytes=1 made_at_us=1 id=a/b"},
      {"checkpoint", std::string("\0\xff id=", 6)},
      {"replicas/", "applied=1 seen_at_us=1"},
      {"replicas/r", "applied=x seen_at_us=1"},
  };
  for (const auto& [name, value] : garbage) {
    const std::string key = "/wq/test/" + name;
    etcd_->Put(key, value);
    LogState state;
    const Status s = log_->State(&state);
    if (name == "log/0000000000000000") {
      EXPECT_TRUE(s.ok()) << s.ToString();  // It is before the first entry.
    } else {
      const std::string shown = name.substr(0, 4) == "log/" ? "/wq/test/log/" : key;
      EXPECT_TRUE(IsError(s, StatusCode::kCorruption, {shown})) << name << " = " << value;
    }
    etcd_->Delete(key);
  }
  LogState state;
  EXPECT_TRUE(log_->State(&state).ok());
}

TEST_F(EtcdTest, GarbageEndsAFollowerWithAnError) {
  StartOne();
  ASSERT_TRUE(AppendAll(log_.get(), owned_, 1, 1).ok());
  const auto follower = log_->Follow(1);
  Collect(follower.get(), 1);
  LogEvents events;
  ASSERT_TRUE(follower->Next(milliseconds(0), &events).ok());
  etcd_->Put("/wq/test/log/0000000000000003", "a gap");
  const Status s = UntilDone([&] { return follower->Next(kTestPatience, &events); });
  EXPECT_TRUE(IsError(s, StatusCode::kCorruption, {"/wq/test/log/0000000000000002"}));
  etcd_->Delete("/wq/test/log/0000000000000003");
  ASSERT_TRUE(AppendAll(log_.get(), owned_, 2, 2).ok());
  EXPECT_EQ(Text(Collect(follower.get(), 1).entries), Expected(2, 2));
  std::vector<LogEntry> entries;
  etcd_->Put("/wq/test/log/0000000000000003", std::string(kMaxLogEntryBytes + 1, 'x'));
  EXPECT_TRUE(IsError(log_->Read(1, SIZE_MAX, &entries), StatusCode::kCorruption, {"0003"}));
  EXPECT_TRUE(entries.empty());
}

TEST_F(EtcdTest, AnAppendOfUnknownOutcomeIsRepeated) {
  StartOne();
  ASSERT_TRUE(AppendAll(log_.get(), owned_, 1, 1).ok());
  const auto impatient = Impatient();
  ASSERT_TRUE(AppendAll(impatient.get(), owned_, 1, 1).ok());
  etcd_->Stop(0);
  EXPECT_TRUE(IsError(impatient->Append(owned_.epoch, 2, BytesOf(2)), StatusCode::kIOError,
                      {etcd_->endpoint(0), "did not answer in time"}));
  etcd_->Continue(0);
  const Status s = UntilDone([this] { return log_->Append(owned_.epoch, 2, BytesOf(2)); });
  EXPECT_TRUE(s.ok()) << s.ToString();
  EXPECT_EQ(AllOf(log_.get()), Expected(1, 2));
}

TEST_F(EtcdTest, AnAcquireOfUnknownOutcomeIsRepeated) {
  etcd_ = std::make_unique<EtcdCluster>();
  log_ = Impatient();
  LogState state;
  ASSERT_TRUE(UntilDone([&] { return log_->State(&state); }).ok());
  etcd_->Stop(0);
  EXPECT_EQ(log_->Acquire("a", kLease, &owned_).code(), StatusCode::kIOError);
  etcd_->Continue(0);
  Own();
  ASSERT_TRUE(UntilDone([&] { return log_->State(&state); }).ok());
  EXPECT_EQ(state.owner.epoch, owned_.epoch);
  EXPECT_EQ(owned_.ttl, kLease);
  EXPECT_TRUE(UntilDone([this] { return log_->Renew(&owned_); }).ok());
}

TEST_F(EtcdTest, AFullQuotaIsNamed) {
  StartOne({.quota_bytes = uint64_t{4} << 20});
  Status s;
  // etcd compares what its last commit has written, so a good deal more may be taken before.
  for (LogSequence sequence = 1; s.ok() && sequence < 10'000; ++sequence) {
    s = log_->Append(owned_.epoch, sequence, std::string(kMaxLogEntryBytes, 'x'));
  }
  EXPECT_TRUE(IsError(s, StatusCode::kIOError, {"quota", "NOSPACE", etcd_->endpoint(0)}));
  EXPECT_TRUE(log_->Renew(&owned_).ok());
  const std::vector<LogMember> members = LedMembers();
  ASSERT_EQ(members.size(), 1U);
  EXPECT_TRUE(members[0].reachable);
  EXPECT_THAT(members[0].problem, HasSubstr("NOSPACE"));
  EXPECT_GT(members[0].database_bytes, uint64_t{1} << 20);
}

TEST_F(EtcdTest, CompactionKeepsTheDatabaseSmall) {
  StartOne();
  const std::string bytes(kMaxLogEntryBytes, 'x');
  for (LogSequence i = 1; i <= 320; ++i) {
    ASSERT_TRUE(log_->Append(owned_.epoch, i, bytes).ok());
    const Status s = i % 32 == 0 ? log_->Truncate(owned_.epoch, i) : Status::Ok();
    ASSERT_TRUE(s.ok()) << s.ToString();
  }
  EXPECT_LT(LedMembers().at(0).database_bytes, 320 * kMaxLogEntryBytes / 2);
}

TEST_F(EtcdTest, CheckpointsThatWereBegunInVainDoNotPileUp) {
  StartOne();
  std::string bytes;
  const auto begin = [this](const std::string& id) {
    return log_->PutCheckpointPart(owned_.epoch, id, 0, id).ok() &&
           log_->PutCheckpointPart(owned_.epoch, id, 1, id).ok();
  };
  ASSERT_TRUE(begin("d"));
  ASSERT_TRUE(log_->CommitCheckpoint(owned_.epoch, {.id = "d", .sequence = 1, .parts = 2}).ok());
  for (const std::string id : {"a", "f", "e", "g", "b"}) {
    ASSERT_TRUE(begin(id));
    for (const std::string other : {"a", "b", "c", "d", "e", "f", "g"}) {
      EXPECT_EQ(log_->ReadCheckpointPart(other, 0, &bytes).ok(), other == "d" || other == id)
          << other << " beside " << id;
    }
  }
  // A first part that comes again leaves the others as they are.
  ASSERT_TRUE(log_->PutCheckpointPart(owned_.epoch, "b", 0, "b").ok());
  EXPECT_TRUE(log_->ReadCheckpointPart("b", 1, &bytes).ok());
  EXPECT_TRUE(log_->ReadCheckpointPart("d", 1, &bytes).ok());
}

TEST(EtcdOptions, AreChecked) {
  std::shared_ptr<ReplicatedLog> log;
  const EtcdOptions good = {.endpoints = {"127.0.0.1:1"}, .prefix = "/wq"};
  const auto with = [&](auto change) {
    EtcdOptions options = good;
    change(options);
    return OpenEtcdLog(options, &log);
  };
  const auto bad = StatusCode::kInvalidArgument;
  EXPECT_TRUE(OpenEtcdLog(good, &log).ok());
  EXPECT_EQ(log->Name(), "etcd 127.0.0.1:1 /wq");
  EXPECT_TRUE(IsError(with([](EtcdOptions& o) { o.endpoints.clear(); }), bad, {"endpoints"}));
  for (const char* endpoint : {"", "host", ":1", "host:", "http://host:1", "host:1x"}) {
    EXPECT_TRUE(IsError(with([&](EtcdOptions& o) { o.endpoints = {endpoint}; }), bad,
                        {"endpoints", endpoint}));
  }
  EXPECT_TRUE(IsError(with([](EtcdOptions& o) { o.prefix = ""; }), bad, {"prefix"}));
  EXPECT_TRUE(IsError(with([](EtcdOptions& o) { o.prefix.assign(513, 'x'); }), bad, {"prefix"}));
  EXPECT_TRUE(IsError(with([](EtcdOptions& o) { o.cert_file = "x"; }), bad, {"key_file"}));
  EXPECT_TRUE(IsError(with([](EtcdOptions& o) { o.password = "x"; }), bad, {"user"}));
  EXPECT_TRUE(IsError(with([](EtcdOptions& o) { o.request_timeout = milliseconds(0); }), bad,
                      {"request_timeout"}));
  EXPECT_TRUE(IsError(with([](EtcdOptions& o) { o.ca_file = "/none.pem"; }), StatusCode::kNotFound,
                      {"/none.pem"}));
  EXPECT_TRUE(IsError(with([](EtcdOptions& o) { o.ca_file = "/"; }), StatusCode::kIOError, {"/"}));
}

}  // namespace
}  // namespace wq
