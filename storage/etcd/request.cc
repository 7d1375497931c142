#include "storage/etcd/request.h"

#include <utility>

namespace wq::etcd {
namespace {

pb::Compare Of(std::string key, pb::Compare::CompareTarget target) {
  pb::Compare compare;
  compare.set_key(std::move(key));
  compare.set_target(target);
  compare.set_result(pb::Compare::EQUAL);
  return compare;
}

}  // namespace

pb::Compare CreatedAt(std::string key, int64_t revision) {
  pb::Compare compare = Of(std::move(key), pb::Compare::CREATE);
  compare.set_create_revision(revision);
  return compare;
}

pb::Compare ChangedAt(std::string key, int64_t revision) {
  pb::Compare compare = Of(std::move(key), pb::Compare::MOD);
  compare.set_mod_revision(revision);
  return compare;
}

pb::Compare Missing(std::string key) {
  pb::Compare compare = Of(std::move(key), pb::Compare::VERSION);
  compare.set_version(0);
  return compare;
}

pb::Compare AllMissing(KeyRange keys) {
  pb::Compare compare = Missing(std::move(keys.begin));
  compare.set_range_end(std::move(keys.end));
  return compare;
}

pb::Compare AllChangedUntil(KeyRange keys, int64_t revision) {
  pb::Compare compare = ChangedAt(std::move(keys.begin), revision + 1);
  compare.set_range_end(std::move(keys.end));
  compare.set_result(pb::Compare::LESS);
  return compare;
}

pb::Compare HasValue(std::string key, std::string_view value) {
  pb::Compare compare = Of(std::move(key), pb::Compare::VALUE);
  compare.set_value(std::string(value));
  return compare;
}

void Get(std::string key, pb::RequestOp* op) {
  op->mutable_request_range()->set_key(std::move(key));
}

void GetAll(KeyRange keys, int64_t limit, bool keys_only, pb::RequestOp* op) {
  pb::RangeRequest* const range = op->mutable_request_range();
  range->set_key(std::move(keys.begin));
  range->set_range_end(std::move(keys.end));
  range->set_limit(limit);
  range->set_keys_only(keys_only);
}

void Put(std::string key, std::string_view value, pb::RequestOp* op) {
  PutWithLease(std::move(key), value, 0, op);
}

void PutWithLease(std::string key, std::string_view value, int64_t lease, pb::RequestOp* op) {
  pb::PutRequest* const put = op->mutable_request_put();
  put->set_key(std::move(key));
  put->set_value(std::string(value));
  put->set_lease(lease);
}

void Delete(std::string key, pb::RequestOp* op) {
  op->mutable_request_delete_range()->set_key(std::move(key));
}

void DeleteAll(KeyRange keys, pb::RequestOp* op) {
  pb::DeleteRangeRequest* const range = op->mutable_request_delete_range();
  range->set_key(std::move(keys.begin));
  range->set_range_end(std::move(keys.end));
}

const pb::KeyValue* Found(const pb::TxnResponse& answer, int index) {
  if (index >= answer.responses_size() ||
      answer.responses(index).response_range().kvs_size() == 0) {
    return nullptr;
  }
  return &answer.responses(index).response_range().kvs(0);
}

}  // namespace wq::etcd
