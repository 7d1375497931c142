// An event is: wall time << 8 | kind (8), key bytes (4), text bytes (4), delay (8; only of kDelayed
// and kFailed), key, text. Little-endian.

#include "engine/history/history_buffer.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <utility>

#include "base/utf8.h"
#include "wq/options.h"

namespace wq {
namespace {

static_assert(std::endian::native == std::endian::little,
              "events are copied as they are in memory");

constexpr size_t kHeadBytes = 16;

bool HasDelay(uint8_t kind) {
  return kind == static_cast<uint8_t>(HistoryKind::kDelayed) ||
         kind == static_cast<uint8_t>(HistoryKind::kFailed);
}

}  // namespace

// The memory is not initialized: pages that are not written to are not allocated.
HistoryBytes::HistoryBytes(size_t bytes)
    : memory(bytes == 0 ? nullptr : new char[bytes]), capacity(bytes) {}

HistoryBuffer::HistoryBuffer(size_t bytes, Clock* clock, std::function<void(bool)> wake)
    : clock_(clock), wake_(std::move(wake)), bytes_(bytes) {}

void HistoryBuffer::AppendRaw(uint8_t kind, std::string_view key, int64_t delay_us,
                              std::string_view text) {
  const int64_t at_us = std::max<int64_t>(0, clock_->RoughWallUs());
  if (bytes_.empty()) {
    bytes_.first_at_us = at_us;
    wake_(false);
  }
  text = CutUtf8(text, kMaxHistoryErrorBytes);
  const size_t head = kHeadBytes + (HasDelay(kind) ? sizeof(delay_us) : 0);
  const size_t size = head + key.size() + text.size();
  if (size > bytes_.capacity - bytes_.used) {
    ++bytes_.lost;
    full_ = true;
    return;
  }
  char* to = bytes_.memory.get() + bytes_.used;
  const std::array<uint64_t, 2> first = {static_cast<uint64_t>(at_us) << 8U | kind,
                                         uint64_t{text.size()} << 32U | key.size()};
  std::memcpy(to, first.data(), kHeadBytes);
  if (head > kHeadBytes) {
    std::memcpy(to + kHeadBytes, &delay_us, sizeof(delay_us));
  }
  std::memcpy(to + head, key.data(), key.size());
  if (!text.empty()) {
    std::memcpy(to + head + key.size(), text.data(), text.size());
  }
  bytes_.used += size;
  if (bytes_.used > bytes_.capacity / 2 && !std::exchange(half_full_, true)) {
    wake_(true);
  }
}

void HistoryBuffer::Swap(HistoryBytes* bytes) {
  std::swap(bytes_, *bytes);
  half_full_ = full_ = false;
}

void ForEachRecorded(std::string_view events,
                     const std::function<void(const RecordedEvent& event)>& visit) {
  while (events.size() >= kHeadBytes) {
    std::array<uint64_t, 2> first = {};
    std::memcpy(first.data(), events.data(), kHeadBytes);
    RecordedEvent event;
    event.kind = static_cast<uint8_t>(first[0] & 0xFFU);
    event.at_us = static_cast<int64_t>(first[0] >> 8U);
    const size_t key_bytes = first[1] & 0xFFFFFFFFU;
    const size_t text_bytes = first[1] >> 32U;
    const size_t head = kHeadBytes + (HasDelay(event.kind) ? sizeof(event.delay_us) : 0);
    if (key_bytes > kMaxKeyBytes || text_bytes > kMaxHistoryErrorBytes ||
        head + key_bytes + text_bytes > events.size()) {
      return;
    }
    if (head > kHeadBytes) {
      std::memcpy(&event.delay_us, events.data() + kHeadBytes, sizeof(event.delay_us));
    }
    event.key = events.substr(head, key_bytes);
    event.text = events.substr(head + key_bytes, text_bytes);
    visit(event);
    events.remove_prefix(head + key_bytes + text_bytes);
  }
}

}  // namespace wq
