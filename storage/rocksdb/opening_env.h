// OpeningEnv: the Env of one database, which outlasts an opening that throws. Internal to storage/.
//
//   Status s = StartThreads(base);
//   std::unique_ptr<OpeningEnv> opening = OpeningEnv::Make(base);
//   try { … rocksdb::DB::Open with opening->env() … opening->Begin(); }
//   catch (…) { opening->Abandon(); throw; }
//
// Without memory or threads RocksDB's Open throws, and then loses its database, open and locked.
// So work in the background begins only when the opening has succeeded; otherwise what RocksDB has
// lost never runs, and its lock is released: the directory can be opened again. The memory and the
// descriptors are lost. Thread-safe.
#pragma once

#include <memory>

#include "base/process_mark.h"
#include "wq/status.h"

namespace rocksdb {
class Env;
}  // namespace rocksdb

namespace wq::storage {

// Starts the threads that RocksDB's databases share; otherwise it does so within DB::Open, or when
// it has work. IOError: the system gives no thread.
Status StartThreads(rocksdb::Env* env);

// The process in which RocksDB's threads were first started, or may be: it was made by the first
// call of this or of StartThreads.
const ProcessMark& FirstThreads();

class OpeningEnv {
 public:
  // `base` is borrowed.
  static std::unique_ptr<OpeningEnv> Make(rocksdb::Env* base);
  virtual ~OpeningEnv() = default;
  OpeningEnv(const OpeningEnv&) = delete;
  OpeningEnv& operator=(const OpeningEnv&) = delete;

  // For the database; lives as long as this object.
  virtual rocksdb::Env* env() = 0;
  // The database is open: begins the work in the background.
  virtual void Begin() = 0;
  // The opening has thrown. This object, and what it borrows, must never be destroyed.
  virtual void Abandon() = 0;

 protected:
  OpeningEnv() = default;
};

}  // namespace wq::storage
