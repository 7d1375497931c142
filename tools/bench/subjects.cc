#include "tools/bench/subjects.h"

#include <filesystem>

#include "storage/records.h"
#include "wq/store_view.h"

namespace wq::bench {

Subject Subject::Open(const std::string& dir, const QueueOptions& options, Clock* clock,
                      size_t history_bytes) {
  Subject subject;
  StoreOptions store_options;
  store_options.create_if_missing = true;
  store_options.clock = clock;
  store_options.history_bytes = history_bytes;
  Require(dir.empty() ? Store::OpenInMemory(store_options, &subject.store)
                      : Store::Open(store_options, dir, &subject.store),
          "opening the store");
  Require(subject.store->OpenQueue(kQueueName, options, &subject.queue), "opening the queue");
  return subject;
}

size_t FloorBatch(Durability durability) {
  return durability == Durability::kAsync ? kFloorBatch : 1;
}

void ChangePending(Floor* floor, const Keys& keys, FloorChange change, Durability durability,
                   size_t threads) {
  const size_t batch_size = FloorBatch(durability);
  const bool sync = durability == Durability::kPower;
  InThreads(threads, [&](size_t thread) {
    const auto [begin, end] = Slice(keys.size(), threads, thread);
    const Shape shape = PendingShape();
    Floor::Batch batch(floor);
    for (size_t i = begin; i < end; ++i) {
      const uint64_t block = i >> storage::kSequenceBlockBits;
      if (change == FloorChange::kPut) {
        batch.Put(shape, block, keys[i]);
      } else {
        batch.Erase(shape, block, keys[i]);
      }
      if (batch.count() >= batch_size) {
        batch.Write(sync);
      }
    }
    batch.Write(sync);
  });
  if (durability == Durability::kAsync) {
    floor->Sync();  // As Flush does.
  }
}

void AddAll(Queue* queue, const Keys& keys, Durability durability, size_t threads) {
  InThreads(threads, [&](size_t thread) {
    const auto [begin, end] = Slice(keys.size(), threads, thread);
    const AddOptions options{.durability = durability};
    for (size_t i = begin; i < end; ++i) {
      AddOutcome outcome;
      const Status status = queue->Add(keys[i], options, &outcome);
      if (!status.ok() || outcome != AddOutcome::kAdded) {
        Require(status, "Add");
        Require(false, "a new key was not added");
      }
    }
  });
}

void AddAll(ReferenceQueue* queue, const Keys& keys, size_t threads) {
  InThreads(threads, [&](size_t thread) {
    const auto [begin, end] = Slice(keys.size(), threads, thread);
    for (size_t i = begin; i < end; ++i) {
      if (!queue->Add(keys[i])) {
        Require(false, "a new key was not added to the reference");
      }
    }
  });
}

void DrainAll(Queue* queue, size_t count, size_t threads) {
  InThreads(threads, [&](size_t thread) {
    const auto [begin, end] = Slice(count, threads, thread);
    std::string key;
    for (size_t i = begin; i < end; ++i) {
      Status status = queue->Get(&key);
      if (status.ok()) {
        status = queue->Done(key);
      }
      if (!status.ok()) {
        Require(status, "Get and Done");
      }
    }
  });
}

void DrainAll(ReferenceQueue* queue, size_t count, size_t threads) {
  InThreads(threads, [&](size_t thread) {
    const auto [begin, end] = Slice(count, threads, thread);
    std::string key;
    for (size_t i = begin; i < end; ++i) {
      if (!queue->Get(&key)) {
        Require(false, "the reference ended early");
      }
      queue->Done(key);
    }
  });
}

void RequireOnDisk(const std::string& dir, const OnDisk& should, std::string_view what) {
  std::unique_ptr<StoreView> view;
  Require(StoreView::Open(dir, &view), what);
  QueueSummary summary;
  Require(view->Summarize(kQueueName, {}, &summary), what);
  RequireEqual(summary.pending, should.pending, std::string(what) + ": pending on disk");
  RequireEqual(summary.delayed, should.delayed, std::string(what) + ": delayed on disk");
  RequireEqual(summary.failing, should.failing, std::string(what) + ": failing on disk");
}

std::string ProcessLogText(const std::string& dir) {
  Status status;
  {
    const Subject subject = Subject::Open(dir);
    status = subject.store->ProcessLogStatus();
  }
  std::filesystem::remove_all(dir);
  return status.ok() ? "process log" : "no process log (" + status.ToString() + ")";
}

const char* DurabilityName(Durability durability) {
  switch (durability) {
    case Durability::kAsync:
      return "kAsync";
    case Durability::kProcess:
      return "kProcess";
    case Durability::kPower:
      return "kPower";
    case Durability::kReplicated:
      return "kReplicated";
  }
  return "?";
}

}  // namespace wq::bench
