// Server-sent events of the live page, with a clock that the test advances.

#include "server/page/events.h"

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/server/http/http_client.h"
#include "tests/support/wait.h"

namespace wq {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr const char* kListen = "GET /ui/events?queue=a%20b HTTP/1.1\r\nHost: localhost\r\n\r\n";

class EventsTest : public ::testing::Test {
 protected:
  EventsTest() { Make(100); }
  ~EventsTest() override { events_->Close(); }

  void Make(size_t max_listeners) {
    http_.reset();
    events_ = std::make_unique<Events>(Events::Options{
        .clock = &clock_,
        .overview = [this](const std::string& queue,
                           v1::GetOverviewResponse* response) { Read(queue, response); },
        .max_listeners = max_listeners});
    ASSERT_TRUE(events_->Start().ok());
    http_ = std::make_unique<Http>(
        Http::Options{.not_found = [](const std::string&) { return HttpReply{.status = 404}; },
                      .max_request_bytes = 100'000,
                      .io_timeout = hours(1),
                      .idle_timeout = hours(1)});
    http_->Get("/ui/events", [this](const HttpRequest& request) {
      return events_->Listen(
          QueryValue(request.query, "queue"), [this] { return may_go_on_.load(); }, request.wake);
    });
  }
  void Read(const std::string& queue, v1::GetOverviewResponse* response) {
    auto* const row = response->add_queues();
    row->set_name(queue + std::string(padding_, 'x'));
    row->mutable_counts()->set_queued(queued_);
    row->mutable_counts()->set_next_due_us(++reading_);
    response->set_now_us(reading_);
  }
  // Until the overview was read this often.
  void AwaitReadings(uint64_t count) const {
    EXPECT_TRUE(support::Eventually([&] { return events_->readings() >= count; }));
  }
  // Until the client has its first event, which is returned.
  static std::string Listen(HttpClient* client) {
    EXPECT_EQ(client->Ask(kListen).status, 200);
    EXPECT_EQ(client->Chunk(), "retry: 1000\n\n");
    return client->Chunk();
  }
  static std::string Queued(int count) { return "\"queued\":\"" + std::to_string(count) + "\""; }

  ManualClock clock_;
  std::atomic<uint64_t> queued_{1};
  std::atomic<size_t> padding_{0};
  std::atomic<bool> may_go_on_{true};
  std::atomic<int64_t> reading_{0};
  std::unique_ptr<Events> events_;
  std::unique_ptr<Http> http_;
};

TEST_F(EventsTest, TheFirstEventComesAtOnce) {
  HttpClient client(*http_);
  const ReceivedReply reply = client.Ask(kListen);
  EXPECT_EQ(reply.status, 200);
  EXPECT_THAT(reply.head, HasSubstr("Content-Type: text/event-stream\r\n"));
  EXPECT_EQ(client.Chunk(), "retry: 1000\n\n");
  const std::string event = client.Chunk();
  EXPECT_THAT(event, StartsWith("event: overview\ndata: {\"queues\":[{\"name\":\"a b\""));
  EXPECT_THAT(event, HasSubstr(Queued(1)));
  EXPECT_TRUE(event.ends_with("}\n\n"));
  EXPECT_EQ(std::count(event.begin(), event.end(), '\n'), 3);
}

TEST_F(EventsTest, OnlyWhatHasChangedIsSent) {
  HttpClient client(*http_);
  Listen(&client);
  for (uint64_t i = 2; i < 6; ++i) {
    clock_.Advance(milliseconds(500));
    AwaitReadings(i);  // Only its times are new.
  }
  queued_ = 7;
  clock_.Advance(milliseconds(500));
  EXPECT_THAT(client.Chunk(), HasSubstr(Queued(7)));
}

TEST_F(EventsTest, AtMostTwoASecond) {
  HttpClient client(*http_);
  Listen(&client);
  for (int i = 0; i < 100; ++i) {
    ++queued_;
    clock_.Advance(milliseconds(100));
  }
  AwaitReadings(2);
  EXPECT_LE(events_->readings(), 21U);
}

TEST_F(EventsTest, TheListenersOfAQueueShareItsReadings) {
  std::vector<std::unique_ptr<HttpClient>> clients;
  for (int i = 0; i < 20; ++i) {
    clients.push_back(std::make_unique<HttpClient>(*http_));
    EXPECT_THAT(Listen(clients.back().get()), HasSubstr(Queued(1)));
  }
  EXPECT_EQ(events_->readings(), 1U);
  queued_ = 2;
  clock_.Advance(milliseconds(500));
  for (const auto& client : clients) {
    EXPECT_THAT(client->Chunk(), HasSubstr(Queued(2)));
  }
  EXPECT_EQ(events_->readings(), 2U);
}

TEST_F(EventsTest, NothingIsReadWhileNobodyListens) {
  clock_.Advance(hours(1));
  {
    HttpClient client(*http_);
    Listen(&client);
  }
  EXPECT_TRUE(support::Eventually([&] { return events_->listeners() == 0; }));
  const uint64_t before = events_->readings();
  EXPECT_EQ(before, 1U);
  clock_.Advance(hours(1));
  HttpClient client(*http_);
  Listen(&client);
  EXPECT_EQ(events_->readings(), before + 1);
}

TEST_F(EventsTest, ASlowReaderGetsTheNewestOnly) {
  padding_ = 4'000'000;  // More than a socket takes.
  HttpClient slow(*http_);
  ASSERT_TRUE(slow.Send(kListen));
  AwaitReadings(1);
  for (uint64_t i = 2; i <= 10; ++i) {
    queued_ = i;
    clock_.Advance(milliseconds(500));
    AwaitReadings(i);
  }
  EXPECT_EQ(slow.Reply().status, 200);
  EXPECT_EQ(slow.Chunk(), "retry: 1000\n\n");
  int events = 0;
  std::string event;
  while (event.find(Queued(10)) == std::string::npos) {
    event = slow.Chunk();
    ASSERT_NE(event, "CLOSED");
    ++events;
  }
  EXPECT_LE(events, 3);  // The one that was under way, perhaps one before, and the newest.
}

TEST_F(EventsTest, ACommentComesWhileNothingChanges) {
  HttpClient client(*http_);
  Listen(&client);
  clock_.Advance(seconds(16));
  EXPECT_EQ(client.Chunk(), ":\n\n");
}

TEST_F(EventsTest, TooManyListenersAreRefused) {
  Make(2);
  HttpClient first(*http_);
  HttpClient second(*http_);
  EXPECT_EQ(first.Ask(kListen).status, 200);
  EXPECT_EQ(second.Ask(kListen).status, 200);
  HttpClient third(*http_);
  const ReceivedReply refused = third.Ask(kListen);
  EXPECT_EQ(refused.status, 503);
  EXPECT_THAT(refused.body, HasSubstr("too many pages are open"));
  first.CloseEnd();
  while (third.Ask(kListen).status == 503) {
    // Until the loop has seen the first one's end.
  }
}

TEST_F(EventsTest, AStreamEndsWhenItsLogInHasEnded) {
  HttpClient client(*http_);
  Listen(&client);
  may_go_on_ = false;
  queued_ = 2;
  clock_.Advance(milliseconds(500));
  EXPECT_EQ(client.Chunk(), "");
}

TEST_F(EventsTest, CloseEndsTheStreams) {
  HttpClient client(*http_);
  Listen(&client);
  events_->Close();
  EXPECT_EQ(client.Chunk(), "");
  EXPECT_EQ(client.Ask(kListen).status, 503);
  EXPECT_EQ(events_->listeners(), 0U);
}

}  // namespace
}  // namespace wq
