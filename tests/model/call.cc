#include "tests/model/call.h"

#include <array>
#include <cstddef>

namespace wq::model {

QueueOptions OptionsOf(const QueueOptions& first, Reopening reopening) {
  QueueOptions options = first;
  if (reopening == Reopening::kOtherShards) {
    options.shards = first.shards == 0 ? 2 : 2 * first.shards - 1;
  } else if (reopening == Reopening::kFewerLanes) {
    if (first.order == Order::kPriorities) {
      options.order = Order::kTwoLanes;
    } else if (first.order == Order::kTwoLanes) {
      options.order = Order::kFifo;
    } else if (!first.lanes.empty()) {
      options.lanes = {first.lanes.front(), first.lanes.back()};
    }
  }
  return options;
}

bool IsOfMany(Op op) {
  return op == Op::kForget || op == Op::kRemove || op == Op::kCancelDelay || op == Op::kEndDelay ||
         op == Op::kRelease || op == Op::kDrop || op == Op::kDelete;
}

std::vector<Call> AddsOf(const Call& batch) {
  const Call add{.op = batch.delay_us > 0 ? Op::kAddAfter : Op::kAdd,
                 .lane = batch.lane,
                 .delay_us = batch.delay_us,
                 .group = batch.group,
                 .reason = batch.reason,
                 .durability = batch.durability,
                 .if_absent = batch.if_absent};
  std::vector<Call> adds(batch.keys.size(), add);
  for (size_t i = 0; i < adds.size(); ++i) {
    adds[i].key = batch.keys[i];
  }
  return adds;
}

std::string ResultOfBatch(const std::vector<std::string>& results) {
  constexpr std::array kOutcomes = {"added", "deduplicated", "held"};
  std::array<size_t, kOutcomes.size()> counts = {};
  std::string refused;
  for (size_t i = 0; i < results.size(); ++i) {
    size_t outcome = 0;
    while (outcome < kOutcomes.size() && results[i] != kOutcomes[outcome]) {
      ++outcome;
    }
    if (outcome < kOutcomes.size()) {
      ++counts[outcome];
    } else {
      refused += " " + std::to_string(i) + ":" + results[i];
    }
  }
  return std::to_string(counts[0]) + "+" + std::to_string(counts[1]) + "+" +
         std::to_string(counts[2]) + refused;
}

}  // namespace wq::model
