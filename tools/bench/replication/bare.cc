#include "tools/bench/replication/bare.h"

#include "storage/etcd/request.h"
#include "tools/bench/bench.h"

namespace wq::bench {

BareEtcd::BareEtcd(const EtcdMembers& members, const std::string& prefix)
    : members_(members), keys_(prefix) {
  Require(etcd::Client::Open(members.Options(prefix), &client_), "a client of etcd");
  etcd::pb::TxnRequest txn;
  etcd::Put(keys_.Owner(), "bare", txn.add_success());
  etcd::pb::TxnResponse answer;
  Require(client_->Txn(txn, client_->NewDeadline(), &answer), "the leader key");
  epoch_ = answer.header().revision();
}

BareEtcd::~BareEtcd() {
  etcd::pb::TxnRequest txn;
  etcd::DeleteAll(keys_.All(), txn.add_success());
  etcd::pb::TxnResponse answer;
  Require(client_->Txn(txn, client_->NewDeadline(), &answer), "deleting the keys");
  members_.Compact();
}

void BareEtcd::Put(std::string_view value) {
  etcd::pb::TxnRequest txn;
  *txn.add_compare() = etcd::CreatedAt(keys_.Owner(), epoch_);
  etcd::Put(keys_.Entry(next_++), value, txn.add_success());
  etcd::pb::TxnResponse answer;
  Require(client_->Txn(txn, client_->NewDeadline(), &answer), "a transaction of bare etcd");
  Require(answer.succeeded(), "a transaction of bare etcd was refused");
}

size_t BareEtcd::Count() const {
  const etcd::KeyRange entries = keys_.EntriesFrom(1);
  etcd::pb::RangeRequest request;
  request.set_key(entries.begin);
  request.set_range_end(entries.end);
  request.set_count_only(true);
  etcd::pb::RangeResponse answer;
  Require(client_->Range(request, client_->NewDeadline(), &answer), "counting etcd's keys");
  return static_cast<size_t>(answer.count());
}

}  // namespace wq::bench
