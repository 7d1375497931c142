#include "tests/server/kill/judge.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <string_view>
#include <unordered_map>

namespace wq::support {
namespace {

constexpr uint64_t kNever = UINT64_MAX;

// A key in the hands of a worker.
struct HandOut {
  uint64_t token = 0;  // 0: the server's own worker.
  uint64_t session_begins = 0;
  uint64_t got = 0;
  uint64_t ends = kNever;  // The event before its answer.
  uint64_t accepted = kNever;
  uint32_t detail = 0;

  // Whether the key was held for certain from `got` to `ends`.
  bool certain() const { return token == 0 || accepted != kNever; }
};

struct KeyHistory {
  std::vector<HandOut> hand_outs;      // By `got`.
  std::vector<uint64_t> adds_begun;    // Places.
  std::vector<uint64_t> acknowledged;  // Where the acknowledged ones have begun.
  std::map<uint32_t, size_t> local;    // Open hand-outs by the own worker.
  std::unordered_map<uint64_t, size_t> by_token;
};

class Trial {
 public:
  explicit Trial(const JudgeOptions& options) : options_(options) {}

  Judgement Run(const std::vector<Event>& events) {
    for (uint64_t at = 0; at < events.size(); ++at) {
      Read(at, events[at]);
    }
    EndLocal(killing_);
    for (auto& [key, history] : keys_) {
      CheckKey(key, &history);
    }
    return std::move(judgement_);
  }

 private:
  struct SessionState {
    uint64_t begins = 0;
    uint64_t floor = 0;  // All tokens seen before it began.
  };

  void Violated(uint32_t key, const std::string& what) {
    if (judgement_.violations.size() < 20) {
      judgement_.violations.push_back("key " + std::to_string(key) + ": " + what);
    }
  }

  void Read(uint64_t at, const Event& event);
  void Assigned(uint64_t at, const Event& event);
  void ReadAnswer(uint64_t at, const Event& event);
  void EndLocal(uint64_t at);
  void CheckKey(uint32_t key, KeyHistory* history);
  void CheckHolders(uint32_t key, const KeyHistory& history);
  void CheckAdds(uint32_t key, const KeyHistory& history);

  const JudgeOptions options_;
  Judgement judgement_;
  std::map<uint32_t, KeyHistory> keys_;
  std::unordered_map<uint32_t, SessionState> sessions_;
  std::unordered_map<uint64_t, uint32_t> tokens_;
  uint64_t highest_token_ = 0;
  uint64_t killing_ = kNever;
};

void Trial::Read(uint64_t at, const Event& event) {
  KeyHistory* const history = event.key == 0 ? nullptr : &keys_[event.key];
  switch (event.kind) {
    case EventKind::kNone:
    case EventKind::kServerStarts:
      return;
    case EventKind::kServerKilling:
      killing_ = at;
      return;
    case EventKind::kServerKilled:
      EndLocal(killing_);
      killing_ = kNever;
      return;
    case EventKind::kSessionBegins:
      sessions_[event.session] = {.begins = at, .floor = highest_token_};
      return;
    case EventKind::kAddBegins:
      history->adds_begun.push_back(at);
      return;
    case EventKind::kAdded:
      ++judgement_.added;
      history->acknowledged.push_back(event.token);
      return;
    case EventKind::kAssigned:
      return Assigned(at, event);
    case EventKind::kAnswerSent:
    case EventKind::kAnswerAccepted:
    case EventKind::kAnswerRefused:
    case EventKind::kReplayAccepted:
      return ReadAnswer(at, event);
    case EventKind::kLocalGot:
      history->local[event.session] = history->hand_outs.size();
      history->hand_outs.push_back({.got = at});
      return;
    case EventKind::kLocalEnds: {
      HandOut& held = history->hand_outs[history->local.at(event.session)];
      held.ends = at;
      held.detail = event.detail;
      history->local.erase(event.session);
      return;
    }
    case EventKind::kLocalEndRefused:
      Violated(event.key, "was taken from the server's own worker");
      return;
  }
}

void Trial::Assigned(uint64_t at, const Event& event) {
  ++judgement_.assignments;
  SessionState& session = sessions_[event.session];
  const std::string token = "token " + std::to_string(event.token);
  if (!tokens_.emplace(event.token, event.key).second) {
    Violated(event.key, token + " was assigned twice");
    return;
  }
  if (event.token <= session.floor) {
    Violated(event.key, token + " is not above " + std::to_string(session.floor) +
                            ", which was assigned before");
  }
  session.floor = event.token;
  highest_token_ = std::max(highest_token_, event.token);
  KeyHistory& history = keys_[event.key];
  history.by_token[event.token] = history.hand_outs.size();
  history.hand_outs.push_back({.token = event.token, .session_begins = session.begins, .got = at});
}

void Trial::ReadAnswer(uint64_t at, const Event& event) {
  KeyHistory& history = keys_[event.key];
  const std::string token = "token " + std::to_string(event.token);
  const auto it = history.by_token.find(event.token);
  if (it == history.by_token.end()) {
    return;  // Violated before: its token was assigned twice.
  }
  HandOut& held = history.hand_outs[it->second];
  if (event.kind == EventKind::kAnswerSent) {
    held.ends = at;
    held.detail = event.detail;
  } else if (event.kind == EventKind::kAnswerAccepted) {
    ++judgement_.accepted;
    held.accepted = at;
  } else if (event.kind == EventKind::kReplayAccepted) {
    Violated(event.key, token + " was accepted twice");
  } else {
    ++judgement_.refused;
    if (!options_.may_lose_keys) {
      Violated(event.key, token + " was refused, and its worker was connected");
    }
  }
}

// The server's own worker holds nothing after a kill.
void Trial::EndLocal(uint64_t at) {
  for (auto& [key, history] : keys_) {
    for (const auto& [_, index] : history.local) {
      HandOut& held = history.hand_outs[index];
      held.ends = std::max(held.got, at);
    }
    history.local.clear();
  }
}

void Trial::CheckKey(uint32_t key, KeyHistory* history) {
  CheckHolders(key, *history);
  CheckAdds(key, *history);
}

void Trial::CheckHolders(uint32_t key, const KeyHistory& history) {
  const HandOut* longest = nullptr;
  for (const HandOut& held : history.hand_outs) {  // By `got`.
    if (!held.certain()) {
      // An assignment whose session began during a hold by the own worker was made during it.
      if (longest != nullptr && longest->token == 0 && held.session_begins > longest->got &&
          held.got < longest->ends) {
        Violated(key, "token " + std::to_string(held.token) +
                          " was assigned while the server's own worker held it");
      }
      continue;
    }
    if (longest != nullptr && held.got < longest->ends) {
      Violated(key, "held twice at once, by tokens " + std::to_string(longest->token) + " and " +
                        std::to_string(held.token));
    }
    if (longest == nullptr || held.ends > longest->ends) {
      longest = &held;
    }
  }
  // By token, the latest first: an accepted answer comes before each later assignment.
  std::vector<const HandOut*> remote;
  for (const HandOut& held : history.hand_outs) {
    if (held.token != 0) {
      remote.push_back(&held);
    }
  }
  std::sort(remote.begin(), remote.end(),
            [](const HandOut* a, const HandOut* b) { return a->token > b->token; });
  uint64_t first_later = kNever;
  for (const HandOut* const held : remote) {
    if (held->certain() && first_later < held->ends) {
      Violated(key, "token " + std::to_string(held->token) +
                        " was accepted after a later one was assigned");
    }
    first_later = std::min(first_later, held->got);
  }
}

void Trial::CheckAdds(uint32_t key, const KeyHistory& history) {
  uint64_t last_done = 0;  // Where the last hand-out that may have ended in Done was made.
  size_t durable = 0;
  uint64_t durable_token = 0;  // The first.
  uint64_t durable_at = kNever;
  for (const HandOut& held : history.hand_outs) {
    if ((held.detail & kDoneDetail) != 0) {
      last_done = std::max(last_done, held.got);
    }
    if (held.token != 0 && held.accepted != kNever && (held.detail & kDoneDetail) != 0 &&
        (held.detail & kDurableDetail) != 0) {
      ++durable;
      durable_at = std::min(durable_at, held.accepted);
      durable_token = durable_token == 0 ? held.token : std::min(durable_token, held.token);
    }
  }
  for (const uint64_t begun : history.acknowledged) {
    if (options_.drained && last_done < begun) {
      Violated(key, "an acknowledged Add is lost");
      break;
    }
  }
  if (durable > history.adds_begun.size()) {
    Violated(key, "durably done " + std::to_string(durable) + " times, and added " +
                      std::to_string(history.adds_begun.size()) + " times");
  }
  if (history.adds_begun.size() != 1 || durable == 0) {
    return;
  }
  for (const HandOut& held : history.hand_outs) {
    if (held.token > durable_token || (held.token == 0 && held.got > durable_at)) {
      Violated(key, "handed out again after it was durably done");
      break;
    }
  }
}

}  // namespace

Judgement Judge(const std::vector<Event>& events, const JudgeOptions& options) {
  return Trial(options).Run(events);
}

}  // namespace wq::support
