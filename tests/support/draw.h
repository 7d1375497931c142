// What a test run draws before its first call: which sizes its keys and its batches have, and how
// large the buffers of its store are. For all suites that draw.
//
//   DrawnSizes sizes(random(), {.key_bytes = 4096});
//   const Buffers buffers = Buffers::Draw(&random);
//   std::cout << "replay with WQ_SEED=" << seed << ": " << sizes.ToString() << ", "
//             << buffers.ToString() << "\n";
//   queue->Add(KeyOf(7, sizes.KeyBytes()));
//
// A run has few features, drawn at its beginning, and each of them often: a run that has a little
// of everything finds less. Most keys stay short, and the bytes of a run are bounded, so that it is
// fast.
//
// Thread-compatible.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <string_view>

#include "wq/options.h"

namespace wq::support {

// A number from 1 to `most`: each power of two is as likely, and `most` itself is frequent.
inline uint64_t DrawSize(std::mt19937_64* random, uint64_t most) {
  const uint64_t pick = (*random)();
  if (pick % 8 == 0) {
    return most;
  }
  const uint64_t shift = (pick >> 8) % static_cast<uint64_t>(std::bit_width(most));
  return 1 + (*random)() % std::min(most, uint64_t{1} << shift);
}

template <typename T, size_t n>
T DrawOne(std::mt19937_64* random, const std::array<T, n>& from) {
  return from[(*random)() % n];
}

// --- Keys ---

// The key number n, in `bytes` bytes, or in as many as its name needs. Keys of different numbers
// differ; the first 26 can have one byte.
inline std::string KeyOf(uint64_t n, size_t bytes = 1) {
  std::string key;
  do {
    key += static_cast<char>('a' + n % 26);
    n /= 26;
  } while (n > 0);
  key.resize(std::max(key.size(), bytes), '.');
  return key;
}

// Text with such keys, for reports and messages: a long run of dots as its length. Unpacked is the
// reverse.
inline std::string Packed(std::string_view text) {
  std::string packed;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find_first_not_of('.', at), text.size());
    if (end - at >= 8) {
      packed += "~" + std::to_string(end - at) + "~";
      at = end;
    } else {
      packed += text[at++];
    }
  }
  return packed;
}
inline std::string Unpacked(std::string_view packed) {
  std::string text;
  for (size_t at = 0; at < packed.size(); ++at) {
    const size_t end = packed[at] == '~' ? packed.find('~', at + 1) : std::string_view::npos;
    if (end == std::string_view::npos) {
      text += packed[at];
    } else {
      text.append(std::stoull(std::string(packed.substr(at + 1, end - at - 1))), '.');
      at = end;
    }
  }
  return text;
}

// --- Sizes ---

class DrawnSizes {
 public:
  struct Bounds {
    size_t key_bytes = 4096;
    size_t batch_keys = 10'000;
    size_t total_bytes = size_t{1} << 20;  // Of all long keys: once they are drawn, keys are short.
  };

  DrawnSizes(uint64_t seed, const Bounds& bounds)
      : bounds_(bounds),
        random_(seed),
        long_key_in_(DrawOne(&random_, std::array<uint64_t, 5>{0, 0, 20, 4, 1})),
        long_batch_in_(DrawOne(&random_, std::array<uint64_t, 4>{0, 0, 20, 3})) {}

  bool IsLongKey() { return left() > 0 && OneIn(long_key_in_); }
  // 1 to Bounds::key_bytes.
  size_t KeyBytes() {
    const bool is_long = IsLongKey();
    const size_t bytes =
        is_long ? DrawSize(&random_, bounds_.key_bytes) : std::min(bounds_.key_bytes, Short());
    drawn_bytes_ += is_long ? bytes : 0;
    return bytes;
  }
  // 1 to Bounds::batch_keys.
  size_t BatchKeys() {
    return OneIn(long_batch_in_) ? DrawSize(&random_, bounds_.batch_keys)
                                 : std::min<size_t>(bounds_.batch_keys, 1 + random_() % 8);
  }

  std::string ToString() const {
    return "one key in " + std::to_string(long_key_in_) + " has up to " +
           std::to_string(bounds_.key_bytes) + " bytes, one batch in " +
           std::to_string(long_batch_in_) + " up to " + std::to_string(bounds_.batch_keys) +
           " keys";
  }

 private:
  bool OneIn(uint64_t n) { return n > 0 && random_() % n == 0; }
  size_t Short() { return 1 + random_() % 24; }
  size_t left() const { return bounds_.total_bytes - std::min(bounds_.total_bytes, drawn_bytes_); }

  const Bounds bounds_;
  std::mt19937_64 random_;
  const uint64_t long_key_in_;  // One key in so many is long; 0: none.
  const uint64_t long_batch_in_;
  size_t drawn_bytes_ = 0;  // Of long keys.
};

// --- Buffers ---

// The StoreOptions that decide when a call waits, and when a store writes and flushes. By default
// they are small, so that much happens in a short run.
struct Buffers {
  size_t process_log_bytes = size_t{8} << 10;
  size_t write_buffer_bytes = size_t{64} << 10;
  size_t max_wal_bytes = size_t{256} << 10;
  size_t max_batch_bytes = StoreOptions().max_batch_bytes;
  int64_t flush_interval_ms = StoreOptions().flush_interval.count();

  // Small ones and the defaults of StoreOptions. One in three has no process log.
  static Buffers Draw(std::mt19937_64* random) {
    const StoreOptions defaults;
    constexpr size_t kKiB = 1024;
    Buffers drawn;
    drawn.process_log_bytes =
        DrawOne(random, std::array<size_t, 9>{0, 0, 0, 4 * kKiB, 8 * kKiB, 8 * kKiB, 64 * kKiB,
                                              256 * kKiB, defaults.process_log_bytes});
    drawn.write_buffer_bytes =
        DrawOne(random, std::array<size_t, 5>{64 * kKiB, 64 * kKiB, 256 * kKiB, 1024 * kKiB,
                                              defaults.write_buffer_bytes});
    drawn.max_wal_bytes = DrawOne(
        random, std::array<size_t, 4>{256 * kKiB, 256 * kKiB, 1024 * kKiB, defaults.max_wal_bytes});
    drawn.max_batch_bytes =
        DrawOne(random, std::array<size_t, 4>{1, 4 * kKiB, 256 * kKiB, defaults.max_batch_bytes});
    drawn.flush_interval_ms =
        DrawOne(random, std::array<int64_t, 4>{1, defaults.flush_interval.count(),
                                               defaults.flush_interval.count(), 200});
    return drawn;
  }

  void ApplyTo(StoreOptions* options) const {
    options->process_log_bytes = process_log_bytes;
    options->write_buffer_bytes = write_buffer_bytes;
    options->max_wal_bytes = max_wal_bytes;
    options->max_batch_bytes = max_batch_bytes;
    options->flush_interval = std::chrono::milliseconds(flush_interval_ms);
  }

  // "log=8192,buffer=65536,…", an argument for a child process.
  std::string ToString() const {
    return "log=" + std::to_string(process_log_bytes) +
           ",buffer=" + std::to_string(write_buffer_bytes) +
           ",wal=" + std::to_string(max_wal_bytes) + ",batch=" + std::to_string(max_batch_bytes) +
           ",interval_ms=" + std::to_string(flush_interval_ms);
  }
  static Buffers Parse(const char* text) {
    Buffers parsed;
    if (std::sscanf(text, "log=%zu,buffer=%zu,wal=%zu,batch=%zu,interval_ms=%ld",
                    &parsed.process_log_bytes, &parsed.write_buffer_bytes, &parsed.max_wal_bytes,
                    &parsed.max_batch_bytes, &parsed.flush_interval_ms) != 5) {
      std::abort();
    }
    return parsed;
  }
};

}  // namespace wq::support
