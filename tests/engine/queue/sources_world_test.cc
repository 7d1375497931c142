// Sources beside an oracle that knows the real state of the objects.

#include <map>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/engine/queue/queue_fixture.h"
#include "tests/support/environment.h"
#include "wq/source.h"

namespace wq {
namespace {

// A world of pods and of secrets, which have a label each: a pod uses the secrets of its label.
// They change, appear and vanish. A controller lists and watches both, reconciles pods, and is
// killed before any of its writes. Its lists and its events are late, and so are the caches that
// its mappings and reconciles read. A secret is mapped to the pods of its label, and of the label
// that it had.
class WorldTest : public QueueTest {
 protected:
  using World = std::map<std::string, std::string>;  // The version of each object.
  using ObjectKeys = std::vector<std::string_view>;
  struct Kind {
    World world;
    World cached;  // What the process has observed.
    Source source;
    std::unique_ptr<SourceList> list;
    bool watching = false;
  };

  WorldTest() { OpenSources(); }
  void OpenSources() {
    ASSERT_TRUE(queue_->OpenSource("pods", &pods_.source).ok());
    ASSERT_TRUE(queue_->OpenSource("secrets", &secrets_.source).ok());
  }
  static std::string LabelOf(const std::string& version) {
    return version.substr(version.find('>') + 1);
  }
  // What a reconcile of a pod sees.
  static std::string StateOf(const std::string& pod, const World& pods, const World& secrets) {
    const auto found = pods.find(pod);
    if (found == pods.end()) {
      return "gone";
    }
    std::string state = found->second;
    for (const auto& [_, version] : secrets) {
      state += LabelOf(version) == LabelOf(found->second) ? " " + version : "";
    }
    return state;
  }
  ObjectKeys KeysOf(const Kind& kind, std::string_view object, const std::string& version) const {
    if (&kind == &pods_) {
      return {object};
    }
    ObjectKeys keys;
    for (const auto& [pod, of] : pods_.cached) {
      if (LabelOf(of) == LabelOf(version)) {
        keys.emplace_back(pod);
      }
    }
    return keys;
  }

  void Change() {
    Kind& kind = random_() % 3 == 0 ? secrets_ : pods_;
    const bool is_pod = &kind == &pods_;
    const std::string object = (is_pod ? "p" : "s") + std::to_string(random_() % (is_pod ? 12 : 4));
    if (random_() % 3 == 0) {
      kind.world.erase(object);
    } else {
      kind.world[object] = std::to_string(++versions_) + ">" + std::to_string(random_() % 4);
    }
    if (kind.watching) {
      late_.emplace_back(&kind, object);
    }
    if (random_() % 2 == 0) {
      DeliverEvents();  // Otherwise they may be lost with the process.
    }
  }
  void DeliverEvents() {
    for (const auto& [kind, object] : late_) {
      Event(kind, object);
    }
    late_.clear();
  }
  void Event(Kind* kind, const std::string& object) {
    const auto found = kind->world.find(object);
    if (found != kind->world.end()) {
      Observe(kind, &kind->source, object, found->second);
      return;
    }
    const std::string before = kind->cached[object];
    kind->cached.erase(object);
    ObserveResult result;
    static_cast<void>(
        kind->source.ObserveDeleted(object, KeysOf(*kind, object, before), {}, &result));
  }
  template <typename To>
  void Observe(Kind* kind, To* to, const std::string& object, const std::string& version) {
    kind->cached[object] = version;
    const ObjectKeys keys = KeysOf(*kind, object, version);
    SeenObject before;
    Observation seen{.object = object,
                     .version = version,
                     .keys = keys,
                     .tombstone = version,
                     .before = &before};
    ObserveResult result;
    const Status s = to->Observe(seen, {}, &result);
    if (before.object.empty() || !s.ok()) {
      return;
    }
    const ObjectKeys of_before = KeysOf(*kind, object, before.tombstone);
    BatchResult added;
    if (queue_->AddBatch(of_before, {}, &added).ok()) {
      seen.before = nullptr;
      static_cast<void>(to->Observe(seen, {}, &result));
    }
  }
  // Lists a state of the world, in which changes follow before the list has ended.
  void List(Kind* kind, bool with_changes) {
    ASSERT_TRUE(kind->source.BeginList({}, &kind->list).ok());
    const World listed = kind->world;
    for (const auto& [object, version] : listed) {
      Observe(kind, kind->list.get(), object, version);
      if (with_changes && random_() % 8 == 0) {
        Change();
      }
    }
    // The events since the list come before its end, as a watch begins at the list's state.
    for (const auto& [object, version] : listed) {
      if (!kind->world.contains(object)) {
        Event(kind, object);
      }
    }
    for (const auto& [object, version] : World(kind->world)) {
      const auto before = listed.find(object);
      if (before == listed.end() || before->second != version) {
        Event(kind, object);
      }
    }
    // A pod may have the label since the secret's row was written.
    ObserveResult result;
    for (SeenObject deleted; kind->list->NextDeleted(&deleted).ok();) {
      static_cast<void>(kind->list->ObserveDeleted(
          deleted.object, KeysOf(*kind, deleted.object, deleted.tombstone), {}, &result));
    }
    kind->watching = kind->list->End().ok();
  }
  void ListAll(bool with_changes) {
    List(&pods_, with_changes);  // First: a mapping waits for what it reads.
    List(&secrets_, with_changes);
  }
  void Reconcile(size_t keys) {
    std::vector<HeldKey> held;
    if (store_->Health().ok()) {  // Otherwise the process was killed at that write.
      static_cast<void>(queue_->TryGet(keys, &held));
    }
    for (const HeldKey& key : held) {
      reconciled_[key.key] = StateOf(key.key, pods_.cached, secrets_.cached);
      ++reconciles_;
      static_cast<void>(queue_->Done(key.key));
    }
  }
  void Kill() {
    for (Kind* kind : {&pods_, &secrets_}) {
      kind->list.reset();
      kind->watching = false;
      kind->cached.clear();
    }
    late_.clear();
    Crash();
    OpenSources();
  }

  std::mt19937_64 random_{support::Seed()};
  Kind pods_;
  Kind secrets_;
  std::vector<std::pair<Kind*, std::string>> late_;
  World reconciled_;  // The state of each pod when it was last reconciled.
  uint64_t versions_ = 0;
  size_t reconciles_ = 0;
};

TEST_F(WorldTest, NoChangeAndNoDeletionIsMissedOverKills) {
  for (int life = 0; life < 2000; ++life) {
    FailWrites(random_() % 60);  // And then the process is killed.
    ListAll(true);
    for (int i = 0; i < 10; ++i) {
      Change();
      Reconcile(random_() % 3);
    }
    Kill();
    for (uint64_t i = random_() % 6; i > 0; --i) {
      Change();  // While nobody looks.
    }
    if (life % 20 != 0) {
      continue;
    }
    ListAll(false);
    Reconcile(SIZE_MAX);
    for (const auto& [pod, state] : reconciled_) {
      ASSERT_EQ(state, StateOf(pod, pods_.world, secrets_.world))
          << pod << " in life " << life << " of " << support::Seed();
    }
    for (const auto& [pod, version] : pods_.world) {
      ASSERT_TRUE(reconciled_.contains(pod)) << pod << " in life " << life;
    }
    ASSERT_TRUE(queue_->Flush().ok());
    Kill();
    const size_t before = reconciles_;
    ListAll(false);
    Reconcile(SIZE_MAX);
    ASSERT_EQ(reconciles_, before) << "nothing has changed";
  }
}

}  // namespace
}  // namespace wq
