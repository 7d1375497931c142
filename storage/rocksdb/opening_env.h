// OpeningEnv: the Env of one database, which outlasts an opening that throws. Internal to storage/.
//
//   Status s = StartThreads(base);
//   auto env = std::make_unique<OpeningEnv>(base);
//   try { … rocksdb::DB::Open with env … env->Begin(); } catch (…) { env->Abandon(); throw; }
//
// Without memory or threads RocksDB's Open throws, and then loses its database, open and locked.
// So work in the background begins only when the opening has succeeded; otherwise what RocksDB has
// lost never runs, and its lock is released: the directory can be opened again. The memory and the
// descriptors are lost. Thread-safe.
#pragma once

#include <rocksdb/env.h>

#include <string>
#include <vector>

#include "base/mutex.h"
#include "wq/status.h"

namespace wq::storage {

// Starts the threads that RocksDB's databases share; otherwise it does so within DB::Open, or when
// it has work. IOError: the system gives no thread.
Status StartThreads(rocksdb::Env* env);

class OpeningEnv final : public rocksdb::EnvWrapper {
 public:
  explicit OpeningEnv(rocksdb::Env* base);  // Borrowed.

  // The database is open: begins the work in the background.
  void Begin() WQ_EXCLUDES(mu_);
  // The opening has thrown. This object, and what it borrows, must never be destroyed.
  void Abandon() WQ_EXCLUDES(mu_);

  rocksdb::Status LockFile(const std::string& path, rocksdb::FileLock** lock) override;
  void Schedule(void (*function)(void*), void* argument, Priority priority, void* tag,
                void (*unscheduled)(void*)) override WQ_EXCLUDES(mu_);
  int UnSchedule(void* tag, Priority priority) override WQ_EXCLUDES(mu_);

 private:
  struct Job {
    void (*function)(void*);
    void* argument;
    Priority priority;
    void* tag;
    void (*unscheduled)(void*);
  };

  Mutex mu_;
  bool begun_ WQ_GUARDED_BY(mu_) = false;
  std::vector<Job> jobs_ WQ_GUARDED_BY(mu_);  // Until it has begun.
  rocksdb::FileLock* lock_ WQ_GUARDED_BY(mu_) = nullptr;
};

}  // namespace wq::storage
