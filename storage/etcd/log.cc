// The entries and checkpoints of an EtcdLog.
#include "storage/etcd/log.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "storage/etcd/answer.h"
#include "storage/etcd/follower.h"
#include "storage/etcd/request.h"
#include "wq/keys.h"

namespace wq::etcd {

EtcdLog::EtcdLog(std::shared_ptr<Client> client)
    : client_(std::move(client)), keys_(client_->options().prefix) {}

std::string EtcdLog::Name() const {
  std::string endpoints;
  for (const std::string& endpoint : client_->options().endpoints) {
    endpoints += (endpoints.empty() ? "" : ",") + endpoint;
  }
  return "etcd " + endpoints + " " + EscapeKey(client_->options().prefix, 512);
}

void EtcdLog::AddGuard(uint64_t epoch, pb::TxnRequest* txn) const {
  *txn->add_compare() = CreatedAt(keys_.Owner(), static_cast<int64_t>(epoch));
  Get(keys_.Owner(), txn->add_failure());
}

Status EtcdLog::CheckOwner(uint64_t epoch, const pb::KeyValue* owner) const {
  if (owner != nullptr && static_cast<uint64_t>(owner->create_revision()) == epoch) {
    return {};
  }
  return Status::NotOwner("the ownership of the log in epoch " + std::to_string(epoch) +
                          " has ended; " +
                          (owner == nullptr ? std::string("nobody owns it now")
                                            : "its owner is " + EscapeKey(owner->value())));
}

Status EtcdLog::Guarded(uint64_t epoch, const pb::TxnRequest& txn, Deadline deadline,
                        pb::TxnResponse* answer) {
  if (epoch == 0) {
    return Status::NotOwner("no ownership has the epoch 0");
  }
  pb::TxnResponse unused;
  pb::TxnResponse& got = answer == nullptr ? unused : *answer;
  if (Status s = client_->Txn(txn, deadline, &got); !s.ok()) {
    return s;
  }
  return got.succeeded() ? Status::Ok() : CheckOwner(epoch, Found(got, 0));
}

Status EtcdLog::Append(uint64_t epoch, LogSequence sequence, std::string_view bytes) {
  if (bytes.size() > kMaxLogEntryBytes || sequence == 0) {
    return Status::InvalidArgument("the entry " + std::to_string(sequence) + " has " +
                                   std::to_string(bytes.size()) + " bytes");
  }
  const std::string key = keys_.Entry(sequence);
  pb::TxnRequest txn;
  AddGuard(epoch, &txn);
  *txn.add_compare() = Missing(key);
  Put(key, bytes, txn.add_success());
  Get(key, txn.add_failure());
  Get(keys_.First(), txn.add_failure());
  pb::TxnResponse answer;
  Status s = Guarded(epoch, txn, client_->NewDeadline(), &answer);
  if (answer.succeeded() || (!s.ok() && s.code() != StatusCode::kNotOwner) || epoch == 0) {
    return s;
  }
  // An entry has its epoch in its bytes: equal ones are of this call, or of one that it repeats.
  const pb::KeyValue* const entry = Found(answer, 1);
  if (entry != nullptr && entry->value() == bytes) {
    return {};
  }
  if (s.ok()) {
    return Status::Corruption("the key " + EscapeKey(key) + " of etcd is another entry " +
                              std::to_string(sequence) + " than the one that is appended");
  }
  LogSequence first = 1;
  if (Status read = ReadFirst(Found(answer, 2), &first); !read.ok()) {
    return read;
  }
  return sequence >= first ? s
                           : Status::IOError("whether entry " + std::to_string(sequence) +
                                             " was appended is unknown: the log is truncated up "
                                             "to it, and " +
                                             s.message());
}

Status EtcdLog::EraseFrom(uint64_t epoch, LogSequence sequence) {
  pb::TxnRequest txn;
  AddGuard(epoch, &txn);
  // The epoch is the revision that made this ownership: later entries are its own. So a request
  // that comes again, however late, erases none of them.
  *txn.add_compare() = AllChangedUntil(keys_.EntriesFrom(sequence), static_cast<int64_t>(epoch));
  DeleteAll(keys_.EntriesFrom(sequence), txn.add_success());
  return Guarded(epoch, txn, client_->NewDeadline());
}

Status EtcdLog::Truncate(uint64_t epoch, LogSequence sequence) {
  const Deadline deadline = client_->NewDeadline();
  LogState state;
  if (Status s = State(&state); !s.ok()) {
    return s;
  }
  if (state.owner.epoch != epoch || epoch == 0) {
    return Status::NotOwner("the ownership of the log in epoch " + std::to_string(epoch) +
                            " has ended");
  }
  const LogSequence first = std::min(sequence, state.last + 1);
  if (first <= state.first) {
    return CompactTruncated(deadline);
  }
  pb::TxnRequest txn;
  AddGuard(epoch, &txn);
  // `first` only grows. So if it is what State has read, its key has not changed since.
  *txn.add_compare() = state.first == 1 ? Missing(keys_.First())
                                        : HasValue(keys_.First(), std::to_string(state.first));
  Put(keys_.First(), std::to_string(first), txn.add_success());
  DeleteAll(keys_.EntriesBefore(first), txn.add_success());
  pb::TxnResponse answer;
  if (Status s = Guarded(epoch, txn, deadline, &answer); !s.ok()) {
    return s;
  }
  // If it is not made, another call has truncated, or an earlier attempt of this one.
  to_compact_ = answer.header().revision();
  return CompactTruncated(deadline);
}

Status EtcdLog::CompactTruncated(Deadline deadline) {
  int64_t revision = to_compact_;
  if (revision == 0 || !client_->options().compact) {
    return {};
  }
  Status s = client_->Compact(revision, deadline);
  if (s.ok()) {
    to_compact_.compare_exchange_strong(revision, 0);
  }
  return s;
}

Status EtcdLog::Read(LogSequence sequence, size_t max_bytes, std::vector<LogEntry>* entries) {
  const size_t before = entries->size();
  size_t bytes = 0;
  for (LogSequence next = sequence;;) {
    pb::TxnRequest txn;
    Get(keys_.First(), txn.add_success());
    GetAll(keys_.EntriesFrom(next), kPageEntries, false, txn.add_success());
    pb::TxnResponse answer;
    LogSequence first = 1;
    Status s = client_->Txn(txn, client_->NewDeadline(), &answer);
    if (s.ok()) s = ReadFirst(Found(answer, 0), &first);
    if (s.ok() && next < first) {
      s = next != sequence
              ? Status::Ok()  // The first page is good.
              : Status::NotFound("entry " + std::to_string(sequence) +
                                 " was truncated; the first is " + std::to_string(first));
      if (s.ok()) return s;
    }
    const size_t page = entries->size();
    if (s.ok()) s = TakeEntries(keys_, answer.responses(1).response_range(), next, entries);
    if (!s.ok()) {
      entries->resize(before);
      return s;
    }
    for (size_t i = page; i < entries->size(); ++i) {
      bytes += (*entries)[i].bytes.size();
      if (bytes > max_bytes) {
        entries->resize(i + 1);
        return {};
      }
    }
    next += entries->size() - page;
    if (!answer.responses(1).response_range().more()) {
      return {};
    }
  }
}

std::unique_ptr<LogFollower> EtcdLog::Follow(LogSequence sequence) {
  return std::make_unique<Follower>(client_, keys_, sequence);
}

Status EtcdLog::PutCheckpointPart(uint64_t epoch, std::string_view id, uint64_t index,
                                  std::string_view bytes) {
  if (!IsCheckpointId(id) || bytes.size() > kMaxLogEntryBytes) {
    return Status::InvalidArgument("the part " + std::to_string(index) + " of the checkpoint \"" +
                                   EscapeKey(id) + "\" has " + std::to_string(bytes.size()) +
                                   " bytes; an id has 1 to 128 bytes, and no slash");
  }
  if (index == 0) {
    if (Status s = EraseAbandonedParts(epoch, id); !s.ok()) {
      return s;
    }
  }
  pb::TxnRequest txn;
  AddGuard(epoch, &txn);
  Put(keys_.Part(id, index), bytes, txn.add_success());
  return Guarded(epoch, txn, client_->NewDeadline());
}

// Each attempt at a checkpoint has an id of its own: what failed would pile up until one succeeds,
// and with etcd's quota full none can. Only parts that were there at the reading are erased: so a
// request that comes late, while a later checkpoint is being made, erases nothing of that.
Status EtcdLog::EraseAbandonedParts(uint64_t epoch, std::string_view id) {
  const Deadline deadline = client_->NewDeadline();
  pb::RangeRequest present;
  present.set_key(keys_.Checkpoint());
  pb::RangeResponse now;
  LogCheckpoint kept{.id = std::string(id)};
  Status s = client_->Range(present, deadline, &now);
  const pb::KeyValue* const kv = s.ok() && now.kvs_size() != 0 ? &now.kvs(0) : nullptr;
  if (kv != nullptr) s = ReadCheckpoint(kv->key(), kv->value(), &kept);
  if (!s.ok()) {
    return s;
  }
  const std::string_view kept_id = kept.id;
  const auto [low, high] =
      keys_.Part(id, 0) < keys_.Part(kept_id, 0) ? std::pair(id, kept_id) : std::pair(kept_id, id);
  std::vector<KeyRange> others = {keys_.PartsOfSmallerIds(low), keys_.PartsOfLargerIds(high)};
  if (low != high) {
    others.push_back({keys_.PartsOfLargerIds(low).begin, keys_.PartsOfSmallerIds(high).end});
  }
  pb::TxnRequest txn;
  AddGuard(epoch, &txn);
  *txn.add_compare() = ChangedAt(keys_.Checkpoint(), kv == nullptr ? 0 : kv->mod_revision());
  for (const KeyRange& parts : others) {
    *txn.add_compare() = AllChangedUntil(parts, now.header().revision());
    DeleteAll(parts, txn.add_success());
  }
  return Guarded(epoch, txn, deadline);
}

Status EtcdLog::CommitCheckpoint(uint64_t epoch, const LogCheckpoint& checkpoint) {
  if (!IsCheckpointId(checkpoint.id)) {
    return Status::InvalidArgument("the checkpoint's id \"" + EscapeKey(checkpoint.id) +
                                   "\" has not 1 to 128 bytes without a slash");
  }
  const Deadline deadline = client_->NewDeadline();
  const std::string text = CheckpointText(checkpoint);
  pb::RangeRequest present;
  present.set_key(keys_.Checkpoint());
  pb::RangeResponse now;
  if (Status s = client_->Range(present, deadline, &now); !s.ok()) {
    return s;
  }
  LogCheckpoint log_has;
  if (now.kvs_size() != 0) {
    if (Status s = ReadCheckpoint(now.kvs(0).key(), now.kvs(0).value(), &log_has); !s.ok()) {
      return s;
    }
  }
  if (log_has.id == checkpoint.id) {
    return {};  // This call repeats another.
  }
  pb::TxnRequest txn;
  AddGuard(epoch, &txn);
  if (log_has.sequence > checkpoint.sequence) {  // So does this one, after a later checkpoint.
    return Guarded(epoch, txn, deadline);
  }
  *txn.add_compare() =
      ChangedAt(keys_.Checkpoint(), now.kvs_size() == 0 ? 0 : now.kvs(0).mod_revision());
  Put(keys_.Checkpoint(), text, txn.add_success());
  DeleteAll(keys_.PartsOfSmallerIds(checkpoint.id), txn.add_success());
  DeleteAll(keys_.PartsOfLargerIds(checkpoint.id), txn.add_success());
  Get(keys_.Checkpoint(), txn.add_failure());
  pb::TxnResponse answer;
  Status s = Guarded(epoch, txn, deadline, &answer);
  const bool made = answer.succeeded();
  const pb::KeyValue* const found = made || !s.ok() ? nullptr : Found(answer, 1);
  if (s.ok() && !made && (found == nullptr || found->value() != text)) {
    s = Status::IOError("another checkpoint was committed at the same time");
  }
  return s;
}

Status EtcdLog::ReadCheckpointPart(std::string_view id, uint64_t index, std::string* bytes) {
  pb::TxnRequest txn;
  Get(keys_.Part(id, index), txn.add_success());
  Get(keys_.Checkpoint(), txn.add_success());
  pb::TxnResponse answer;
  if (Status s = client_->Txn(txn, client_->NewDeadline(), &answer); !s.ok()) {
    return s;
  }
  if (const pb::KeyValue* part = Found(answer, 0)) {
    *bytes = part->value();
    return {};
  }
  LogCheckpoint present;
  if (const pb::KeyValue* kv = Found(answer, 1)) {
    if (Status s = ReadCheckpoint(kv->key(), kv->value(), &present); !s.ok()) {
      return s;
    }
  }
  if (present.id == id && index < present.parts) {
    return DamagedKey(keys_.Part(id, index), "this part of the checkpoint is missing");
  }
  return Status::NotFound("the checkpoint " + EscapeKey(id) + " is not the log's, or has no part " +
                          std::to_string(index));
}

}  // namespace wq::etcd
