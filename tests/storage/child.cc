// What a Child (support.h) does: tests that run only in a process of their own, and report on
// descriptor 3.
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>

#include "storage/record_keys.h"
#include "tests/storage/support.h"

namespace wq::storage {
namespace {

std::string Dir() {
  const char* const dir = std::getenv("WQ_TEST_CHILD_DIR");
  return dir == nullptr ? "" : dir;
}

void Report(const std::string& line) {
  const std::string text = line + "\n";
  if (write(3, text.data(), text.size()) < 0) _exit(1);
}

// Owns the store until it is killed.
TEST(Child, DISABLED_Own) {
  std::unique_ptr<Storage> storage;
  ASSERT_OK(OpenNew(Dir(), &storage));
  Report("open");
  for (;;) pause();
}

// Writes batches 1, 2, 3, ... without an end, each over four families: key n in three, "counter" =
// n in one. Small buffers make the families flush at different times. Continues after the store's
// counter.
TEST(Child, DISABLED_WriteBatches) {
  OpenOptions options;
  options.create_if_missing = true;
  options.max_wal_bytes = 256 << 10;
  options.write_buffer_bytes = 64 << 10;
  std::unique_ptr<Storage> storage;
  ASSERT_OK(OpenStorage(Dir(), options, &storage));
  Report("open");
  std::string counter;
  uint64_t n = 0;
  if (storage->Get(Family::kDefault, "counter", &counter).ok()) n = std::stoull(counter);
  for (;;) {
    ++n;
    std::string key;
    AppendBig64(n, &key);
    MutationBatch batch;
    batch.Put(Family::kDirty, key, std::string(n % 300, 'x'));
    batch.Put(Family::kDelayed, key, "");
    if (n % 7 == 0) batch.Put(Family::kLanes, key, "");
    batch.Put(Family::kDefault, "counter", std::to_string(n));
    ASSERT_OK(storage->Write(batch, /*sync=*/n % 64 == 0));
    Report(std::to_string(n));
  }
}

// Writes until a write fails (at a limit on the size of files), then tries every kind of write once
// more.
TEST(Child, DISABLED_WriteUntilRefused) {
  std::unique_ptr<Storage> storage;
  ASSERT_OK(OpenNew(Dir(), &storage));
  signal(SIGXFSZ, SIG_IGN);
  rlimit limit = {};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &limit), 0);
  limit.rlim_cur = 200'000;
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
  int written = 0;
  Status first = Put(storage.get(), Family::kDirty, "0", std::string(1000, 'v'));
  while (first.ok()) {
    ++written;
    first = Put(storage.get(), Family::kDirty, std::to_string(written), std::string(1000, 'v'));
  }
  Report(std::to_string(written));
  const bool same = Put(storage.get(), Family::kDirty, "x", "").message() == first.message() &&
                    storage->Sync().message() == first.message() &&
                    storage->Close().message() == first.message();
  Report(same ? "refused for good" : "went on");
  storage.reset();
  limit.rlim_cur = limit.rlim_max;  // The files that a coverage build writes at exit do not count.
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

}  // namespace
}  // namespace wq::storage
