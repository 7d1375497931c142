#include "wq/entry_diff.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <utility>

#include "base/step_progress.h"
#include "engine/offline/sorted_records.h"
#include "storage/records.h"
#include "wq/keys.h"

namespace wq {
namespace {

// An entry without its key, as bytes for a scratch file of this process.
struct Fixed {
  uint64_t sequence;
  int64_t added_at_us;
  int64_t ready_at_us;
  int64_t delay_us;
  int64_t quarantined_at_us;
  uint64_t failure_count;
  int64_t first_at_us;
  int64_t last_at_us;
  Lane lane;
  uint32_t group_bytes;
  uint32_t causes_bytes;
  EntryState state;
  bool has_failures;
  bool debounced;
  bool resync;
};

void Encode(const Entry& entry, std::string* bytes) {
  const FailureInfo failures = entry.failures.value_or(FailureInfo{});
  Fixed fixed = {};
  fixed.sequence = entry.sequence;
  fixed.added_at_us = entry.added_at_us;
  fixed.ready_at_us = entry.ready_at_us;
  fixed.delay_us = entry.delay_us;
  fixed.quarantined_at_us = entry.quarantined_at_us;
  fixed.failure_count = failures.count;
  fixed.first_at_us = failures.first_at_us;
  fixed.last_at_us = failures.last_at_us;
  fixed.lane = entry.lane;
  fixed.group_bytes = static_cast<uint32_t>(entry.group.size());
  const std::string causes = storage::EncodeCauses(entry.causes);
  fixed.causes_bytes = static_cast<uint32_t>(causes.size());
  fixed.state = entry.state;
  fixed.has_failures = entry.failures.has_value();
  fixed.debounced = entry.debounced;
  fixed.resync = entry.resync;
  bytes->assign(reinterpret_cast<const char*>(&fixed), sizeof fixed);
  bytes->append(entry.group).append(causes).append(failures.last_error);
}

Entry Decode(std::string_view key, std::string_view bytes) {
  Fixed fixed;
  std::memcpy(&fixed, bytes.data(), sizeof fixed);
  bytes.remove_prefix(sizeof fixed);
  Entry entry;
  entry.key = key;
  entry.state = fixed.state;
  entry.lane = fixed.lane;
  entry.group = bytes.substr(0, fixed.group_bytes);
  bytes.remove_prefix(fixed.group_bytes);
  entry.causes = storage::DecodeCauses(bytes.substr(0, fixed.causes_bytes));
  bytes.remove_prefix(fixed.causes_bytes);
  entry.sequence = fixed.sequence;
  entry.added_at_us = fixed.added_at_us;
  entry.ready_at_us = fixed.ready_at_us;
  entry.delay_us = fixed.delay_us;
  entry.debounced = fixed.debounced;
  entry.resync = fixed.resync;
  entry.quarantined_at_us = fixed.quarantined_at_us;
  if (fixed.has_failures) {
    entry.failures =
        FailureInfo{fixed.failure_count, fixed.first_at_us, fixed.last_at_us, std::string(bytes)};
  }
  return entry;
}

bool Same(const Entry& a, const Entry& b) {
  return a.state == b.state && a.lane == b.lane && a.group == b.group && a.sequence == b.sequence &&
         a.added_at_us == b.added_at_us && a.ready_at_us == b.ready_at_us &&
         a.delay_us == b.delay_us && a.debounced == b.debounced && a.resync == b.resync &&
         a.quarantined_at_us == b.quarantined_at_us && a.failures == b.failures &&
         a.causes == b.causes;
}

bool SamePlace(const Entry& a, const Entry& b) {
  return a.state == b.state && (a.state == EntryState::kFailing || a.lane == b.lane);
}

uint64_t FailuresOf(const std::vector<Entry>& entries) {
  uint64_t count = 0;
  for (const Entry& entry : entries) {
    if (entry.failures) count = std::max(count, entry.failures->count);
  }
  return count;
}

std::string ScratchDir(const EntryDiff::Options& options) {
  if (!options.scratch_dir.empty()) return options.scratch_dir;
  const char* dir = std::getenv("TMPDIR");
  return dir != nullptr && *dir != '\0' ? dir : "/tmp";
}

// Moves the entries of the next key from the records to `entries`.
Status TakeKey(SortedRecords* records, const std::string& sort_key, std::string_view key,
               std::vector<Entry>* entries) {
  while (records->Valid() && records->key() == sort_key) {
    entries->push_back(Decode(key, records->value()));
    if (Status s = records->Next(); !s.ok()) return s;
  }
  std::sort(entries->begin(), entries->end(),
            [](const Entry& a, const Entry& b) { return a.state < b.state; });
  return {};
}

}  // namespace

bool Classify(KeyDiff* diff) {
  diff->added = diff->before.empty();
  diff->removed = diff->after.empty();
  if (diff->added || diff->removed) return diff->added != diff->removed;
  const auto equal = [diff](const auto& same) {
    return std::equal(diff->before.begin(), diff->before.end(), diff->after.begin(),
                      diff->after.end(), same);
  };
  diff->moved = !equal(SamePlace);
  diff->failed = FailuresOf(diff->after) > FailuresOf(diff->before);
  diff->changed = !diff->moved && !diff->failed && !equal(Same);
  return diff->moved || diff->failed || diff->changed;
}

struct EntryDiff::Impl {
  explicit Impl(const Options& options)
      : progress(options.progress),
        before(options.memory_bytes / 2, ScratchDir(options)),
        after(options.memory_bytes / 2, ScratchDir(options)) {}

  const ProgressCallback progress;
  uint64_t entries = 0;  // Of both sides.
  SortedRecords before;
  SortedRecords after;
  std::string key;    // Reused.
  std::string value;  // Reused.
};

EntryDiff::EntryDiff(const Options& options) : impl_(std::make_unique<Impl>(options)) {}
EntryDiff::~EntryDiff() = default;

Status EntryDiff::Add(Side side, std::string_view queue, const Entry& entry) {
  if (queue.find('\0') != std::string_view::npos) {
    return Status::InvalidArgument("no queue name: \"" + EscapeKey(queue) + "\"");
  }
  // A name holds no NUL, so this is the order of the names, then of the keys.
  impl_->key.assign(queue).push_back('\0');
  impl_->key.append(entry.key);
  Encode(entry, &impl_->value);
  ++impl_->entries;
  return (side == Side::kBefore ? impl_->before : impl_->after).Add(impl_->key, impl_->value);
}

Status EntryDiff::Run(const std::function<bool(const KeyDiff&)>& visit) {
  SortedRecords& before = impl_->before;
  SortedRecords& after = impl_->after;
  StepProgress step(
      impl_->progress,
      {.step = "comparing", .unit = Progress::Unit::kRecords, .total = impl_->entries});
  Status s = before.Begin();
  if (s.ok()) s = after.Begin();
  while (s.ok() && (before.Valid() || after.Valid())) {
    const bool from_before = before.Valid() && (!after.Valid() || before.key() <= after.key());
    const std::string sort_key((from_before ? before : after).key());
    const size_t end = sort_key.find('\0');
    KeyDiff diff;
    diff.queue = sort_key.substr(0, end);
    diff.key = sort_key.substr(end + 1);
    s = TakeKey(&before, sort_key, diff.key, &diff.before);
    if (s.ok()) s = TakeKey(&after, sort_key, diff.key, &diff.after);
    step.Add(diff.before.size() + diff.after.size());
    if (s.ok() && Classify(&diff) && !visit(diff)) break;
  }
  step.Finish();
  return s;
}

}  // namespace wq
