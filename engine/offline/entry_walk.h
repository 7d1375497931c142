// EntryWalk: one walk over the entries of a queue, in the order of StoreView::ForEachEntry.
//
//   Status s = EntryWalk(reader, id, visit).Run(EntryStates::All());
//
// Bounded memory, whatever the number of keys. Thread-compatible; for one Run.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <unordered_set>

#include "storage/records.h"
#include "wq/entry.h"

namespace wq {

class EntryWalk {
 public:
  using Visitor = std::function<bool(const Entry&)>;  // As StoreView::Visitor.
  // All are borrowed.
  EntryWalk(const storage::Reader& reader, storage::QueueId queue, const Visitor& visit)
      : reader_(reader), queue_(queue), visit_(visit) {}

  Status Run(EntryStates states);

 private:
  Status VisitPending();
  Status VisitDelayed();
  Status VisitFailingOnly();
  Status VisitQuarantined();
  Status VisitChunk(std::unordered_set<std::string> chunk);
  bool JoinAndVisit(std::string_view key);

  const storage::Reader& reader_;
  const storage::QueueId queue_;
  const Visitor& visit_;
  bool join_failures_ = false;
  bool stopped_ = false;  // The visitor returned false.
  Status join_status_;    // Of the look-ups during a scan.
  Entry entry_;           // Reused: a row costs no allocation.
  std::string value_;
};

}  // namespace wq
