// A queue with a source, and what its calls have done as text.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tests/engine/queue/queue_fixture.h"
#include "wq/source.h"

namespace wq {

using ObjectKeys = std::vector<std::string_view>;

class SourcesTest : public QueueTest {
 protected:
  SourcesTest() { OpenSource(); }
  void OpenSource() { ASSERT_TRUE(queue_->OpenSource("pods", &pods_).ok()); }
  void Restart() {
    CloseAndOpen();
    OpenSource();
  }
  void Restart(const QueueOptions& options) {
    queue_options_ = options;
    Restart();
  }
  void Crash() {
    QueueTest::Crash();
    OpenSource();
  }

  // What the call has done: "unchanged", "changed +added =deduplicated", or the name of the status.
  static std::string Text(const Status& status, const ObserveResult& result) {
    if (!status.ok()) {
      return std::string(StatusCodeName(status.code()));
    }
    std::string text = result.changed ? "changed" : "unchanged";
    text += result.added > 0 ? " +" + std::to_string(result.added) : "";
    return text + (result.deduplicated > 0 ? " =" + std::to_string(result.deduplicated) : "");
  }
  template <typename To>
  std::string ObserveBy(To* to, const Observation& observation, const AddOptions& options = {}) {
    ObserveResult result;
    const Status s = to->Observe(observation, options, &result);
    return Text(s, result);
  }
  // Of an object that maps to itself.
  std::string Observe(std::string_view object, std::string_view version) {
    return Observe(object, version, {object});
  }
  std::string Observe(std::string_view object, std::string_view version, const ObjectKeys& keys) {
    return ObserveBy(&pods_, {.object = object, .version = version, .keys = keys});
  }
  std::string List(std::string_view object, std::string_view version) {
    const std::string_view keys[] = {object};
    return ObserveBy(list_.get(), {.object = object, .version = version, .keys = keys});
  }
  void BeginList(const ListOptions& options = {}) {
    ASSERT_TRUE(pods_.BeginList(options, &list_).ok());
  }
  std::string ObserveDeleted(std::string_view object, const ObjectKeys& keys = {}) {
    ObserveResult result;
    const Status s = pods_.ObserveDeleted(object, keys, {}, &result);
    return Text(s, result);
  }
  std::string ListDeleted(std::string_view object, const ObjectKeys& keys) {
    ObserveResult result;
    const Status s = list_->ObserveDeleted(object, keys, {}, &result);
    return Text(s, result);
  }
  std::string NextDeleted() {
    SeenObject deleted;
    const Status s = list_->NextDeleted(&deleted);
    if (!s.ok()) {
      return std::string(StatusCodeName(s.code()));
    }
    std::string text = deleted.object + " " + deleted.version + " " + deleted.tombstone;
    for (const std::string& key : deleted.keys) {
      text += " " + key;
    }
    return text;
  }
  // What NextDeleted returns of a list without objects, to the end.
  std::vector<std::string> Rows() {
    BeginList();
    std::vector<std::string> rows;
    do {
      rows.push_back(NextDeleted());
    } while (rows.back().find(' ') != std::string::npos);
    return rows;
  }
  void Work(int keys = 100) {  // Of what is queued.
    for (std::string key; keys > 0 && (key = Get()) != "TimedOut"; --keys) {
      ASSERT_TRUE(queue_->Done(key).ok());
    }
  }

  Source pods_;
  std::unique_ptr<SourceList> list_;
};

}  // namespace wq
