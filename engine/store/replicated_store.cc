// Store::Impl: opening a store, as a replica or alone, and its ownerships.

#include "engine/store/store_impl.h"

#include <algorithm>
#include <utility>

#include "base/names.h"
#include "base/resources.h"
#include "engine/store/opened_store.h"
#include "storage/open.h"
#include "storage/records.h"
#include "storage/store_directory.h"

namespace wq {

Store::Impl::Impl(const StoreOptions& store_options, std::string store_dir)
    : options(store_options),
      dir(std::move(store_dir)),
      clock(store_options.clock == nullptr ? Clock::System() : store_options.clock) {}

Store::Impl::~Impl() = default;

Status Store::Impl::CheckProcess() const {
  return process.Forked()
             ? Status::Locked("the store belongs to process " + std::to_string(process.pid()) +
                              ", from which this one was forked")
             : Status::Ok();
}

Status Store::Impl::Current(std::shared_ptr<Opened>* opened) const {
  if (Status s = CheckProcess(); !s.ok()) {
    return s;
  }
  {
    const MutexLock lock(mu);
    *opened = current;
    if (current != nullptr) {
      return {};
    }
    if (closed) {
      return Status::ShuttingDown("the store is closed");
    }
  }
  const std::string owner = replica->State().owner_name;
  return Status::NotOwner("replica '" + options.replication->name + "' does not own the store: " +
                          (owner.empty() ? "nobody does" : "'" + owner + "' does"));
}

Status Store::Impl::Open(const StoreOptions& options, const std::string& dir,
                         std::unique_ptr<storage::Storage> storage, std::unique_ptr<Store>* store) {
  store->reset();
  auto impl = std::make_unique<Impl>(options, dir);
  std::shared_ptr<Opened> opened;
  if (Status s = Opened::Open(options, dir, std::move(storage), nullptr, &opened); !s.ok()) {
    return s;
  }
  impl->uuid = opened->uuid;
  {
    const MutexLock lock(impl->mu);
    impl->current = std::move(opened);
  }
  store->reset(new Store(std::move(impl)));
  return {};
}

// --- Opening a replica ---

Status Store::Impl::OpenStorage(bool create, const std::string& store_uuid) {
  return storage::OpenStorage(dir,
                              {.create_if_missing = create,
                               .error_if_exists = options.error_if_exists,
                               .max_wal_bytes = options.max_wal_bytes,
                               .write_buffer_bytes = options.write_buffer_bytes,
                               .process_log_bytes = options.process_log_bytes,
                               .now_us = clock->WallUs(),
                               .uuid = store_uuid,
                               .replicated = options.replication.has_value()},
                              &base);
}

// What is on disk, and what a kill there leaves to the next opening:
//   1. The directory, with CLAIM: the uuid that this store is to have if the log is no store's yet.
//   2. The log is claimed for it, or is another store's.
//   3. An empty store of the log's uuid. It founds the log if that is CLAIM's.
//   4. The store is a replica: seeded if it founds the log, otherwise to be seeded.
//   5. CLAIM is removed.
// A store that exists begins with 3, without CLAIM: it can only be the first replica of a log.
Status Store::Impl::OpenCopy() {
  storage::DirectoryInfo found;
  Status status = storage::InspectDirectory(dir, &found);
  if (status.ok() && found.state != storage::DirectoryState::kStore) {
    status = MakeStore(&found);
  } else if (status.ok()) {
    status = OpenStorage(false, "");
  }
  if (!status.ok()) {
    return status;
  }
  uuid = found.format.uuid;
  copy = std::make_unique<storage::LocalReplica>(base.get());
  status = copy->Load();
  if (status.code() == StatusCode::kNotFound) {
    status = BeginCopy();
  }
  if (!status.ok()) {
    return storage::Refused(dir, status);
  }
  return storage::RemoveClaim(dir);
}

Status Store::Impl::MakeStore(storage::DirectoryInfo* found) {
  if (!options.create_if_missing) {
    return storage::NotAStore(dir, *found);
  }
  std::string store_uuid;
  if (Status s = storage::ProposeStore(dir, &store_uuid); !s.ok()) {
    return s;
  }
  // Before the store: the store of a directory keeps its uuid.
  if (Status s = options.replication->log->Claim(&store_uuid); !s.ok()) {
    return s;
  }
  if (Status s = OpenStorage(true, store_uuid); !s.ok()) {
    return s;
  }
  return storage::InspectDirectory(dir, found);
}

Status Store::Impl::BeginCopy() {
  std::string proposed = uuid;
  if (Status s = storage::ReadClaim(dir, &proposed); !s.ok() && s.code() != StatusCode::kNotFound) {
    return s;
  }
  if (proposed != uuid) {
    return copy->Begin(/*seeded=*/false);  // The log was another store's, and this is a copy of it.
  }
  ReplicatedLog& log = *options.replication->log;
  std::string claimed = uuid;
  if (Status s = log.Claim(&claimed); !s.ok()) {
    return s;
  }
  LogState state;
  if (Status s = log.State(&state); !s.ok()) {
    return s;
  }
  if (claimed != uuid || state.last != 0 || state.checkpoint.has_value()) {
    return Status::InvalidArgument(dir + " is store " + uuid + " and no replica, and " +
                                   log.Name() + " is the log of store " + claimed +
                                   " already: a replica begins in a new directory");
  }
  return copy->Begin(/*seeded=*/true);
}

Status Store::Impl::OpenReplica() {
  const Replication& replication = *options.replication;
  if (replication.log == nullptr) {
    return Status::InvalidArgument("replication has no log");
  }
  if (Status s = CheckName("replica", replication.name); !s.ok()) {
    return s;
  }
  if (replication.lease.count() < 100 || replication.lease_margin.count() < 0 ||
      replication.lease_margin >= replication.lease / 2) {
    return Status::InvalidArgument(
        "a lease of " + std::to_string(replication.lease.count()) + " ms with a margin of " +
        std::to_string(replication.lease_margin.count()) +
        " ms: the lease is at least 100 ms, and the margin less than a half of it");
  }
  if (Status s = OpenCopy(); !s.ok()) {
    if (base != nullptr) {
      static_cast<void>(base->Close());
    }
    return s;
  }
  replica = std::make_unique<ReplicaNode>(copy.get(), this, replication, uuid, clock);
  replica->Start();
  opened_at_us = clock->WallUs();
  metrics = ReplicaMetrics::Make(options.metrics, dir, [this] { return ReadGauges(); });
  return {};
}

uint64_t Store::Impl::Epoch() const {
  std::shared_ptr<Opened> opened;
  if (!Current(&opened).ok()) {
    return 0;
  }
  if (opened->fence == nullptr) {
    return 1;
  }
  return opened->fence->Holds() ? opened->fence->epoch() : 0;
}

ReplicaState Store::Impl::Replica() const {
  ReplicaState state;
  if (replica != nullptr && !process.Forked()) {
    state = replica->State();
  }
  state.epoch = Epoch();
  state.owner = state.epoch != 0;
  if (state.owner && replica != nullptr) {
    state.owner_name = options.replication->name;
  }
  return state;
}

ReplicaReading Store::Impl::ReadGauges() const {
  const ReplicaState state = Replica();
  const int64_t had_all_us = state.applied_at_us == 0 ? opened_at_us : state.applied_at_us;
  const int64_t behind_us = clock->WallUs() - had_all_us;
  return {.owner = state.owner,
          .epoch = state.epoch,
          .applied = state.applied,
          .log_reachable = state.log.ok(),
          .seconds_behind = static_cast<double>(std::max<int64_t>(behind_us, 0)) / 1e6};
}

// --- Ownerships ---

Status Store::Impl::BeginOwnership(std::unique_ptr<storage::Storage> storage,
                                   std::shared_ptr<const Fence> fence) {
  std::shared_ptr<Opened> opened;
  Status status = WithResources(dir, [&] {
    return Opened::Open(options, dir, std::move(storage), std::move(fence), &opened);
  });
  if (!status.ok()) {
    return status;
  }
  const MutexLock lock(mu);
  current = std::move(opened);
  return {};
}

void Store::Impl::OwnershipBegan(uint64_t epoch) {
  if (options.replication->on_leadership != nullptr) {
    options.replication->on_leadership({.owner = true, .epoch = epoch});
  }
}

Status Store::Impl::EndOwnership(const Status& why) {
  std::shared_ptr<Opened> opened;
  {
    const MutexLock lock(mu);
    opened = current;
  }
  return opened == nullptr ? Status::Ok() : opened->Close(why);
}

void Store::Impl::OwnershipEnded(uint64_t epoch, const Status& why) {
  std::shared_ptr<Opened> opened;
  {
    const MutexLock lock(mu);
    opened = std::move(current);
    current = nullptr;
    past.push_back(opened);
  }
  opened->FreeKeys();
  if (options.replication->on_leadership != nullptr) {
    options.replication->on_leadership({.owner = false, .epoch = epoch, .why = why.message()});
  }
}

Status Store::Impl::CloseReplica() {
  const MutexLock closing(close_mu);
  if (std::exchange(replica_closed, true)) {
    return close_status;
  }
  metrics.reset();
  close_status = replica->Stop();
  {
    const MutexLock lock(mu);
    closed = true;
  }
  Status base_status = base->Close();
  if (close_status.ok()) {
    close_status = std::move(base_status);
  }
  return close_status;
}

}  // namespace wq
