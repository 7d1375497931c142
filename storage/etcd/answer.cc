#include "storage/etcd/answer.h"

namespace wq::etcd {

Status TakeEntries(const Keys& keys, const pb::RangeResponse& range, LogSequence next,
                   std::vector<LogEntry>* entries) {
  for (const pb::KeyValue& kv : range.kvs()) {
    LogSequence sequence = 0;
    if (Status s = keys.ReadEntryKey(kv.key(), &sequence); !s.ok()) {
      return s;
    }
    if (sequence != next) {
      return DamagedKey(keys.Entry(next), "this entry is missing, and later ones are there");
    }
    if (kv.value().size() > kMaxLogEntryBytes) {
      return DamagedKey(kv.key(), "it is longer than an entry");
    }
    entries->push_back({sequence, kv.value()});
    ++next;
  }
  return {};
}

Status ReadFirst(const pb::KeyValue* kv, LogSequence* first) {
  *first = 1;
  return kv == nullptr ? Status::Ok() : ReadSequence(kv->key(), kv->value(), first);
}

Status ReadOwner(const pb::KeyValue* kv, LogOwner* owner) {
  *owner = {};
  if (kv == nullptr) {
    return {};
  }
  owner->epoch = static_cast<uint64_t>(kv->create_revision());
  return ReadName(kv->key(), kv->value(), &owner->name);
}

Status ReadSuccessor(const pb::KeyValue* kv, std::string* successor) {
  successor->clear();
  return kv == nullptr ? Status::Ok() : ReadName(kv->key(), kv->value(), successor);
}

}  // namespace wq::etcd
