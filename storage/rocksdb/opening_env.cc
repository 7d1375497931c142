#include "storage/rocksdb/opening_env.h"

#include <rocksdb/env.h>

#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "base/resources.h"

namespace wq::storage {
namespace {

class HeldBackEnv final : public rocksdb::EnvWrapper, public OpeningEnv {
 public:
  explicit HeldBackEnv(rocksdb::Env* base);

  rocksdb::Env* env() override { return this; }
  void Begin() override WQ_EXCLUDES(mu_);
  void Abandon() override WQ_EXCLUDES(mu_);

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

HeldBackEnv::HeldBackEnv(rocksdb::Env* base) : EnvWrapper(base) {
  file_system_ = base->GetFileSystem();
  system_clock_ = base->GetSystemClock();
}

void HeldBackEnv::Begin() {
  std::vector<Job> jobs;
  {
    const MutexLock lock(mu_);
    begun_ = true;
    jobs.swap(jobs_);
  }
  for (const Job& job : jobs) {
    target()->Schedule(job.function, job.argument, job.priority, job.tag, job.unscheduled);
  }
}

void HeldBackEnv::Abandon() {
  const MutexLock lock(mu_);
  if (lock_ != nullptr) target()->UnlockFile(lock_).PermitUncheckedError();
}

rocksdb::Status HeldBackEnv::LockFile(const std::string& path, rocksdb::FileLock** lock) {
  rocksdb::Status status = target()->LockFile(path, lock);
  const MutexLock held(mu_);
  if (status.ok()) lock_ = *lock;
  return status;
}

void HeldBackEnv::Schedule(void (*function)(void*), void* argument, Priority priority, void* tag,
                           void (*unscheduled)(void*)) {
  {
    const MutexLock lock(mu_);
    if (!begun_) {
      jobs_.push_back({function, argument, priority, tag, unscheduled});
      return;
    }
  }
  target()->Schedule(function, argument, priority, tag, unscheduled);
}

// An opening that fails with a status closes its database, which takes its jobs back.
int HeldBackEnv::UnSchedule(void* tag, Priority priority) {
  std::vector<Job> dropped;
  {
    const MutexLock lock(mu_);
    std::erase_if(jobs_, [&](const Job& job) {
      const bool drops = job.tag == tag && job.priority == priority;
      if (drops) dropped.push_back(job);
      return drops;
    });
  }
  for (const Job& job : dropped) {
    if (job.unscheduled != nullptr) job.unscheduled(job.argument);
  }
  return static_cast<int>(dropped.size()) + target()->UnSchedule(tag, priority);
}

}  // namespace

const ProcessMark& FirstThreads() {
  static const ProcessMark mark;
  return mark;
}

Status StartThreads(rocksdb::Env* env) {
  FirstThreads();
  return WithResources("RocksDB's threads", [env] {
    // RocksDB has one more thread, a timer, while a database is open. If it cannot start it again
    // after the last database was closed, it ends the process at the next closing.
    std::thread([] {}).join();
    for (const auto pool : {rocksdb::Env::Priority::LOW, rocksdb::Env::Priority::HIGH}) {
      const int before = env->GetBackgroundThreads(pool);
      try {
        env->IncBackgroundThreadsIfNeeded(1, pool);
      } catch (...) {
        env->SetBackgroundThreads(before, pool);  // Otherwise it would take them for started.
        throw;
      }
    }
    return Status::Ok();
  });
}

std::unique_ptr<OpeningEnv> OpeningEnv::Make(rocksdb::Env* base) {
  return std::make_unique<HeldBackEnv>(base);
}

}  // namespace wq::storage
