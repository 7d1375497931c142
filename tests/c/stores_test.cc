// Misuse of importers, diffs, snapshots and checks in the C interface.

#include <malloc.h>

#include <string>

#include "tests/c/c_fixture.h"
#include "tests/support/environment.h"

namespace wq::c {
namespace {

class StoresCTest : public CTest {
 protected:
  StoresCTest() {
    entry_.size = sizeof entry_;
    entry_.key = "k";
    entry_.key_size = 1;
  }

  const support::ScratchDirectory scratch_;
  const std::string& dir_ = scratch_.path();
  wq_entry entry_{};
  wq_importer importer_ = WQ_NO_IMPORTER;
  wq_diff diff_ = WQ_NO_DIFF;
};

TEST_F(StoresCTest, AThousandQueuesThatAreMadeAndDeletedTakeAMebibyte) {
  constexpr int kFirst = 100;
  constexpr int kQueues = 1000;
  const auto in_use = [] {  // 0 under the address sanitizer.
    const auto now = mallinfo2();
    return now.uordblks + now.hblkhd;
  };
  wq_store store = WQ_NO_STORE;  // In memory: no database, whose buffers would count.
  ASSERT_EQ(wq_store_open_in_memory(nullptr, &store, nullptr), WQ_OK);
  size_t before = 0;
  for (int i = 0; i < kFirst + kQueues; ++i) {
    if (i == kFirst) {
      before = in_use();
    }
    const std::string name = "q" + std::to_string(i);
    wq_queue queue = WQ_NO_QUEUE;
    ASSERT_EQ(wq_store_open_queue(store, name.c_str(), nullptr, &queue, nullptr), WQ_OK);
    ASSERT_EQ(wq_queue_add(queue, "key", 3, nullptr, nullptr, nullptr), WQ_OK);
    ASSERT_EQ(wq_queue_close(queue, nullptr), WQ_OK);
    ASSERT_EQ(wq_store_delete_queue(store, name.c_str(), nullptr), WQ_OK);
  }
  EXPECT_LT(in_use(), before + (size_t{1} << 20));
  EXPECT_EQ(wq_store_free(store, nullptr), WQ_OK);
}

TEST_F(StoresCTest, NullIsRefused) {
  wq_verify_report verify{};
  wq_repair_report repair{};
  const auto refused = [](wq_code code) { EXPECT_EQ(code, WQ_INVALID_ARGUMENT); };
  refused(wq_importer_open(nullptr, nullptr, &importer_, nullptr));
  refused(wq_importer_open("x", nullptr, nullptr, nullptr));
  refused(wq_diff_open(nullptr, nullptr, nullptr));
  refused(wq_snapshot_create(nullptr, "x", nullptr, nullptr, nullptr));
  refused(wq_snapshot_create("x", nullptr, nullptr, nullptr, nullptr));
  refused(wq_snapshot_list(nullptr, nullptr, nullptr, nullptr));
  refused(wq_snapshot_restore(nullptr, "x", nullptr, nullptr, nullptr));
  refused(wq_snapshot_restore("x", nullptr, nullptr, nullptr, nullptr));
  refused(wq_verify(nullptr, 0, &verify, nullptr, nullptr, nullptr));
  refused(wq_verify("x", 0, &verify, nullptr, nullptr, nullptr));  // No size.
  refused(wq_repair("x", "y", nullptr, nullptr, nullptr, nullptr));
  refused(wq_repair("x", "y", &repair, nullptr, nullptr, nullptr));
  refused(wq_store_find_queue(store_, nullptr, &queue_, nullptr));
  refused(wq_store_find_queue(store_, "q", nullptr, nullptr));
}

TEST_F(StoresCTest, BadEntriesAreRefusedAndChangeNothing) {
  ASSERT_EQ(wq_importer_open((dir_ + "/s").c_str(), nullptr, &importer_, &error_), WQ_OK);
  const auto refused = [&](wq_code wanted) {
    EXPECT_EQ(wq_importer_add(importer_, "q", &entry_, &error_), wanted) << error_.message;
  };
  EXPECT_EQ(wq_importer_add(importer_, "q", nullptr, &error_), WQ_INVALID_ARGUMENT);
  EXPECT_EQ(wq_importer_add(importer_, nullptr, &entry_, &error_), WQ_INVALID_ARGUMENT);
  EXPECT_EQ(wq_importer_set_queue(importer_, nullptr, &error_), WQ_INVALID_ARGUMENT);
  entry_.state = 4;
  refused(WQ_INVALID_ARGUMENT);
  entry_.state = WQ_FAILING;
  wq_failures failures{};
  entry_.failures = &failures;  // No size.
  refused(WQ_INVALID_ARGUMENT);
  failures.size = sizeof failures;
  failures.last_error_size = 3;  // Of a NULL text.
  refused(WQ_INVALID_ARGUMENT);
  entry_.key = nullptr;
  refused(WQ_INVALID_ARGUMENT);
  entry_.size = 0;
  refused(WQ_INVALID_ARGUMENT);

  // Refused arguments do not end the import.
  wq_entry good{};
  good.size = sizeof good;
  good.key = "k";
  good.key_size = 1;
  EXPECT_EQ(wq_importer_add(importer_, "q", &good, &error_), WQ_OK) << error_.message;
  EXPECT_EQ(wq_importer_finish(importer_, nullptr, &error_), WQ_OK) << error_.message;
  EXPECT_EQ(wq_importer_free(importer_, &error_), WQ_OK);
}

TEST_F(StoresCTest, AnEntryOfALaterVersionIsNotSupported) {
  struct {
    wq_entry entry;
    uint64_t later;
  } grown{entry_, 1};
  grown.entry.size = sizeof grown;
  ASSERT_EQ(wq_diff_open(nullptr, &diff_, &error_), WQ_OK);
  EXPECT_EQ(wq_diff_add(diff_, WQ_BEFORE, "q", &grown.entry, &error_), WQ_NOT_SUPPORTED);
  grown.later = 0;
  EXPECT_EQ(wq_diff_add(diff_, WQ_BEFORE, "q", &grown.entry, &error_), WQ_OK);
  EXPECT_EQ(wq_diff_add(diff_, 2, "q", &entry_, &error_), WQ_INVALID_ARGUMENT);
  EXPECT_EQ(wq_diff_add(diff_, WQ_BEFORE, nullptr, &entry_, &error_), WQ_INVALID_ARGUMENT);
  EXPECT_EQ(wq_diff_run(diff_, nullptr, nullptr, &error_), WQ_INVALID_ARGUMENT);
  EXPECT_EQ(wq_diff_free(diff_, &error_), WQ_OK);
}

TEST_F(StoresCTest, AVisitorMustNotCallOrFreeItsDiff) {
  ASSERT_EQ(wq_diff_open(nullptr, &diff_, &error_), WQ_OK);
  ASSERT_EQ(wq_diff_add(diff_, WQ_AFTER, "q", &entry_, &error_), WQ_OK);
  struct Inside {
    wq_diff diff;
    wq_entry entry;
    wq_code add = WQ_OK;
    wq_code free = WQ_OK;
  } inside{diff_, entry_};
  const auto visit = [](void* arg, const wq_key_diff* key) {
    auto* const in = static_cast<Inside*>(arg);
    EXPECT_EQ(key->removed, 0);
    in->add = wq_diff_add(in->diff, WQ_AFTER, "q", &in->entry, nullptr);
    in->free = wq_diff_free(in->diff, nullptr);
    return 1;
  };
  EXPECT_EQ(wq_diff_run(diff_, visit, &inside, &error_), WQ_OK);
  EXPECT_EQ(inside.add, WQ_INVALID_ARGUMENT);
  EXPECT_EQ(inside.free, WQ_INVALID_ARGUMENT);
  EXPECT_EQ(wq_diff_free(diff_, &error_), WQ_OK);
}

TEST_F(StoresCTest, HandlesOfOtherKindsAreRefused) {
  OpenQueue();
  for (const uint64_t bad : {uint64_t{0}, store_.handle, queue_.handle, ~uint64_t{0}}) {
    EXPECT_EQ(wq_importer_add({bad}, "q", &entry_, &error_), WQ_BAD_HANDLE);
    EXPECT_EQ(wq_importer_set_queue({bad}, nullptr, &error_), WQ_BAD_HANDLE);
    EXPECT_EQ(wq_importer_set_cursor({bad}, "q", "c", "", 0, &error_), WQ_BAD_HANDLE);
    EXPECT_EQ(wq_importer_set_limits({bad}, "q", "g", 1, nullptr, &error_), WQ_BAD_HANDLE);
    EXPECT_EQ(wq_importer_finish({bad}, nullptr, &error_), WQ_BAD_HANDLE);
    EXPECT_EQ(wq_importer_free({bad}, &error_), WQ_BAD_HANDLE);
    EXPECT_EQ(wq_diff_add({bad}, WQ_BEFORE, "q", &entry_, &error_), WQ_BAD_HANDLE);
    EXPECT_EQ(wq_diff_run({bad}, nullptr, nullptr, &error_), WQ_BAD_HANDLE);
    EXPECT_EQ(wq_diff_free({bad}, &error_), WQ_BAD_HANDLE);
  }
}

}  // namespace
}  // namespace wq::c
