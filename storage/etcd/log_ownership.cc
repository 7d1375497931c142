// The store, the state, the ownership and the replicas of an EtcdLog.
#include <algorithm>
#include <utility>

#include "storage/etcd/answer.h"
#include "storage/etcd/log.h"
#include "storage/etcd/request.h"
#include "wq/keys.h"

namespace wq::etcd {
namespace {

using std::chrono::milliseconds;

Status CheckName(std::string_view name) {
  std::string read;
  return ReadName("", name, &read).ok()
             ? Status::Ok()
             : Status::InvalidArgument("the replica's name has " + std::to_string(name.size()) +
                                       " bytes; it must have 1 to 512");
}

}  // namespace

Status EtcdLog::Claim(std::string* uuid) {
  if (uuid->empty()) {
    return Status::InvalidArgument("the store's uuid is empty");
  }
  pb::TxnRequest txn;
  *txn.add_compare() = Missing(keys_.Store());
  Put(keys_.Store(), *uuid, txn.add_success());
  Get(keys_.Store(), txn.add_failure());
  pb::TxnResponse answer;
  if (Status s = client_->Txn(txn, client_->NewDeadline(), &answer); !s.ok()) {
    return s;
  }
  const pb::KeyValue* const store = answer.succeeded() ? nullptr : Found(answer, 0);
  return store == nullptr ? Status::Ok() : ReadName(store->key(), store->value(), uuid);
}

Status EtcdLog::State(LogState* state) {
  const Deadline deadline = client_->NewDeadline();
  bool again = true;
  Status s;
  for (int i = 0; again && i < 3; ++i) {
    LogState read;
    s = TryState(deadline, &read, &again);
    if (s.ok()) *state = std::move(read);
  }
  return s.code() == StatusCode::kNotFound ? Status::IOError(s.message()) : s;
}

Status EtcdLog::TryState(Deadline deadline, LogState* state, bool* again) {
  pb::TxnRequest txn;
  Get(keys_.Store(), txn.add_success());
  Get(keys_.Owner(), txn.add_success());
  Get(keys_.Successor(), txn.add_success());
  Get(keys_.First(), txn.add_success());
  Get(keys_.Checkpoint(), txn.add_success());
  GetAll(keys_.Replicas(), 0, false, txn.add_success());
  pb::TxnResponse answer;
  *again = false;
  Status s = client_->Txn(txn, deadline, &answer);
  if (s.ok()) s = ReadState(answer, state);
  if (!s.ok()) {
    return s;
  }
  // etcd reads the last key of a range only by reading all. So the last entry is known by how many
  // there are, which needs no reading; and the keys beyond are read to be sure.
  pb::RangeRequest entries;
  const KeyRange all = keys_.EntriesFrom(state->first);
  entries.set_key(all.begin);
  entries.set_range_end(all.end);
  entries.set_revision(answer.header().revision());
  entries.set_limit(1);
  entries.set_keys_only(true);
  pb::RangeResponse found;
  s = client_->Range(entries, deadline, &found);
  *again = s.code() == StatusCode::kNotFound;
  state->last = state->first + static_cast<LogSequence>(found.count()) - 1;
  if (!s.ok() || found.kvs_size() == 0) {
    return s;
  }
  std::vector<LogEntry> checked;
  s = TakeEntries(keys_, found, state->first, &checked);
  entries.set_key(keys_.Entry(state->last));
  if (s.ok()) s = client_->Range(entries, deadline, &found);
  *again = s.code() == StatusCode::kNotFound;
  if (s.ok()) s = TakeEntries(keys_, found, state->last, &checked);
  if (s.ok() && found.count() != 1) {
    s = DamagedKey(keys_.Entry(state->last + 1), "there are keys of no entry beside the log's");
  }
  return s;
}

Status EtcdLog::ReadState(const pb::TxnResponse& answer, LogState* state) const {
  if (const pb::KeyValue* store = Found(answer, 0)) {
    if (Status s = ReadName(store->key(), store->value(), &state->store_uuid); !s.ok()) {
      return s;
    }
  }
  Status s = ReadOwner(Found(answer, 1), &state->owner);
  if (s.ok()) s = ReadSuccessor(Found(answer, 2), &state->successor);
  if (s.ok()) s = ReadFirst(Found(answer, 3), &state->first);
  if (!s.ok()) {
    return s;
  }
  if (const pb::KeyValue* kv = Found(answer, 4)) {
    state->checkpoint.emplace();
    s = ReadCheckpoint(kv->key(), kv->value(), &*state->checkpoint);
  }
  for (const pb::KeyValue& kv : answer.responses(5).response_range().kvs()) {
    LogReplica& replica = state->replicas.emplace_back();
    if (s.ok()) s = keys_.ReadReplicaKey(kv.key(), &replica.name);
    if (s.ok()) s = ReadReplica(kv.key(), kv.value(), &replica);
  }
  return s;
}

std::vector<LogMember> EtcdLog::Members() { return client_->Members(); }

Status EtcdLog::Destroy(bool force) {
  const Deadline deadline = client_->NewDeadline();
  pb::RangeRequest store;
  store.set_key(keys_.Store());
  pb::RangeResponse now;
  if (Status s = client_->Range(store, deadline, &now); !s.ok()) {
    return s;
  }
  pb::TxnRequest txn;
  *txn.add_compare() = Missing(keys_.Owner());
  *txn.add_compare() =
      ChangedAt(keys_.Store(), now.kvs_size() == 0 ? 0 : now.kvs(0).mod_revision());
  if (!force) {
    *txn.add_compare() = AllMissing(keys_.Replicas());
  }
  DeleteAll(keys_.All(), txn.add_success());
  Get(keys_.Owner(), txn.add_failure());
  GetAll(keys_.Replicas(), 1, true, txn.add_failure());
  pb::TxnResponse answer;
  if (Status s = client_->Txn(txn, deadline, &answer); !s.ok() || answer.succeeded()) {
    return s;
  }
  if (const pb::KeyValue* owner = Found(answer, 0)) {
    return LockedBy(*owner);
  }
  if (const pb::KeyValue* replica = force ? nullptr : Found(answer, 1)) {
    std::string name;
    Status s = keys_.ReadReplicaKey(replica->key(), &name);
    return !s.ok() ? s : Status::Locked("the log has replicas, " + EscapeKey(name) + " among them");
  }
  // An earlier attempt of this call has deleted the log, or a store was made since it began.
  return now.kvs_size() != 0 ? Status::Ok()
                             : Status::IOError("a store was made while the log was to be deleted");
}

Status EtcdLog::LockedBy(const pb::KeyValue& owner) const {
  LogOwner read;
  if (Status s = ReadOwner(&owner, &read); !s.ok()) {
    return s;
  }
  return Status::Locked("the log's owner is " + EscapeKey(read.name) + ", in epoch " +
                        std::to_string(read.epoch));
}

Status EtcdLog::Acquire(std::string_view name, milliseconds lease, LogLease* owned) {
  if (Status s = CheckName(name); !s.ok()) {
    return s;
  }
  const Deadline deadline = client_->NewDeadline();
  if (Status s = RevokeAttempts(name, deadline); !s.ok()) {
    return s;
  }
  // Most calls come while there is an owner: they need no lease.
  pb::RangeRequest owner;
  owner.set_key(keys_.Owner());
  pb::RangeResponse now;
  if (Status s = client_->Range(owner, deadline, &now); !s.ok() || now.kvs_size() != 0) {
    return !s.ok() ? s : LockedBy(now.kvs(0));
  }
  const auto seconds = std::chrono::ceil<std::chrono::seconds>(lease).count();
  pb::LeaseGrantResponse granted;
  if (Status s = client_->GrantLease(std::max<int64_t>(seconds, 1), deadline, &granted); !s.ok()) {
    return s;  // If etcd has granted one, it ends by itself.
  }
  Status s = TakeOwnership(name, granted.id(), deadline, owned);
  if (s.ok()) {
    owned->id = granted.id();
    owned->ttl = std::chrono::seconds(granted.ttl());
  } else if (!client_->RevokeLease(granted.id(), deadline).ok() &&
             s.code() == StatusCode::kIOError) {
    const MutexLock lock(mu_);
    attempts_.push_back({std::string(name), granted.id()});
  }
  return s;
}

Status EtcdLog::RevokeAttempts(std::string_view name, Deadline deadline) {
  for (;;) {
    int64_t lease = 0;
    {
      const MutexLock lock(mu_);
      const auto of_name = [name](const Attempt& attempt) { return attempt.name == name; };
      const auto found = std::find_if(attempts_.begin(), attempts_.end(), of_name);
      if (found == attempts_.end()) {
        return {};
      }
      lease = found->lease;
    }
    if (Status s = client_->RevokeLease(lease, deadline); !s.ok()) {
      return s;
    }
    const MutexLock lock(mu_);
    std::erase_if(attempts_, [lease](const Attempt& attempt) { return attempt.lease == lease; });
  }
}

Status EtcdLog::TakeOwnership(std::string_view name, int64_t lease, Deadline deadline,
                              LogLease* owned) {
  pb::TxnRequest txn;
  *txn.add_compare() = Missing(keys_.Owner());
  PutWithLease(keys_.Owner(), name, lease, txn.add_success());
  pb::TxnRequest* const successor = txn.add_success()->mutable_request_txn();
  *successor->add_compare() = HasValue(keys_.Successor(), name);
  Delete(keys_.Successor(), successor->add_success());
  Get(keys_.Owner(), txn.add_failure());
  pb::TxnResponse answer;
  if (Status s = client_->Txn(txn, deadline, &answer); !s.ok()) {
    return s;
  }
  const pb::KeyValue* const owner = answer.succeeded() ? nullptr : Found(answer, 0);
  if (owner != nullptr && owner->lease() != lease) {
    return LockedBy(*owner);
  }
  // Else the transaction was sent twice, and the first has made us the owner.
  owned->epoch = static_cast<uint64_t>(owner == nullptr ? answer.header().revision()
                                                        : owner->create_revision());
  return {};
}

Status EtcdLog::Renew(LogLease* owned) {
  const Deadline deadline =
      std::chrono::steady_clock::now() +
      std::min(client_->options().request_timeout, std::max(owned->ttl / 3, milliseconds(100)));
  int64_t seconds = 0;
  if (Status s = client_->KeepLease(owned->id, deadline, &seconds); !s.ok()) {
    return s;
  }
  pb::RangeRequest owner;
  owner.set_key(keys_.Owner());
  pb::RangeResponse now;
  if (Status s = client_->Range(owner, deadline, &now); !s.ok()) {
    return s;
  }
  if (Status s = CheckOwner(owned->epoch, now.kvs_size() == 0 ? nullptr : &now.kvs(0)); !s.ok()) {
    return s;
  }
  if (seconds <= 0) {
    return Status::NotOwner("the lease of the ownership in epoch " + std::to_string(owned->epoch) +
                            " has run out");
  }
  owned->ttl = std::chrono::seconds(seconds);
  return {};
}

Status EtcdLog::Release(const LogLease& owned) {
  const Deadline deadline = client_->NewDeadline();
  pb::TxnRequest txn;
  AddGuard(owned.epoch, &txn);
  Delete(keys_.Owner(), txn.add_success());
  Status s = Guarded(owned.epoch, txn, deadline);
  if (!s.ok() && s.code() != StatusCode::kNotOwner) {
    return s;
  }
  // The ownership has ended. If the lease cannot be revoked, it runs out.
  s = owned.id == 0 ? Status::Ok() : client_->RevokeLease(owned.id, deadline);
  return {};
}

Status EtcdLog::SetSuccessor(std::string_view name) {
  pb::TxnRequest txn;
  if (name.empty()) {
    Delete(keys_.Successor(), txn.add_success());
  } else if (Status s = CheckName(name); !s.ok()) {
    return s;
  } else {
    Put(keys_.Successor(), name, txn.add_success());
  }
  pb::TxnResponse answer;
  return client_->Txn(txn, client_->NewDeadline(), &answer);
}

Status EtcdLog::PutReplica(const LogReplica& replica) {
  if (Status s = CheckName(replica.name); !s.ok()) {
    return s;
  }
  pb::TxnRequest txn;
  Put(keys_.Replica(replica.name), ReplicaText(replica), txn.add_success());
  pb::TxnResponse answer;
  return client_->Txn(txn, client_->NewDeadline(), &answer);
}

Status EtcdLog::RemoveReplica(std::string_view name) {
  if (Status s = CheckName(name); !s.ok()) {
    return s;
  }
  pb::TxnRequest txn;
  Delete(keys_.Replica(name), txn.add_success());
  pb::TxnResponse answer;
  if (Status s = client_->Txn(txn, client_->NewDeadline(), &answer); !s.ok()) {
    return s;
  }
  return answer.responses_size() == 1 && answer.responses(0).response_delete_range().deleted() > 0
             ? Status::Ok()
             : Status::NotFound("the log has no replica " + EscapeKey(name));
}

}  // namespace wq::etcd
