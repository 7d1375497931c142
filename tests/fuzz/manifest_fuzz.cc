// Fuzz target: reading a manifest. Any bytes give a Status.
#include <cstdint>
#include <string>

#include "base/check.h"
#include "scratch_file.h"
#include "storage/check/manifest.h"
#include "storage/check/table_check.h"
#include "storage/check/wal_check.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const wq::fuzz::ScratchFiles scratch;
  static const std::string current = "MANIFEST-000005\n";
  scratch.Write("CURRENT", reinterpret_cast<const uint8_t*>(current.data()), current.size());
  scratch.Write("MANIFEST-000005", data, size);
  wq::storage::Manifest manifest;
  const wq::Status status = wq::storage::ReadManifest(scratch.path(), &manifest);
  if (!status.ok()) return 0;
  // The files that it names do not exist: that must be the only error.
  const wq::Status sizes = wq::storage::CheckTableEnds(scratch.path(), manifest);
  const wq::Status logs = wq::storage::CheckWals(scratch.path(), manifest, nullptr);
  WQ_CHECK(sizes.ok() || sizes.code() == wq::StatusCode::kCorruption, "an odd error");
  WQ_CHECK(logs.ok() || logs.code() == wq::StatusCode::kCorruption, "an odd error");
  return 0;
}
