// The changes of QueueAccess have the same outcome on the queue and over the owner's socket.

#include <cmath>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/store/store_impl.h"
#include "server/service/services.h"
#include "tests/server/server_fixture.h"
#include "tests/support/memory_storage.h"
#include "wq/queue_access.h"
#include "wq/v1/admin.pb.h"

namespace wq {
namespace {

using std::chrono::hours;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

enum class Way { kDirect, kLive };

std::vector<std::string_view> Views(const std::vector<std::string>& keys) {
  return {keys.begin(), keys.end()};
}

class AccessTest : public ::testing::TestWithParam<Way>, public ServerFixture {
 protected:
  AccessTest() { Use({.control_socket = true}); }

  void Use(const ServerOptions& options) {
    Serve(options);
    access_ = Access("pods");
  }
  std::unique_ptr<QueueAccess> Access(const std::string& queue, bool create = false) {
    if (GetParam() == Way::kDirect) {
      return AccessTo(pods_);
    }
    return Connect()->Access(queue, create);
  }
  // The result of Change: "2 done, absent 1 3".
  std::string Change(KeyChange change, const std::vector<std::string>& keys,
                     const ChangeOptions& options = {}) {
    ChangeResult result;
    const Status s = access_->Change(change, Views(keys), options, &result);
    std::string text = s.ok() ? "" : s.ToString() + ": ";
    text += std::to_string(result.done) + " done, absent";
    for (const size_t index : result.absent) {
      text += " " + std::to_string(index);
    }
    return text;
  }
  BatchResult Add(const std::vector<std::string>& keys, const AddOptions& options = {},
                  std::chrono::microseconds delay = {}) {
    BatchResult result;
    const Status s = access_->Add(Views(keys), options, delay, &result);
    EXPECT_TRUE(s.ok()) << s.ToString();
    return result;
  }
  // Admin.ChangeMatching of all keys.
  std::string DeleteMatching() const {
    StoreAccess access(store_.get(), nullptr, false);
    MethodTable methods;
    AddChangeMatching({.access = &access}, &methods);
    v1::ChangeMatchingRequest request;
    request.set_queue("pods");
    request.set_kind(v1::ChangeMatchingRequest::DELETE);
    v1::ChangeMatchingResponse response;
    const Status s =
        methods.Find("/wq.v1.Admin/ChangeMatching")->call({.peer = "x"}, request, &response);
    return std::string(StatusCodeName(s.code())) + ", " + std::to_string(response.done()) + " done";
  }
  std::vector<std::string> Queued() const {
    std::vector<std::string> keys;
    for (const QueuedKey& key : pods_->List()) {
      keys.push_back(key.key);
    }
    return keys;
  }

  std::unique_ptr<QueueAccess> access_;
};

TEST_P(AccessTest, AddsAnyBytesInOrder) {
  const std::vector<std::string> keys = {"default/web-1", std::string("\0\n\xff", 3),
                                         "\xE2\x82\xAC",  "{\"base64\": \"x\"}",
                                         "\"\\",          std::string(4096, '\x01')};
  const BatchResult result = Add(keys, {.durability = Durability::kPower});
  EXPECT_EQ(result.added, keys.size());
  EXPECT_EQ(Queued(), keys);
  EXPECT_EQ(Add(keys).deduplicated, keys.size());
}

TEST_P(AccessTest, LanesGroupsAndDelays) {
  Add({"low"}, {.lane = -7});
  Add({"a"}, {.lane = 5, .group = "g\xff"});
  Add({"later"}, {}, hours(1));
  const std::vector<QueuedKey> queued = pods_->List(10);
  ASSERT_EQ(queued.size(), 2U);
  EXPECT_EQ(queued[0].lane, 5);
  EXPECT_EQ(queued[0].group, "g\xff");
  EXPECT_EQ(queued[1].lane, -7);
  EXPECT_EQ(pods_->Counts().delayed, 1U);
}

TEST_P(AccessTest, DelaysAreReplacedAndAddsDebounced) {
  Add({"a"}, {}, hours(1));
  EXPECT_EQ(Add({"a"}, {}, hours(2)).deduplicated, 1U);
  EXPECT_EQ(Add({"a"}, {.delay_mode = DelayMode::kReplace}, hours(2)).added, 1U);
  const Debounce debounce{hours(1), hours(3)};
  EXPECT_EQ(Add({"b"}, {.debounce = debounce}).added, 1U);
  EXPECT_EQ(Add({"b"}, {.debounce = debounce}).deduplicated, 1U);
  EXPECT_EQ(pods_->Counts().delayed, 2U);
  EXPECT_EQ(Add({"now"}, {.debounce = Debounce{}}).added, 1U);
  EXPECT_EQ(Queued(), std::vector<std::string>({"now"}));
  BatchResult result;
  const std::vector<std::string_view> keys = {"c"};
  const Status s = access_->Add(keys, {.debounce = Debounce{hours(2), hours(1)}}, {}, &result);
  EXPECT_EQ(s.code(), StatusCode::kInvalidArgument) << s.ToString();
}

TEST_P(AccessTest, ABadKeyIsRefusedByItsIndexWithoutHarmToTheOthers) {
  ASSERT_TRUE(pods_->Quarantine("q").ok());
  for (const auto delay : {std::chrono::microseconds(0), std::chrono::microseconds(hours(1))}) {
    const BatchResult result = Add({"a", "", "q", std::string(5000, 'x')}, {}, delay);
    EXPECT_EQ(result.added, 1U);
    EXPECT_EQ(result.held, 1U);
    ASSERT_EQ(result.refused.size(), 2U);
    EXPECT_EQ(result.refused[0].first, 1U);
    EXPECT_EQ(result.refused[0].second.ToString(), "InvalidArgument: the key is empty");
    EXPECT_EQ(result.refused[1].first, 3U);
    EXPECT_EQ(result.refused[1].second.code(), StatusCode::kInvalidArgument);
  }
}

TEST_P(AccessTest, ManyKeysGoInSeveralRequests) {
  std::vector<std::string> keys;
  for (size_t i = 0; i < 10'000; ++i) {
    keys.push_back(std::string(i % 500, i % 2 == 0 ? 'k' : '\x02') + std::to_string(i));
  }
  keys[7777] = "";
  const BatchResult result = Add(keys);
  EXPECT_EQ(result.added, 9'999U);
  ASSERT_EQ(result.refused.size(), 1U);
  EXPECT_EQ(result.refused[0].first, 7777U);
  EXPECT_EQ(Change(KeyChange::kRemove, keys), "9999 done, absent 7777");
  EXPECT_EQ(pods_->Len(), 0U);
}

// Several requests long.
TEST_P(AccessTest, AFailedStoreAppliesACallToAllItsKeys) {
  server_.reset();
  store_dir_ = dir_ / "failing";
  std::filesystem::create_directory(store_dir_);
  auto disk = std::make_shared<storage::MemoryDisk>();
  ASSERT_TRUE(
      Store::Impl::Open({}, store_dir_, std::make_unique<storage::MemoryStorage>(disk), &store_)
          .ok());
  ASSERT_TRUE(store_->OpenQueue("pods", {}, &pods_).ok());
  Use({.control_socket = true});
  {
    const MutexLock lock(disk->mu);
    disk->state.fail_after = 0;
  }
  std::vector<std::string> keys;
  for (size_t i = 0; i < 5000; ++i) {
    keys.push_back("k" + std::to_string(i));
  }
  const auto add = [&](std::chrono::microseconds delay) {
    BatchResult result;
    EXPECT_EQ(access_->Add(Views(keys), {}, delay, &result).code(), StatusCode::kNotDurable);
    EXPECT_EQ(result.added, keys.size());
  };
  const auto change = [&](KeyChange change) {
    EXPECT_THAT(Change(change, keys), AllOf(HasSubstr("NotDurable"), HasSubstr("5000 done")))
        << static_cast<int>(change);
  };
  const auto quarantine = [&] {
    for (const std::string& key : keys) {
      static_cast<void>(pods_->Quarantine(key));
    }
  };
  add(hours(1));
  change(KeyChange::kCancelDelay);
  add(hours(1));
  change(KeyChange::kRequeue);
  change(KeyChange::kRemove);
  add({});
  quarantine();
  change(KeyChange::kDrop);
  quarantine();
  change(KeyChange::kRelease);
  for (const std::string& key : keys) {
    static_cast<void>(pods_->AddRateLimited(key));
  }
  change(KeyChange::kForget);
  change(KeyChange::kDelete);
  add({});
  EXPECT_EQ(DeleteMatching(), "NotDurable, 5000 done");
  EXPECT_EQ(pods_->Counts().queued + pods_->Counts().delayed, 0U);
  access_.reset();
  server_.reset();
  static_cast<void>(store_->Close());
}

TEST_P(AccessTest, EachChange) {
  Add({"a", "b"});
  EXPECT_EQ(Change(KeyChange::kRemove, {"a", "x", "b"}), "2 done, absent 1");
  Add({"a", "b"}, {}, hours(1));
  EXPECT_EQ(Change(KeyChange::kCancelDelay, {"a", "a"}), "1 done, absent 1");
  EXPECT_EQ(Change(KeyChange::kRequeue, {"a", "b"}), "1 done, absent 0");
  EXPECT_THAT(Queued(), ElementsAre("b"));
  std::string key;
  ASSERT_TRUE(pods_->Get(&key).ok());
  ASSERT_TRUE(pods_->AddRateLimited("b", "why").ok());
  ASSERT_TRUE(pods_->Quarantine("q", "why").ok());
  ASSERT_TRUE(pods_->Quarantine("r", "why").ok());
  EXPECT_EQ(Change(KeyChange::kForget, {"b", "b", "q"}), "1 done, absent 1 2");
  EXPECT_EQ(Change(KeyChange::kRelease, {"q", "b"}), "1 done, absent 1");
  EXPECT_EQ(Change(KeyChange::kDrop, {"q", "r"}), "1 done, absent 0");
  EXPECT_EQ(pods_->Counts().quarantined, 0U);
  Add({"c"}, {}, hours(1));
  EXPECT_EQ(Change(KeyChange::kDelete, {"c", "x", "c"}), "1 done, absent 1 2");
  EXPECT_EQ(pods_->CancelDelay("c").code(), StatusCode::kNotFound);
}

TEST_P(AccessTest, ReleasesAtARate) {
  for (const char* key : {"a", "b", "c"}) {
    ASSERT_TRUE(pods_->Quarantine(key, "why").ok());
  }
  EXPECT_EQ(
      Change(KeyChange::kRelease, {"a", "x", "b", "c"}, {.delay = hours(1), .per_second = 0.001}),
      "3 done, absent 1");
  EXPECT_EQ(pods_->Counts().quarantined, 0U);
  constexpr double kSecond = 1e6;
  for (const int after_s : {3600, 4600, 5600}) {
    const std::optional<int64_t> due_us = pods_->Counts().next_due_us;
    ASSERT_TRUE(due_us.has_value());
    EXPECT_NEAR(static_cast<double>(*due_us) / kSecond, after_s, 60);
    ASSERT_TRUE(pods_->CancelDelay(after_s == 3600 ? "a" : after_s == 4600 ? "b" : "c").ok());
  }
}

TEST_P(AccessTest, ABadPaceIsRefused) {
  ASSERT_TRUE(pods_->Quarantine("a", "why").ok());
  const auto refused = [this](KeyChange change, const ChangeOptions& options) {
    return Change(change, {"a"}, options);
  };
  EXPECT_THAT(refused(KeyChange::kRelease, {.delay = hours(-1)}),
              HasSubstr("delay of -3600000000"));
  for (const double rate : {-1.0, 1e-9, 1e9, std::nan("")}) {
    EXPECT_THAT(refused(KeyChange::kRelease, {.per_second = rate}), HasSubstr("has a rate of"));
  }
  EXPECT_THAT(refused(KeyChange::kDrop, {.per_second = 1}), HasSubstr("only a release"));
  EXPECT_THAT(refused(KeyChange::kDrop, {.delay = hours(1)}), HasSubstr("only a release"));
  EXPECT_TRUE(pods_->IsQuarantined("a"));
}

TEST_P(AccessTest, PausesAndResumes) {
  bool was_paused = true;
  ASSERT_TRUE(access_->Resume(&was_paused).ok());
  EXPECT_FALSE(was_paused);
  ASSERT_TRUE(access_->Pause(std::nullopt).ok());
  EXPECT_TRUE(pods_->Counts().paused);
  ASSERT_TRUE(access_->Resume(&was_paused).ok());
  EXPECT_TRUE(was_paused);
  ASSERT_TRUE(access_->Pause(hours(2)).ok());
  EXPECT_EQ(access_->Pause(hours(-2)).code(), StatusCode::kInvalidArgument);
  EXPECT_TRUE(access_->Flush(Durability::kPower).ok());
}

TEST_P(AccessTest, NothingIsAddedOrReleasedInShutdown) {
  ASSERT_TRUE(pods_->AddAfter("later", hours(1)).ok());
  pods_->ShutDown();
  BatchResult result;
  EXPECT_EQ(access_->Add({}, {}, {}, &result).code(), StatusCode::kOk);
  EXPECT_EQ(access_->Add(Views({"a"}), {}, {}, &result).code(), StatusCode::kShuttingDown);
  EXPECT_THAT(Change(KeyChange::kRequeue, {"later"}), HasSubstr("ShuttingDown: "));
}

TEST_P(AccessTest, TheErrorOfTheStoreIsReturned) {
  BatchResult result;
  EXPECT_EQ(access_->Add(Views({"a"}), {.group = std::string(2000, 'g')}, {}, &result).code(),
            StatusCode::kInvalidArgument);
  ASSERT_TRUE(store_->Close().ok());
  EXPECT_EQ(access_->Add(Views({"a"}), {}, {}, &result).code(), StatusCode::kShuttingDown);
}

INSTANTIATE_TEST_SUITE_P(Ways, AccessTest, ::testing::Values(Way::kDirect, Way::kLive),
                         [](const auto& way) {
                           return way.param == Way::kDirect ? "Direct" : "Live";
                         });

// --- Only over the socket ---

class LiveTest : public ::testing::Test, public ServerFixture {
 protected:
  Status AddTo(const std::string& queue, bool create) {
    std::unique_ptr<LiveStore> live;
    Status s = LiveStore::Connect(store_dir_, &live);
    BatchResult result;
    return s.ok() ? live->Access(queue, create)->Add(Views({"a"}), {}, {}, &result) : s;
  }
};

TEST_F(LiveTest, ReadsTheContentsOfTheOwner) {
  store_.reset();
  OpenStore();
  Queue* other = nullptr;
  ASSERT_TRUE(store_->OpenQueue("other", {}, &other).ok());
  ASSERT_TRUE(store_->Close().ok());
  OpenStore();  // "other" stays closed.
  Serve();
  ASSERT_TRUE(pods_->Add("a", {.lane = 3}).ok());
  ASSERT_TRUE(pods_->Add("b").ok());
  std::string key;
  ASSERT_TRUE(pods_->Get(&key).ok());
  ASSERT_TRUE(pods_->AddRateLimited(key, "why").ok());
  ASSERT_TRUE(pods_->Done(key).ok());

  const auto live = Connect();
  LiveInfo info;
  ASSERT_TRUE(live->Read(&info).ok());
  EXPECT_EQ(info.pid, getpid());
  EXPECT_EQ(info.uuid, store_->uuid());
  EXPECT_TRUE(info.health.ok());
  ASSERT_EQ(info.queues.size(), 2U);
  EXPECT_EQ(info.queues[0].name, "other");
  EXPECT_FALSE(info.queues[0].open);
  const LiveQueue& pods = info.queues[1];
  EXPECT_TRUE(pods.open);
  EXPECT_FALSE(pods.shutting_down);
  const QueueCounts now = pods_->Counts();
  EXPECT_EQ(pods.counts.queued, now.queued);
  EXPECT_EQ(pods.counts.delayed, now.delayed);
  EXPECT_EQ(pods.counts.failing, 1U);
  EXPECT_EQ(pods.counts.dones, 1U);
  EXPECT_EQ(pods.counts.failures, 1U);
  EXPECT_EQ(pods.counts.adds, now.adds);
  EXPECT_EQ(pods.counts.lanes, now.lanes);
}

TEST_F(LiveTest, NoProcessServes) {
  std::unique_ptr<LiveStore> live;
  EXPECT_EQ(LiveStore::Connect(store_dir_, &live).code(), StatusCode::kNotFound);
  EXPECT_EQ(LiveStore::Connect(store_dir_ + "/no/such", &live).code(), StatusCode::kNotFound);
}

TEST_F(LiveTest, TheOwnerEnds) {
  Serve();
  const auto live = Connect();
  server_.reset();
  LiveInfo info;
  EXPECT_EQ(live->Read(&info).code(), StatusCode::kNotFound);
}

// An owner that accepts and does not answer.
TEST_F(LiveTest, AnOwnerThatDoesNotAnswerIsAnError) {
  SocketFile file;
  FileDescriptor listener(-1);
  ASSERT_TRUE(OpenSocketFile(store_dir_, "control.sock", &file).ok());
  ASSERT_TRUE(ListenOnFile(file, &listener).ok());
  std::unique_ptr<LiveStore> live;
  ASSERT_TRUE(
      LiveStore::Connect(store_dir_, {.timeout = std::chrono::milliseconds(50)}, &live).ok());
  LiveInfo info;
  EXPECT_EQ(live->Read(&info).code(), StatusCode::kIOError);
}

TEST_F(LiveTest, OnlyOpenQueuesUnlessTheOwnerOpensThem) {
  Queue* closed = nullptr;
  ASSERT_TRUE(store_->OpenQueue("closed", {}, &closed).ok());
  store_.reset();
  OpenStore();
  Serve();
  EXPECT_EQ(AddTo("closed", true).code(), StatusCode::kLocked);
  EXPECT_EQ(AddTo("new", true).code(), StatusCode::kNotFound);
  Serve({.control_socket = true,
         .open_queue = [this](std::string_view name, bool create, Queue** queue) {
           return store_->OpenQueue(name, {.create_if_missing = create}, queue);
         }});
  EXPECT_TRUE(AddTo("closed", false).ok());
  EXPECT_TRUE(AddTo("closed", false).ok());
  EXPECT_EQ(AddTo("new", false).code(), StatusCode::kNotFound);
  EXPECT_TRUE(AddTo("new", true).ok());
  EXPECT_EQ(AddTo("no/name", true).code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(store_->FindQueue("new")->Len(), 1U);
}

TEST_F(LiveTest, DeletesAQueueThatTheServerHasOpened) {
  Serve({.control_socket = true,
         .open_queue = [this](std::string_view name, bool create, Queue** queue) {
           return store_->OpenQueue(name, {.create_if_missing = create}, queue);
         }});
  ASSERT_TRUE(AddTo("new", true).ok());
  const auto live = Connect();
  EXPECT_TRUE(live->DeleteQueue("new").ok());
  EXPECT_EQ(live->DeleteQueue("new").code(), StatusCode::kNotFound);
  EXPECT_THAT(store_->QueueNames(), ElementsAre("pods"));
  // The program of the owner has a Queue* of this one.
  const Status s = live->DeleteQueue("pods");
  EXPECT_EQ(s.code(), StatusCode::kLocked);
  EXPECT_THAT(s.message(), HasSubstr("pods"));
  ASSERT_TRUE(AddTo("new", true).ok());
  EXPECT_EQ(store_->FindQueue("new")->Len(), 1U);
}

TEST_F(LiveTest, ABadCallIsAnErrorThatNamesTheField) {
  Serve();
  struct Case {
    const char* path;
    const char* json;
    const char* part;
  };
  for (const Case& c : {
           Case{"Queue/Add", R"({"queue": "pods", "delay_us": -1})", "delay_us"},
           Case{"Queue/Add", R"({"queue": "pods", "durability": 9})", "durability 9"},
           Case{"Queue/Add",
                R"({"queue": "pods", "keys": ["YQ=="], "durability": "DURABILITY_REPLICATED"})",
                "not replicated"},
           Case{"Admin/Flush", R"({"durability": "DURABILITY_REPLICATED"})", "not replicated"},
           Case{"Admin/Change", R"({"queue": "pods", "keys": []})", "kind 0"},
           Case{"Admin/Pause", R"({"queue": "pods", "for_us": -1})", "-"},
           Case{"Admin/CreateSnapshot", R"({"directory": "here"})", "here"},
           Case{"Admin/CreateSnapshot", R"({"directory": "/here\u0000/there"})", "here"},
       }) {
    const std::string answer = Post("/wq.v1." + std::string(c.path), c.json);
    EXPECT_EQ(StatusOf(answer), 400) << c.json << answer;
    EXPECT_THAT(answer, HasSubstr("{\"code\":\"InvalidArgument\"")) << c.json;
    EXPECT_THAT(answer, HasSubstr(c.part)) << c.json;
  }
  EXPECT_THAT(pods_->List(1), IsEmpty());
  EXPECT_FALSE(pods_->Counts().paused);
}

// By another way than a request, as a SIGHUP does it: between the look for it and its opening.
TEST_F(LiveTest, AQueueThatIsOpenedMeanwhileIsFound) {
  StoreAccess access(
      store_.get(),
      [this](std::string_view name, bool, Queue** queue) {
        Queue* other = nullptr;
        EXPECT_TRUE(store_->OpenQueue(name, {}, &other).ok());
        return store_->OpenQueue(name, {}, queue);
      },
      true);
  Queue* queue = nullptr;
  ASSERT_TRUE(access.Find("new", true, &queue).ok());
  EXPECT_EQ(queue, store_->FindQueue("new"));
}

}  // namespace
}  // namespace wq
