// The C interface: diffs.

#include <deque>
#include <memory>
#include <vector>

#include "bindings/c/boundary/arguments.h"
#include "bindings/c/boundary/call.h"
#include "bindings/c/boundary/entry.h"
#include "bindings/c/boundary/turn.h"
#include "wq/entry_diff.h"
#include "wq/wq.h"

namespace {

using wq::EntryDiff;
using wq::Status;
using wq::c::NullArgument;

struct Diff {
  explicit Diff(const EntryDiff::Options& options) : diff(options) {}
  EntryDiff diff;
  bool run = false;
};
using DiffObject = wq::c::InTurn<wq::c::Kind::kDiff, Diff>;

static_assert(WQ_BEFORE == static_cast<int32_t>(EntryDiff::Side::kBefore));
static_assert(WQ_AFTER == static_cast<int32_t>(EntryDiff::Side::kAfter));

// The entries of one side in C. Valid while this and the entries live.
class CEntries {
 public:
  explicit CEntries(const std::vector<wq::Entry>& entries) {
    for (const wq::Entry& entry : entries) {
      shown_.push_back(entries_.emplace_back(entry).get());
    }
  }

  const wq_entry* const* data() const { return shown_.data(); }
  size_t size() const { return shown_.size(); }

 private:
  std::deque<wq::c::CEntry> entries_;
  std::vector<const wq_entry*> shown_;
};

bool ShowKey(const wq::KeyDiff& key, wq_visit_key_diff visit, void* arg) {
  const CEntries before(key.before);
  const CEntries after(key.after);
  const wq_key_diff shown{.size = sizeof shown,
                          .queue = key.queue.c_str(),
                          .key = key.key.data(),
                          .key_size = key.key.size(),
                          .before = before.data(),
                          .before_count = before.size(),
                          .after = after.data(),
                          .after_count = after.size(),
                          .added = key.added ? 1 : 0,
                          .removed = key.removed ? 1 : 0,
                          .moved = key.moved ? 1 : 0,
                          .failed = key.failed ? 1 : 0,
                          .changed = key.changed ? 1 : 0};
  const wq::c::CallbackScope scope;
  return visit(arg, &shown) != 0;
}

Status AlreadyRun() { return Status::InvalidArgument("the diff was run already"); }

}  // namespace

extern "C" {

wq_code wq_diff_open(const wq_diff_options* options, wq_diff* diff, wq_error* error) {
  return wq::c::Enter(error, [&]() -> Status {
    if (diff == nullptr) {
      return NullArgument("diff");
    }
    *diff = WQ_NO_DIFF;
    wq_diff_options own;
    if (Status s = wq::c::ReadSized("options", options, &own); !s.ok()) {
      return s;
    }
    EntryDiff::Options diff_options;
    if (own.memory_bytes != 0) {
      diff_options.memory_bytes = own.memory_bytes;
    }
    if (own.scratch_dir != nullptr) {
      diff_options.scratch_dir = own.scratch_dir;
    }
    auto object = std::make_unique<DiffObject>(diff_options);
    diff->handle = wq::c::Register(object);
    return {};
  });
}

wq_code wq_diff_add(wq_diff diff, int32_t side, const char* queue, const wq_entry* entry,
                    wq_error* error) {
  return wq::c::CallInTurn<DiffObject>(diff.handle, error, [&](Diff& d) -> Status {
    if (queue == nullptr) {
      return NullArgument("queue");
    }
    if (side != WQ_BEFORE && side != WQ_AFTER) {
      return Status::InvalidArgument("side is " + std::to_string(side));
    }
    wq::Entry own;
    if (Status s = wq::c::ToEntry(entry, &own); !s.ok()) {
      return s;
    }
    return d.run ? AlreadyRun() : d.diff.Add(static_cast<EntryDiff::Side>(side), queue, own);
  });
}

wq_code wq_diff_run(wq_diff diff, wq_visit_key_diff visit, void* arg, wq_error* error) {
  return wq::c::CallInTurn<DiffObject>(diff.handle, error, [&](Diff& d) -> Status {
    if (visit == nullptr) {
      return NullArgument("visit");
    }
    if (d.run) {
      return AlreadyRun();
    }
    d.run = true;
    return d.diff.Run([&](const wq::KeyDiff& key) { return ShowKey(key, visit, arg); });
  });
}

wq_code wq_diff_free(wq_diff diff, wq_error* error) {
  return wq::c::FreeInTurn<DiffObject>("wq_diff_free", diff.handle, error);
}

}  // extern "C"
