// The Oracle's diagnosis: which property a disk violates that is in none of the possible states.

#include <algorithm>
#include <set>
#include <utility>

#include "tests/support/oracle.h"

namespace wq::support {

// A state that the disk may be in.
struct Oracle::Candidate {
  StoreImage image;
  Facts facts;
  std::set<std::string> processing;  // "queue pending key".
};

// All states from the last durable call on, in their order.
std::vector<Oracle::Candidate> Oracle::Candidates(const Life& life, uint64_t durable) const {
  NaiveStore model = model_;
  std::vector<Candidate> candidates;
  const auto note = [&] {
    Candidate candidate;
    for (size_t i = 0; i < model.queues(); ++i) {
      candidate.image.push_back(model.queue(i).OnDisk());
      for (const Image::Pending& p : candidate.image.back().pending) {
        if (model.queue(i).IsProcessing(p.key)) {
          candidate.processing.insert(rules_[i].name + " pending " + p.key);
        }
      }
    }
    candidate.facts = FactsOf(candidate.image);
    candidates.push_back(std::move(candidate));
  };
  if (durable == 0) {
    note();
  }
  model.Crash();
  for (uint64_t i = 0; i <= life.calls.size(); ++i) {
    if (i > 0) {
      model.Do(life.calls[i - 1]);
    }
    if (i >= durable) {
      note();
    }
  }
  return candidates;
}

Oracle::Facts Oracle::FactsOf(const StoreImage& image) const {
  Facts facts;
  for (size_t i = 0; i < image.size(); ++i) {
    const std::string& name = rules_[i].name;
    for (const Image::Pending& p : image[i].pending) {
      facts[name + " pending " + p.key] = "lane " + std::to_string(p.lane) + " group " + p.group;
    }
    for (const Image::Delayed& d : image[i].delayed) {
      facts[name + " delayed " + d.key] = "until " + std::to_string(d.ready_at_us) + " lane " +
                                          std::to_string(d.lane) + " group " + d.group;
    }
    for (const auto& [key, count] : image[i].failing) {
      facts[name + " failing " + key] = std::to_string(count);
    }
    for (const auto& [key, q] : image[i].quarantined) {
      facts[name + " quarantined " + key] = "failures " + std::to_string(q.failures) + " lane " +
                                            std::to_string(q.lane) + " group " + q.group;
    }
    for (const auto& [cursor, value] : image[i].cursors) {
      facts[name + " cursor " + cursor] = value;
    }
    if (image[i].paused) {
      facts[name + " paused"] = std::to_string(image[i].paused_until_us);
    }
    if (!image[i].limiter_state.empty()) {
      facts[name + " limiter"] = image[i].limiter_state;
    }
  }
  return facts;
}

namespace {

bool Is(const std::string& fact, const char* kind) {
  return fact.find(std::string(" ") + kind) != std::string::npos;
}

// The property that is violated if `fact`, which every candidate state has, is not on disk.
Property LostProperty(const std::string& fact, bool was_processing) {
  return Is(fact, "pending ") && was_processing        ? Property::kProcessingReturns
         : Is(fact, "delayed ")                        ? Property::kReadyTime
         : Is(fact, "failing ") || Is(fact, "limiter") ? Property::kFailureCount
         : Is(fact, "cursor ")                         ? Property::kCursor
                                                       : Property::kNoLostCall;
}

// The property that is violated by a fact on disk that is in no candidate.
Property ExtraProperty(const std::string& fact) {
  return Is(fact, "failing ") || Is(fact, "limiter")    ? Property::kFailureCount
         : Is(fact, "cursor ")                          ? Property::kCursor
         : Is(fact, "pending ") || Is(fact, "delayed ") ? Property::kNoResurrection
                                                        : Property::kAtMostOnce;
}

// The property that is violated by a fact whose value on disk is that of no candidate.
Property OtherProperty(const std::string& fact) {
  return Is(fact, "pending ")                          ? Property::kOrder
         : Is(fact, "delayed ")                        ? Property::kReadyTime
         : Is(fact, "failing ") || Is(fact, "limiter") ? Property::kFailureCount
         : Is(fact, "cursor ")                         ? Property::kCursor
                                                       : Property::kAtMostOnce;
}

}  // namespace

void Oracle::CompareFacts(const std::vector<Candidate>& candidates, const StoreImage& found,
                          std::vector<Violation>* violations) const {
  const Facts on_disk = FactsOf(found);
  std::map<std::string, size_t> holds_in;
  std::map<std::string, std::set<std::string>> says;
  for (const Candidate& candidate : candidates) {
    for (const auto& [fact, value] : candidate.facts) {
      ++holds_in[fact];
      says[fact].insert(value);
    }
  }
  const auto known = [&](const std::string& fact) {
    const auto it = holds_in.find(fact);
    return it == holds_in.end()              ? Known::kAbsent
           : it->second == candidates.size() ? Known::kAcknowledged
                                             : Known::kUnknown;
  };
  for (const auto& [fact, _] : holds_in) {
    if (known(fact) == Known::kAcknowledged && !on_disk.contains(fact)) {
      violations->push_back({LostProperty(fact, candidates.back().processing.contains(fact)),
                             fact + " is acknowledged, and lost"});
    }
  }
  for (const auto& [fact, value] : on_disk) {
    if (known(fact) == Known::kAbsent) {
      violations->push_back(
          {ExtraProperty(fact), fact + " is on disk: " + value + ", and must have been erased"});
    } else if (!says[fact].contains(value)) {
      violations->push_back({OtherProperty(fact), fact + " is on disk as " + value +
                                                      ", rather than " + *says[fact].begin()});
    }
  }
}

// Called if each fact by itself is possible. The order of the keys, or a cursor, may not be.
void Oracle::CompareOrders(const std::vector<Candidate>& candidates, const StoreImage& found,
                           std::vector<Violation>* violations) const {
  for (size_t q = 0; q < found.size(); ++q) {
    const auto some = [&](const auto& matches) {
      return std::any_of(candidates.begin(), candidates.end(),
                         [&](const Candidate& c) { return matches(c.image[q]); });
    };
    const auto keys_of = [](const Image& image) {
      std::set<std::string> keys;
      for (const Image::Pending& p : image.pending) {
        keys.insert(p.key);
      }
      return keys;
    };
    if (some([&](const Image& image) { return keys_of(image) == keys_of(found[q]); }) &&
        !some([&](const Image& image) { return image.pending == found[q].pending; })) {
      violations->push_back(
          {Property::kOrder, rules_[q].name + " has its keys in an order that they never had"});
    }
    if (some([&](Image image) {
          image.cursors = found[q].cursors;
          return image == found[q];
        }) &&
        !some([&](const Image& image) { return image == found[q]; })) {
      violations->push_back(
          {Property::kCursor, rules_[q].name + " has a cursor that does not match its keys"});
    }
  }
}

std::vector<Violation> Oracle::Diagnose(const Life& life, uint64_t durable,
                                        const StoreImage& found) const {
  const std::vector<Candidate> candidates = Candidates(life, durable);
  std::vector<Violation> violations;
  CompareFacts(candidates, found, &violations);
  if (violations.empty()) {
    CompareOrders(candidates, found, &violations);
  }
  if (violations.empty()) {
    violations.push_back({Property::kAtMostOnce, "no prefix of the calls leaves this state"});
  }
  if (life.calls.empty()) {
    violations.push_back({Property::kRecoveryIsRepeatable, "the crash was before any call"});
  }
  std::string text = "after " + std::to_string(life.calls.size()) + " calls, of which " +
                     std::to_string(durable) + " must be on disk:";
  for (size_t q = 0; q < found.size(); ++q) {
    const bool possible = std::any_of(candidates.begin(), candidates.end(),
                                      [&](const Candidate& c) { return c.image[q] == found[q]; });
    if (!possible) {
      text += "\n" + rules_[q].name + " on disk: " + found[q].ToString() +
              "\n  first: " + candidates.front().image[q].ToString() +
              "\n  last:  " + candidates.back().image[q].ToString();
    }
  }
  violations.back().what += "\n" + text;
  return violations;
}

}  // namespace wq::support
