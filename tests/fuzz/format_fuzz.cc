// Fuzz target: FORMAT and OWNER with any bytes give a store of a known version, or an error.
#include <cstdint>
#include <string>

#include "base/check.h"
#include "scratch_file.h"
#include "storage/open.h"
#include "storage/owner.h"
#include "storage/store_directory.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const wq::fuzz::ScratchFiles scratch;
  static const std::string current = "MANIFEST-000005\n";
  scratch.Write("CURRENT", reinterpret_cast<const uint8_t*>(current.data()), current.size());
  scratch.Write("000004.log", data, 0);
  scratch.Write("FORMAT", data, size);
  scratch.Write("OWNER", data, size);
  wq::storage::DirectoryInfo info;
  const wq::Status status = wq::storage::InspectDirectory(scratch.path(), &info);
  WQ_CHECK(!status.ok() || (info.format.version <= wq::storage::kFormatVersion &&
                            info.format.uuid.size() == 36),
           "a format that does not exist");
  const wq::storage::OwnerInfo owner = wq::storage::ReadOwner(scratch.path());
  WQ_CHECK(owner.pid >= 0 && !owner.alive, "an owner that does not exist");
  return 0;
}
