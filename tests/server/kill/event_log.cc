#include "tests/server/kill/event_log.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdlib>

namespace wq::support {
namespace {

constexpr size_t kHeadBytes = 4096;

// Between processes, which std::atomic::wait does not do.
void WaitWhile(std::atomic<uint32_t>* word, uint32_t value, std::chrono::microseconds patience) {
  const timespec timeout = {.tv_sec = patience.count() / 1'000'000,
                            .tv_nsec = patience.count() % 1'000'000 * 1000};
  syscall(SYS_futex, word, FUTEX_WAIT, value, &timeout, nullptr, 0);
}

void WakeAll(std::atomic<uint32_t>* word) {
  word->fetch_add(1);
  syscall(SYS_futex, word, FUTEX_WAKE, INT32_MAX, nullptr, nullptr, 0);
}

}  // namespace

EventLog::EventLog(const std::string& path, bool create) {
  static_assert(std::atomic<uint64_t>::is_always_lock_free && sizeof(Head) <= kHeadBytes);
  const size_t bytes = kHeadBytes + kPlaces * sizeof(Place);
  const int fd = open(path.c_str(), O_RDWR | O_CLOEXEC | (create ? O_CREAT | O_TRUNC : 0), 0600);
  if (fd < 0 || (create && ftruncate(fd, static_cast<off_t>(bytes)) != 0)) {
    std::abort();
  }
  void* const mapped = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  close(fd);
  if (mapped == MAP_FAILED) {
    std::abort();
  }
  head_ = static_cast<Head*>(mapped);
  places_ = reinterpret_cast<Place*>(static_cast<char*>(mapped) + kHeadBytes);
}

EventLog::~EventLog() { munmap(head_, kHeadBytes + kPlaces * sizeof(Place)); }

uint64_t EventLog::Add(const Event& event) {
  const uint64_t at = head_->next.fetch_add(1);
  if (at >= kPlaces) {
    _exit(3);
  }
  Place& place = places_[at];
  place.key = event.key;
  place.token = event.token;
  place.session = event.session;
  place.detail = event.detail;
  place.kind.store(static_cast<uint32_t>(event.kind), std::memory_order_release);
  if (at % kStride == 0) {
    WakeAll(&head_->grown);
  }
  return at;
}

std::vector<Event> EventLog::Read() const {
  std::vector<Event> events(std::min(size(), kPlaces));
  for (size_t i = 0; i < events.size(); ++i) {
    const Place& place = places_[i];
    events[i].kind = static_cast<EventKind>(place.kind.load(std::memory_order_acquire));
    if (events[i].kind != EventKind::kNone) {
      events[i].key = place.key;
      events[i].token = place.token;
      events[i].session = place.session;
      events[i].detail = place.detail;
    }
  }
  return events;
}

void EventLog::WaitForSize(uint64_t events, std::chrono::microseconds patience) {
  const auto deadline = std::chrono::steady_clock::now() + patience;
  for (auto now = deadline - patience; now < deadline; now = std::chrono::steady_clock::now()) {
    const uint32_t before = head_->grown.load();
    if (size() + kStride > events) {
      return;
    }
    WaitWhile(&head_->grown, before, std::chrono::ceil<std::chrono::microseconds>(deadline - now));
  }
}

void EventLog::ServerServes() { WakeAll(&head_->servers); }

void EventLog::WaitForServerAfter(uint32_t servers, std::chrono::microseconds patience) {
  WaitWhile(&head_->servers, servers, patience);
}

}  // namespace wq::support
