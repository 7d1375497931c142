#include "storage/open.h"
#include "storage/records.h"
#include "storage/store_directory.h"
#include "wq/clock.h"
#include "wq/store.h"

namespace wq {
namespace {

// One batch: what was ahead of the log, and the end of the replica.
Status Detach(const std::string& dir, storage::Storage* storage) {
  storage::ReplicationRecord position;
  Status status = storage::GetReplication(*storage, &position);
  if (status.code() == StatusCode::kNotFound) {
    return Status::InvalidArgument(dir + " is not a replica");
  }
  if (status.ok() && !position.seeded) {
    return Status::InvalidArgument(dir + " is a replica that is not complete yet");
  }
  if (!status.ok()) {
    return status;
  }
  if (status = storage::RemoveClaim(dir); !status.ok()) {
    return status;
  }
  storage::MutationBatch batch;
  status = storage::EndReplica(*storage, &batch);
  return status.ok() ? storage->Write(batch, /*sync=*/true) : status;
}

}  // namespace

Status DetachReplica(const std::string& dir) {
  std::unique_ptr<storage::Storage> storage;
  if (Status s = storage::OpenStorage(
          dir, {.now_us = Clock::System()->WallUs(), .replicated = true}, &storage);
      !s.ok()) {
    return s;
  }
  Status status = Detach(dir, storage.get());
  Status closed = storage->Close();
  return status.ok() ? closed : storage::Refused(dir, status);
}

}  // namespace wq
