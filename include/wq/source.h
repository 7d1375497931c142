// Source: what feeds a queue with objects, and remembers in the store which state of each it has
// fed: so that a restarted controller, whose watch lists all objects anew, reconciles only what has
// changed or was deleted meanwhile.
//
//   wq::Source pods;
//   std::unique_ptr<wq::SourceList> list;
//   wq::Status s = queue->OpenSource("pods", &pods);
//   if (s.ok()) s = pods.BeginList({.scope = "ns=web", .fingerprint = kBuildId}, &list);
//   for (const Pod& p : cluster.List())  // Unchanged ones move nothing.
//     if (s.ok()) s = list->Observe({.object = p.name, .version = p.version, .keys = p.keys});
//   if (s.ok()) s = list->End();           // The rest was deleted.
//   for (const Event& e : cluster.Watch())
//     if (s.ok()) s = e.deleted ? pods.ObserveDeleted(e.name, e.keys) : pods.Observe({…});
//
// For each object of a source the store keeps a row: the version last seen, the keys that it
// added, and a tombstone. An observation adds its keys and writes the row in one atomic step, so a
// row never says that a change was seen whose Adds are lost. docs/sources.md has the table of what
// an observation does.
//
// Threading: thread-safe; a SourceList takes one call at a time, from any thread, beside the calls
// of its Source. The order of two observations of one object is that of the calls. Lifetime: within
// the queue's.
// A crash: what survives is a prefix of the calls; a list that has not ended is begun anew. At
// worst an object is reconciled once more. So an observation that returned NotDurable, which may
// not have been made, is repeated once the store is well again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "wq/options.h"
#include "wq/queue.h"
#include "wq/status.h"

namespace wq {

// What an object may have; more is refused with InvalidArgument.
inline constexpr size_t kMaxObjectBytes = 4096;
inline constexpr size_t kMaxVersionBytes = 128;
inline constexpr size_t kMaxTombstoneBytes = 4096;
inline constexpr size_t kMaxObjectKeys = 1000;
inline constexpr size_t kMaxObjectKeysBytes = size_t{64} << 10;  // Of all its keys.
inline constexpr size_t kMaxSources = 1000;                      // Of a queue.

// A row: an object as it was last seen.
struct SeenObject {
  std::string object;
  std::string version;
  std::vector<std::string> keys;
  std::string tombstone;
};

struct Observation {
  std::string_view object;  // Any bytes, at least one: "namespace/name".
  // Any bytes that differ when the object does, such as its uid and resourceVersion. Default:
  // empty, the object counts as changed.
  std::string_view version = {};
  // The keys to reconcile, such as that of its owner. Those of the observation before that are not
  // among them are added, too, once. Of an object whose version has not changed only those are
  // added that are new, or are no more.
  std::span<const std::string_view> keys = {};
  // What the caller needs to know of the object once it is deleted: see SeenObject. Kept with a
  // change; an unchanged object keeps the tombstone that it has.
  std::string_view tombstone = {};
  // The caller does not want this change reconciled: its version is recorded, and nothing is
  // added, not the keys of the row either. But if a change before it may have been missed, an empty
  // version is recorded, so that the next list does not pass the object over, and the keys of the
  // row stay beside these (alone, if a row cannot have so many): if the object was not observed
  // unfiltered before; if an observation of it was refused since, or has not returned yet; or if
  // it was not seen since the queue was opened or the list began, and has not the version of its
  // row. Filtered once more, it is unchanged if its keys and its tombstone are.
  // Without `keys` those of the row stay, and so does its tombstone unless one is given; that costs
  // a read of the row, unless a tombstone is given and the row's keys are the object or none.
  // Default: off.
  bool filtered = false;
  // Not null: asks what a changed object was. If the observation would change the object's row,
  // and its version is not that of the row, or both are empty and the tombstones differ, this
  // becomes the row, and nothing is done, as if the observation were refused. Otherwise its
  // `object` becomes empty, and the observation is made. So a caller whose mapping reads other
  // objects can map what the object was, too: it adds those keys by Queue::AddBatch, and observes
  // the object again without this. Default: null.
  SeenObject* before = nullptr;
};

struct ObserveResult {
  bool changed = false;  // Otherwise nothing was done.
  size_t added = 0;      // Of the keys, by AddOutcome.
  size_t deduplicated = 0;
  size_t held = 0;
};

struct ListOptions {
  // What the list covers: cluster, kind, namespaces, selector. A row of another scope counts as
  // changed, and is no deletion if its object is not listed. Any bytes. Default: empty.
  std::string_view scope = {};
  // What the caller's code is. A row of another fingerprint counts as changed: so a new fingerprint
  // asks for a full pass. Any bytes. Default: empty.
  std::string_view fingerprint = {};
};

struct SourceInfo {
  std::string name = {};
  size_t objects = 0;
  uint64_t unchanged = 0;  // Observations since the queue was opened,
  uint64_t changed = 0;    // filtered ones too,
  uint64_t deleted = 0;    // and deletions.
};

class SourceList {
 public:
  ~SourceList();  // Without End: nothing is taken for deleted.
  SourceList(const SourceList&) = delete;
  SourceList& operator=(const SourceList&) = delete;

  // Each call returns InvalidArgument once the list has ended, a later BeginList of the source has
  // superseded it, or the source was removed.

  // As Source::Observe, of an object that is there. Of one that is unchanged, nothing moves,
  // whatever state its keys are in. An object whose observation is refused is no deletion.
  Status Observe(const Observation& observation, const AddOptions& options = {},
                 ObserveResult* result = nullptr);
  // Returns the next object of this scope that was neither listed nor observed since BeginList. The
  // caller may map it to more keys than the row has, and pass them to ObserveDeleted; End does the
  // rest. NotFound: there is no other. Blocks: for reading rows.
  Status NextDeleted(SeenObject* deleted);
  // As Source::ObserveDeleted, of an object of NextDeleted. Does nothing if it was observed
  // meanwhile: then it is there again.
  Status ObserveDeleted(std::string_view object, std::span<const std::string_view> keys = {},
                        const AddOptions& options = {}, ObserveResult* result = nullptr);
  // Ends the list: of what NextDeleted would return still, the keys are added, and the rows erased.
  // Rows of another scope are erased. After an error the list goes on, and End may be repeated.
  // Blocks: for reading rows.
  Status End(const AddOptions& options = {});

 private:
  friend class Source;
  struct Impl;
  explicit SourceList(std::unique_ptr<Impl> rep);
  std::unique_ptr<Impl> impl_;
};

// A handle: cheap to copy.
class Source {
 public:
  Source() = default;  // For OpenSource only.

  // Records that the object is as the observation says, and adds its keys, unless it is unchanged:
  // its version is not empty and is that of its row, and so are its keys, and the source's
  // fingerprint and scope.
  //   InvalidArgument  a bound is exceeded, or a key or the options are refused.
  //   Full             the queue has no room for all of the keys; for more than its bound there is
  //                    room once nothing is pending.
  //   NotFound         the source was removed.
  // After any of these no key was added, and the row is as before: repeat the observation, or the
  // change is missed until the next, or the next list. NotDurable: see above.
  // Blocks: as Queue::Add; and for reading the row if the keys are others, if the observation is
  // filtered and has none, or for `before` (see there).
  Status Observe(const Observation& observation, const AddOptions& options = {},
                 ObserveResult* result = nullptr);
  // Adds these keys and those of the row, and erases the row. Errors as Observe.
  Status ObserveDeleted(std::string_view object, std::span<const std::string_view> keys = {},
                        const AddOptions& options = {}, ObserveResult* result = nullptr);
  // Begins a list of all objects. A source has one list at a time: the one before is superseded.
  // Observations from now on have this scope and fingerprint.
  Status BeginList(const ListOptions& options, std::unique_ptr<SourceList>* list);

 private:
  friend class Queue;
  friend class SourceList;
  Queue::Impl* queue_ = nullptr;
  std::string name_;
};

}  // namespace wq
