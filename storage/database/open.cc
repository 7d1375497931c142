#include "storage/open.h"

#include <utility>

#include "storage/check/open_check.h"
#include "storage/database/own_directory.h"
#include "storage/database/owner_database.h"
#include "storage/database/reader_database.h"
#include "storage/records.h"
#include "storage/store_directory.h"

namespace wq::storage {
namespace {

// REQUIRES: `dir` has no slash at its end.
Status OpenOwned(const std::string& dir, const OpenOptions& options,
                 std::unique_ptr<Storage>* storage) {
  DirectoryInfo found;
  std::unique_ptr<OwnerLock> owner;
  Status status = OwnDirectory(dir, options, &found, &owner);
  if (!status.ok()) return status;
  auto opened = std::make_unique<OwnerDatabase>(dir, options);
  status = opened->Open(found, std::move(owner));
  if (status.ok()) *storage = std::move(opened);
  return status;
}

// As the directory's owner: two processes that open it at once must not propose two uuids.
// REQUIRES: `dir` has no slash at its end.
Status ProposeIn(const std::string& dir, std::string* uuid) {
  DirectoryInfo found;
  std::unique_ptr<OwnerLock> owner;
  Status status =
      OwnDirectory(dir, {.create_if_missing = true, .replicated = true}, &found, &owner);
  if (!status.ok()) return status;
  if (found.state == DirectoryState::kStore) {
    owner->Withdraw();
    return Status::Locked("another process has just made a store of " + dir);
  }
  status = ReadClaim(dir, uuid);
  if (status.code() != StatusCode::kNotFound) return status;
  *uuid = NewUuid();
  status = WriteClaim(dir, *uuid);
  if (!status.ok()) owner->Withdraw();
  return status;
}

// REQUIRES: `dir` has no slash at its end.
Status RenewDirectory(const std::string& dir, int64_t now_us) {
  DirectoryInfo found;
  std::unique_ptr<OwnerLock> owner;
  const OpenOptions options = {.now_us = now_us, .replicated = true, .being_made = true};
  Status status = OwnDirectory(dir, options, &found, &owner);
  if (!status.ok()) return status;
  OwnerDatabase opened(dir, options);
  status = opened.Open(found, std::move(owner));
  const StoreRecord record = {kFormatVersion, NewUuid(), now_us};
  if (status.ok()) status = opened.Renew(record);
  if (status.ok()) status = opened.Close();
  return status.ok() ? WriteFormat(dir, {record.format_version, record.uuid}) : status;
}

// REQUIRES: `dir` has no slash at its end.
Status OpenReaderIn(const std::string& dir, std::unique_ptr<Reader>* reader) {
  DirectoryInfo found;
  Status status = InspectDirectory(dir, &found);
  if (!status.ok()) return status;
  if (!found.IsWholeStore()) {
    if (found.state == DirectoryState::kUnfinished && !found.is_being_made)
      status = CheckUnfinished(dir, found);
    return status.ok() ? NotAStore(dir, found) : status;
  }
  std::unique_ptr<Reader> opened;
  status = OpenDatabaseReader(dir, found.format.uuid, &opened);
  StoreRecord record;
  if (status.ok()) {
    status = CheckStoreRecord(dir, GetStore(*opened, &record), record, found.format);
  }
  if (status.ok()) *reader = std::move(opened);
  return status;
}

}  // namespace

Status RenewStore(const std::string& dir, int64_t now_us) {
  return RenewDirectory(WithoutTrailingSlashes(dir), now_us);
}

Status OpenStorage(const std::string& dir, const OpenOptions& options,
                   std::unique_ptr<Storage>* storage) {
  const std::string path = WithoutTrailingSlashes(dir);
  return Refused(path, OpenOwned(path, options, storage));
}

Status ProposeStore(const std::string& dir, std::string* uuid) {
  const std::string path = WithoutTrailingSlashes(dir);
  return Refused(path, ProposeIn(path, uuid));
}

Status OpenReader(const std::string& dir, std::unique_ptr<Reader>* reader) {
  const std::string path = WithoutTrailingSlashes(dir);
  return Refused(path, OpenReaderIn(path, reader));
}

}  // namespace wq::storage
