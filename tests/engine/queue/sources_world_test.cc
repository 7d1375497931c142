// A source beside an oracle that knows the real state of the objects.

#include <map>
#include <random>
#include <string>
#include <vector>

#include "tests/engine/queue/sources_fixture.h"
#include "tests/support/environment.h"

namespace wq {
namespace {

// A world of objects that change, appear and vanish, and a controller that lists, watches and
// reconciles them, and is killed before any of its writes. What a list has seen may be late.
class WorldTest : public SourcesTest {
 protected:
  using World = std::map<std::string, std::string>;  // The version of each object.

  void Change() {
    const std::string object = "o" + std::to_string(random_() % 12);
    if (random_() % 3 == 0) {
      world_.erase(object);
    } else {
      world_[object] = std::to_string(++versions_);
    }
    if (watching_) {  // An event may be lost with the process.
      Event(object);
    }
  }
  void Event(const std::string& object) {
    const auto found = world_.find(object);
    if (found == world_.end()) {
      ObserveDeleted(object);
    } else {
      Observe(object, found->second);
    }
  }
  // Lists a state of the world, in which changes follow before the list has ended.
  void ListAll(bool with_changes) {
    BeginList();
    const World listed = world_;
    for (const auto& [object, version] : listed) {
      List(object, version);
      if (with_changes && random_() % 8 == 0) {
        Change();
      }
    }
    // The events since the list come before its end, as a watch begins at the list's state.
    for (const auto& [object, version] : listed) {
      if (!world_.contains(object)) {
        Event(object);
      }
    }
    for (const auto& [object, version] : World(world_)) {
      const auto before = listed.find(object);
      if (before == listed.end() || before->second != version) {
        Event(object);
      }
    }
    watching_ = list_->End().ok();
  }
  void Reconcile(size_t keys) {
    std::vector<HeldKey> held;
    if (store_->Health().ok()) {  // Otherwise the process was killed at that write.
      static_cast<void>(queue_->TryGet(keys, &held));
    }
    for (const HeldKey& key : held) {
      const auto found = world_.find(key.key);
      reconciled_[key.key] = found == world_.end() ? "" : found->second;
      ++reconciles_;
      static_cast<void>(queue_->Done(key.key));
    }
  }
  void Kill() {
    list_.reset();
    watching_ = false;
    Crash();
  }

  std::mt19937_64 random_{support::Seed()};
  World world_;
  World reconciled_;  // An object that was gone: empty.
  bool watching_ = false;
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
    for (const auto& [object, seen] : reconciled_) {
      const auto found = world_.find(object);
      ASSERT_EQ(seen, found == world_.end() ? "" : found->second)
          << object << " in life " << life << " of seed " << support::Seed();
    }
    for (const auto& [object, version] : world_) {
      ASSERT_TRUE(reconciled_.contains(object)) << object << " in life " << life;
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
