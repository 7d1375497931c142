// Each call on files fails once, during every operation on a store's directory: the system calls of
// wq's own code, and the calls of RocksDB. An operation that fails returns an error with the path,
// changes nothing that it only reads, leaves nothing of what it was to create, and succeeds when it
// is repeated on the same files. An operation that succeeds in spite of the fault has the result
// that it has without a fault.
//
// WQ_CALL_TRIES is about the number of calls that fail in each operation, by kind; 0: every call.

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iostream>
#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "system_calls.h"
#include "tests/support/environment.h"
#include "tests/support/failing_disk.h"
#include "wq/clock.h"
#include "wq/internal/import.h"
#include "wq/queue.h"
#include "wq/repair.h"
#include "wq/snapshot.h"
#include "wq/store.h"
#include "wq/store_view.h"
#include "wq/verify.h"

namespace wq::support {
namespace {

using namespace std::chrono_literals;

bool AddTo(const Entry& entry, std::string* entries) {
  entries->append(" ").append(EntryStateName(entry.state)).append(" ").append(entry.key);
  *entries += " " + std::to_string(entry.sequence) + " " + std::to_string(entry.ready_at_us);
  return true;
}

// Appends the contents of a store to `entries`.
Status EntriesOf(const std::string& dir, std::string* entries) {
  std::unique_ptr<StoreView> view;
  Status s = StoreView::Open(dir, &view);
  if (!s.ok()) {
    return s;
  }
  for (const std::string& queue : view->QueueNames()) {
    *entries += "\n" + queue;
    std::map<std::string, std::string> cursors;
    if (s.ok()) s = view->Cursors(queue, &cursors);
    for (const auto& [name, value] : cursors) {
      *entries += " " + name + "=" + value;
    }
    if (!s.ok()) {
      return s;
    }
    s = view->ForEachEntry(queue, [&](const Entry& entry) { return AddTo(entry, entries); });
  }
  return s;
}

std::string FilesOf(const std::string& dir) {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(dir)) {
    if (entry.is_directory()) {
      continue;
    }
    std::ifstream file(entry.path(), std::ios::binary);
    files.push_back(entry.path().string() + "=" +
                    std::string(std::istreambuf_iterator<char>(file), {}));
  }
  std::sort(files.begin(), files.end());
  std::string all;
  for (const std::string& file : files) {
    all += file + "\n";
  }
  return all;
}

// An operation in a directory that holds a "store" and two "snapshots" of it.
struct Operation {
  const char* name;
  std::function<Status(const std::string& root, std::string* result)> run;
  std::string leaves = {};  // The store that it leaves, whose contents are a result, too.
  std::vector<std::string> reads = {};  // The folders that it must not change.
  std::string makes = {};               // The folder that must not exist if it fails.
};

void PrintTo(const Operation& operation, std::ostream* out) { *out << operation.name; }

Status Open(const std::string& dir, bool create, Clock* clock, std::unique_ptr<Store>* store,
            Queue** queue) {
  Status s = Store::Open({.create_if_missing = create, .clock = clock}, dir, store);
  return s.ok() ? (*store)->OpenQueue("pods", {.order = Order::kLanes, .lanes = {0, 3}}, queue) : s;
}

Status View(const std::string& root, std::string* result) {
  std::unique_ptr<StoreView> view;
  Status s = StoreView::Open(root + "/store", &view);
  QueueSummary summary;
  KeyPosition position;
  std::vector<Entry> found;
  if (s.ok()) s = view->Summarize("pods", {}, &summary);
  if (s.ok()) s = view->Find("pods", "pod-29", &found);
  if (s.ok()) s = view->PositionOf("pods", found.at(0), 1000, &position);
  *result = std::to_string(position.at_most);
  return s.ok()
             ? view->ForEachEntry("pods", [&](const Entry& entry) { return AddTo(entry, result); })
             : s;
}

Status Check(const std::string& root, std::string* result) {
  VerifyReport report;
  Status s = Verify(root + "/store", {}, &report);
  *result = std::to_string(report.rows) + " rows";
  // Verify reports an unreadable file as a finding and continues; here that is a failed call.
  for (const Finding& finding : report.findings) {
    *result += "; " + finding.where + ": " + finding.what;
  }
  return report.findings.empty() || !s.ok() ? s : Status::IOError(root + " " + *result);
}

Status RunRepair(const std::string& root, std::string* result) {
  RepairReport report;
  Status s = Repair(root + "/store", root + "/repaired", &report);
  for (const Loss& loss : report.losses) {
    *result += loss.where + ": " + loss.what + "\n";
  }
  if (!s.ok() || report.losses.empty()) {
    return s;
  }
  // Repair reports an unreadable file as a loss and saves the rest; here that is a failed call.
  std::filesystem::remove_all(root + "/repaired");
  return Status::IOError(root + " " + *result);
}

Status Import(const std::string& root, const std::string& name) {
  std::unique_ptr<Importer> importer;
  QueueInfo nodes;
  nodes.name = "nodes";
  Entry entry;
  entry.key = "node-1";
  // Replaces the queue, since after a failed sync an earlier attempt may have reached the disk.
  Status s = Importer::Open({.create_if_missing = true, .replace = true}, root + name, &importer);
  if (s.ok()) s = importer->SetQueue(nodes);
  if (s.ok()) s = importer->Add(nodes.name, entry);
  if (s.ok()) s = importer->SetCursor("nodes", "source", "12");
  if (s.ok()) s = importer->Finish();
  importer.reset();
  return s;
}

Status Snapshot(const std::string& root, bool link, std::string* result) {
  SnapshotInfo info;
  Status s = CreateSnapshot(root + "/store", root + "/snapshots",
                            {.name = "third", .link_tables = link}, &info);
  *result = info.name + " " + std::to_string(info.bytes);
  return s;
}

Status Restore(const std::string& root, std::string* result) {
  SnapshotInfo from;
  Status s = RestoreSnapshot(root + "/snapshots", root + "/restored", {}, &from);
  *result = from.name;
  return s;
}

Status List(const std::string& root, std::string* result) {
  std::vector<SnapshotInfo> snapshots;
  Status s = ListSnapshots(root + "/snapshots", &snapshots);
  for (const SnapshotInfo& snapshot : snapshots) {
    *result += snapshot.name + " " + snapshot.uuid + " " + std::to_string(snapshot.bytes) + "\n";
  }
  return s;
}

Status Own(const std::string& root, const std::string& name) {
  ManualClock clock;
  std::unique_ptr<Store> store;
  Queue* pods = nullptr;
  Status s = Open(root + name, true, &clock, &store, &pods);
  if (s.ok()) s = pods->Add("new", {.durability = Durability::kPower});
  if (s.ok()) s = store->Close();
  store.reset();
  return s;
}

// No operation ignores a failed step and then succeeds with less.
class EveryCallTest : public ::testing::TestWithParam<Operation> {
 protected:
  EveryCallTest() {
    std::cout << "replay with WQ_SEED=" << seed_ << "\n";
    Make(root_ / "template");
  }

  void Make(const std::string& dir);
  // A directory for one run of the operation, copied from the template.
  std::string Fresh();
  std::string ReadOnlyParts(const std::string& root) const;
  // Of `calls` calls every n-th one fails in turn; returns n.
  static uint64_t Distance(uint64_t calls) {
    const uint64_t tries = FromEnvironment("WQ_CALL_TRIES", kTries);
    return tries == 0 ? 1 : calls / tries + 1;
  }
  // `result`, which the operation gave, and the contents of the store that it left.
  static std::string Outcome(const std::string& root, std::string result);
  std::string RunCleanly(const std::string& root) const;
  // Checks the operation that returned `status` during a fault, and repeats it if it failed.
  void Judge(const std::string& root, const std::string& before, const Status& status,
             const std::string& result);

  static constexpr uint64_t kTries = 3;
  const uint64_t seed_ = support::Seed();
  ScratchDirectory root_;
  std::string clean_;  // The outcome of the operation without a fault.
  uint64_t cases_ = 0;
  uint64_t refused_ = 0;
};

void EveryCallTest::Make(const std::string& dir) {
  std::filesystem::create_directory(dir);
  ManualClock clock;
  std::unique_ptr<Store> store;
  Queue* pods = nullptr;
  SnapshotInfo taken;
  Status s = Open(dir + "/closed", true, &clock, &store, &pods);
  for (int i = 0; i < 30 && s.ok(); ++i) {
    s = pods->Add("pod-" + std::to_string(i), {.lane = i % 2 == 0 ? 0 : 3});
  }
  if (s.ok()) s = pods->Add(std::string(4096, 'k'));
  if (s.ok()) s = pods->AddAfter("later", 1000h);
  if (s.ok()) s = pods->AddRateLimited("failing", "no route to host");
  if (s.ok()) s = pods->Quarantine("bad", "too many failures");
  if (s.ok()) s = store->Close();
  if (s.ok()) s = CreateSnapshot(dir + "/closed", dir + "/snapshots", {.name = "first"}, &taken);
  // The store as a killed owner leaves it: tables and a log.
  if (s.ok()) s = Open(dir + "/closed", false, &clock, &store, &pods);
  if (s.ok()) s = pods->SetCursor("source", "12");
  if (s.ok()) s = pods->Add("in-the-log", {.durability = Durability::kPower});
  if (s.ok()) s = CreateSnapshot(dir + "/closed", dir + "/snapshots", {.name = "second"}, &taken);
  ASSERT_TRUE(s.ok()) << s.ToString();
  std::filesystem::copy(dir + "/closed", dir + "/store");
  store.reset();
  std::filesystem::remove_all(dir + "/closed");
}

std::string EveryCallTest::Fresh() {
  std::filesystem::remove_all(root_ / "case");
  std::filesystem::copy(root_ / "template", root_ / "case",
                        std::filesystem::copy_options::recursive);
  return root_ / "case";
}

std::string EveryCallTest::ReadOnlyParts(const std::string& root) const {
  std::string all;
  for (const std::string& name : GetParam().reads) {
    all += FilesOf(root + "/" + name);
  }
  return all;
}

std::string EveryCallTest::Outcome(const std::string& root, std::string result) {
  const std::string& store = GetParam().leaves;
  if (!store.empty()) {
    const Status status = EntriesOf(root + "/" + store, &result);
    EXPECT_TRUE(status.ok()) << status.ToString();
  }
  return result;
}

std::string EveryCallTest::RunCleanly(const std::string& root) const {
  std::string result;
  const Status status = GetParam().run(root, &result);
  EXPECT_TRUE(status.ok()) << status.ToString();
  return status.ok() ? Outcome(root, result) : "";
}

void EveryCallTest::Judge(const std::string& root, const std::string& before, const Status& status,
                          const std::string& result) {
  const Operation& operation = GetParam();
  ++cases_;
  EXPECT_TRUE(ReadOnlyParts(root) == before) << "changed what it reads";
  if (status.ok()) {
    EXPECT_EQ(Outcome(root, result), clean_) << "another result, and no error";
    return;
  }
  ++refused_;
  EXPECT_TRUE(status.code() == StatusCode::kIOError || status.code() == StatusCode::kNotDurable)
      << status.ToString();
  EXPECT_NE(status.message().find(root), std::string::npos) << status.ToString();
  EXPECT_TRUE(operation.makes.empty() || !std::filesystem::exists(root + "/" + operation.makes))
      << operation.makes << " exists; " << status.ToString();
  SCOPED_TRACE(status.ToString());
  EXPECT_EQ(RunCleanly(root), clean_);
}

TEST_P(EveryCallTest, OfWqItself) {
  SystemCalls::Arm({});
  clean_ = RunCleanly(Fresh());
  const uint64_t every = Distance(SystemCalls::calls());
  for (uint64_t at = seed_ % every; !HasFailure(); at += every) {
    const std::string root = Fresh();
    const std::string before = ReadOnlyParts(root);
    std::string result;
    SystemCalls::Arm({.at = at, .error = EIO});
    const Status status = GetParam().run(root, &result);
    const std::string failed = SystemCalls::Disarm();
    if (failed.empty()) {
      break;
    }
    SCOPED_TRACE("system call " + std::to_string(at) + ", " + failed);
    Judge(root, before, status, result);
    EXPECT_TRUE(status.ok() || status.message().find("nput/output error") != std::string::npos)
        << status.ToString();
  }
  std::cout << "total: " << cases_ << " failing system calls, " << refused_ << " reported\n";
  EXPECT_TRUE(cases_ < 20 || refused_ > 0);  // A few calls may all fail without harm.
}

TEST_P(EveryCallTest, MayBeInterruptedOrDoHalf) {
  clean_ = RunCleanly(Fresh());
  const std::string root = Fresh();
  std::string result;
  SystemCalls::Arm({.hindered = true});
  const Status status = GetParam().run(root, &result);
  SystemCalls::Disarm();
  EXPECT_TRUE(status.ok()) << status.ToString();
  EXPECT_EQ(Outcome(root, result), clean_);
}

TEST_P(EveryCallTest, OfRocksdb) {
  uint64_t calls = 0;
  {
    FailingDisk disk({});
    clean_ = RunCleanly(Fresh());
    calls = disk.calls();
  }
  const uint64_t every = Distance(calls);
  for (uint64_t at = seed_ % every; at < calls && !HasFailure(); at += every) {
    const std::string root = Fresh();
    const std::string before = ReadOnlyParts(root);
    std::string result;
    FailingDisk disk({.at = at, .error = EIO});
    const Status status = GetParam().run(root, &result);
    disk.Recover();
    SCOPED_TRACE("call " + std::to_string(at) + " of " + std::to_string(calls));
    Judge(root, before, status, result);
  }
  std::cout << "total: " << cases_ << " failing calls of RocksDB, " << refused_ << " reported\n";
}

INSTANTIATE_TEST_SUITE_P(
    Operations, EveryCallTest,
    ::testing::Values(
        Operation{.name = "View", .run = View, .reads = {"store"}},
        Operation{.name = "Verify", .run = Check, .reads = {"store"}},
        Operation{.name = "Repair",
                  .run = RunRepair,
                  .leaves = "repaired",
                  .reads = {"store"},
                  .makes = "repaired"},
        Operation{.name = "Import",
                  .run = [](auto& root, auto*) { return Import(root, "/store"); },
                  .leaves = "store"},
        Operation{.name = "ImportNew",
                  .run = [](auto& root, auto*) { return Import(root, "/new"); },
                  .leaves = "new"},
        Operation{.name = "SnapshotByLinks",
                  .run = [](auto& root, auto* result) { return Snapshot(root, true, result); },
                  .leaves = "snapshots/third",
                  .reads = {"store"},
                  .makes = "snapshots/third"},
        Operation{.name = "SnapshotByCopies",
                  .run = [](auto& root, auto* result) { return Snapshot(root, false, result); },
                  .leaves = "snapshots/third",
                  .reads = {"store"},
                  .makes = "snapshots/third"},
        Operation{.name = "Restore",
                  .run = Restore,
                  .leaves = "restored",
                  .reads = {"snapshots"},
                  .makes = "restored"},
        Operation{.name = "List", .run = List, .reads = {"snapshots"}},
        Operation{.name = "Own",
                  .run = [](auto& root, auto*) { return Own(root, "/store"); },
                  .leaves = "store"},
        Operation{.name = "Create",
                  .run = [](auto& root, auto*) { return Own(root, "/new"); },
                  .leaves = "new"}),
    [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace wq::support
