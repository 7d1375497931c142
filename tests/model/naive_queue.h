// NaiveQueue: the model that the real queue is compared with. It implements the semantics of the
// queue as plainly as possible: one map, linear searches, no code shared with the engine.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "tests/model/call.h"
#include "tests/model/image.h"
#include "wq/options.h"

namespace wq::model {

class NaiveQueue {
 public:
  NaiveQueue(const QueueOptions& options, int64_t wall_us);

  // Makes the call and returns its result as text.
  std::string Do(const Call& call);
  // The whole state, with the keys in hand-out order.
  std::string Dump();

  // The two steps of a crash: memory is lost and rebuilt; then the delays that became due fire.
  void Recover();
  void Fire();
  // The first step of kReopen and kDeleteQueue; the second is Fire.
  void BeginReopening(const Call& call);
  // As the next process opens the queue.
  void UseFirstOptions() { options_ = first_options_; }

  // The records on disk after all calls have been written.
  Image OnDisk() const;
  bool IsProcessing(const std::string& name) const;
  int64_t wall_us() const { return wall_us_; }
  // Both clocks become those of another queue, and nothing fires.
  void SetClocks(const NaiveQueue& other) {
    steady_us_ = other.steady_us_;
    wall_us_ = other.wall_us_;
  }
  // The number (from 1) of the call that wrote the record on which the durability of the last call
  // depends. 0: the last call waits for no write.
  uint64_t stands_on() const { return stands_on_; }

 private:
  struct Delay {
    int64_t due_us;
    int64_t ready_at_us;
    int64_t delay_us;
    Lane lane;
    Lane stored_lane;         // As in its record.
    uint64_t written = 0;     // The call that wrote its record.
    uint64_t place = 0;       // Larger for a delay that was added later; after a crash, by key.
    int64_t begun_at_us = 0;  // Until a restart by a clock that was set back: ready_at - delay.
    bool debounced = false;
    bool resync = false;
    int64_t BegunUs() const { return due_us - delay_us; }  // Steady time.
  };
  struct Key {
    bool queued = false;
    bool processing = false;
    bool again = false;    // Added while processing.
    bool deleted = false;  // While processing.
    bool quarantined = false;
    Lane lane = 0;
    Lane stored_lane = 0;  // As in its quarantine record.
    std::string group = {};
    uint64_t place = 0;  // Larger for a key that was queued later.
    int64_t rank = 0;    // Its place in the order; that of a key that was given back is negative.
    std::optional<Delay> delay = std::nullopt;
    uint64_t failures = 0;
    uint64_t deaths = 0;        // Of its workers, in a row.
    uint64_t written = 0;       // The call that wrote its pending record.
    int64_t added_at_us = 0;    // Wall time.
    int64_t stored_at_us = 0;   // As in that record.
    int64_t held_since_us = 0;  // Steady time.
    // Of the Adds since the hand-out, of the hand-out that a worker holds, and of the delay.
    std::vector<std::string> reasons = {};
    std::vector<std::string> held_reasons = {};
    std::vector<std::string> delay_reasons = {};

    void QueueAt(uint64_t at) { rank = static_cast<int64_t>(place = at); }
    bool Dirty() const { return queued || again; }
    bool Delayed() const { return delay && !delay->resync; }
    bool Known() const { return queued || processing || quarantined || delay.has_value(); }
    Lane KnownLane() const {
      return queued || processing || quarantined ? lane : Delayed() ? delay->lane : 0;
    }
  };
  using Entry = std::pair<const std::string, Key>;

  // What bounds a group, or the queue: its name is "".
  struct Flow {
    int64_t full_at_us = 0;  // Steady time: when the bucket is full.
    bool waited = false;     // Keys waited for the token that is there.
  };
  // The turn of a group in a lane.
  struct Turn {
    uint64_t time = 0;
    int64_t since = 0;
  };
  using TurnKey = std::tuple<uint32_t, Lane, std::string>;  // Shard, lane, group.
  struct LaneTime {
    uint64_t time = 0;
    int64_t last = 0;
  };

  std::string DoCall(const Call& call);
  bool Refuses(const Call& call) const;
  bool HasLane(Lane lane) const;
  void MoveToLanes(const std::vector<const Entry*>& pending);
  std::string Add(Call call, bool has_room = false);
  bool LeavesAlone(const Call& add);
  bool HoldsInQuarantine(Call* add);
  Lane WantedLane(const Key& key, std::optional<Lane> lane) const;
  std::string AddKey(const Call& call);
  std::string AddDebounced(Call call);
  bool IsFull(const std::string& name);
  void Write(Key* key) const;
  std::string MakeDirty(const std::string& name, Lane lane, bool reasons_changed = false);
  static bool Merge(const std::vector<std::string>& more, std::vector<std::string>* reasons);
  static std::vector<std::string> ReasonsOf(const Call& call, const Key& key);
  void ForgetReasons(Key* key);
  std::string AddAfter(Call call);
  std::string DelayKey(const Call& call);
  std::string AddRateLimited(const Call& call);
  // The source (naive_queue_sources.cc).
  struct Listed {
    std::string fingerprint = {};
    std::string scope = {};
    bool operator==(const Listed&) const = default;
  };
  struct Object {
    std::string version;
    Listed listed;  // What the last list was when the row was written.
    std::set<std::string> keys;
    std::string tombstone;
    bool seen = false;  // Since the list began.
    bool owed = false;  // A later observation, which was refused.
  };
  std::string Observe(const Call& call);
  std::string EndList(const Call& call);
  std::string Change(const Call& call);
  std::string ChangeMany(const Call& call);
  std::string Get(uint32_t shard);
  std::string TryGet(uint32_t shard, uint64_t limit);
  std::string Done(const std::string& name);
  std::string PutBack(const std::string& name, bool behind = false);
  std::string PutBackDead(const Call& call);
  std::string Remove(const std::string& name);
  std::string Delete(const std::string& name);
  void Quarantine(const std::string& name);
  bool IsStuck(const Key& key) const;
  void Release(Key* key);
  int64_t LeftOf(int64_t ends_us, int64_t length_us, int64_t* begun_us) const;
  void RecoverDelay(Delay* delay) const;
  int64_t SpreadResync(const std::string& name, int64_t period_us) const;
  Lane ResyncLane() const;
  void SetResync(Key* key, int64_t delay_us, Lane lane);
  void ResyncLater(const std::string& name);
  void FireResyncs();
  __extension__ using Credit = __int128;
  struct Gate {  // Of the periods that are less than twice as long as a power of two.
    Credit credit = 0;
    int64_t earned_us = 0;
    int64_t next_round_us = 0;
  };
  static int64_t BandOf(int64_t period_us);  // That power.
  Credit Share(int64_t band) const;
  void Earn(int64_t band);
  int64_t NextRoundUs(int64_t band);
  std::string FireOne(const std::string& name);

  void SettleGroup(const std::string& name, const std::string& group);
  void Enqueue(const std::string& name, Lane lane);
  void TakeTurn(const std::string& name);
  void Dequeue(const std::string& name);
  uint32_t ShardOf(const std::string& name) const;
  Entry* Next(uint32_t shard);
  Entry* Front(uint32_t shard, Lane lane);
  Entry* Oldest(uint32_t shard, const std::function<bool(const Key&)>& matches);
  LaneTime& TimeOf(uint32_t shard, Lane lane) { return lane_times_[{shard, lane}]; }

  GroupLimits LimitsOf(const std::string& group) const;
  static int64_t Period(const Rate& rate);
  bool OutOfTokens(const std::string& group) const;
  bool Closed(const std::string& group) const;
  bool GroupClosed(const std::string& group) const { return !group.empty() && Closed(group); }
  void TakeToken(const std::string& group);
  void SetLimits(const GroupLimits& of_queue, const GroupLimits& of_groups);
  void WakeGroups();
  void ForgetGroups();
  void Reopen(const std::function<void()>& change);
  std::vector<const Entry*> Pending() const;

  QueueOptions first_options_;
  QueueOptions options_;
  GroupLimits of_queue_ = options_.limits;  // Those in force.
  GroupLimits of_groups_ = options_.group_limits;
  std::map<std::string, Key> keys_;
  std::map<std::string, std::string> cursors_;
  std::map<std::string, Object> objects_;
  Listed listed_;
  bool listing_ = false;
  uint64_t source_written_ = 0;    // The last call that changed the row of an object.
  std::map<TurnKey, Turn> turns_;  // Of the groups with queued keys, by shard and lane.
  std::map<std::pair<uint32_t, Lane>, LaneTime> lane_times_;
  std::map<std::string, Flow> flows_;
  std::map<uint32_t, uint32_t> passed_;  // By shard: see starvation_bound.
  std::map<uint32_t, Lane> lower_;       // By shard: the lane that it has served last.
  bool paused_ = false;
  std::optional<int64_t> pause_ends_us_ = std::nullopt;  // Wall time.
  int64_t paused_for_us_ = 0;
  int64_t paused_at_us_ = 0;       // As Delay::begun_at_us.
  int64_t pause_due_us_ = 0;       // Steady time.
  std::map<int64_t, Gate> gates_;  // Of resyncs.
  uint64_t limiter_calls_ = 0;     // As saved by RealQueue's limiter.
  uint64_t last_place_ = 0;
  int64_t given_back_ = 0;
  uint64_t calls_ = 0;
  uint64_t stands_on_ = 0;
  int64_t steady_us_ = 0;
  int64_t fired_us_ = 0;  // steady_us_ at the last WakeGroups.
  int64_t wall_us_;
};

}  // namespace wq::model
