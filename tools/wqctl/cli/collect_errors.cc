#include "tools/wqctl/cli/collect_errors.h"

#include "tools/wqctl/text/output.h"

namespace wqctl {
namespace {

wq::Entry FailingEntry(const wq::FailingKey& failing) {
  wq::Entry entry;
  entry.state = wq::EntryState::kFailing;
  entry.key = failing.key;
  entry.failures = failing.failures;
  return entry;
}

}  // namespace

wq::Status CollectErrors(const wq::StoreView& view, const std::string& queue, const Filter& filter,
                         int64_t now_us, wq::ErrorGroups* groups) {
  const auto add = [&](const wq::Entry& entry) {
    if (entry.failures && filter.Matches(entry, now_us)) {
      groups->Add({.queue = queue,
                   .key = entry.key,
                   .error = entry.failures->last_error,
                   .failures = entry.failures->count,
                   .first_at_us = entry.failures->first_at_us,
                   .last_at_us = entry.failures->last_at_us,
                   .quarantined = entry.state == wq::EntryState::kQuarantined});
    }
    return !Interrupted();
  };
  wq::Status s;
  if (filter.states.Has(wq::EntryState::kFailing)) {
    s = view.ForEachFailing(
        queue, [&](const wq::FailingKey& failing) { return add(FailingEntry(failing)); });
  }
  if (s.ok() && filter.states.Has(wq::EntryState::kQuarantined)) {
    s = view.ForEachQuarantined(queue, add);
  }
  return s;
}

}  // namespace wqctl
