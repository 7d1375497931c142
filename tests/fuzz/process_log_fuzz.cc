// Fuzz target: a process log. Any bytes as its header, its end and its ring, or as the mutations of
// a record, give a Status, and what is accepted is read back as it is.
#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/boot_id.h"
#include "base/check.h"
#include "scratch_file.h"
#include "storage/mutation_batch.h"
#include "storage/process_log.h"
#include "storage/process_log/format.h"
#include "storage/process_log/read_process_log.h"

namespace wq::storage {
namespace {

constexpr uint64_t kRingBytes = 4096;

void CheckMutations(std::string_view bytes) {
  MutationBatch batch;
  if (!batch.AppendMutations(bytes)) {
    WQ_CHECK(batch.empty(), "a part of what was refused was appended");
    return;
  }
  size_t count = 0;
  batch.ForEach([&count](const Mutation&) { ++count; });
  WQ_CHECK(count == batch.count() && batch.mutations() == bytes, "mutations read otherwise");
}

// `bytes`: the end, then the ring.
std::string LogOf(std::string_view bytes, const std::string& boot_id) {
  std::string file = EncodeLogHeader(
      {.store_uuid = "a store", .boot_id = boot_id, .number = 1, .capacity = kRingBytes});
  file.append(bytes.substr(0, 8));
  file.resize(kLogDataOffset, '\0');
  file.append(bytes.substr(std::min<size_t>(8, bytes.size())).substr(0, kRingBytes));
  file.resize(kLogDataOffset + kRingBytes, '\0');
  return file;
}

void CheckRing(const std::string& dir) {
  ProcessLogContents contents;
  WQ_CHECK(ReadProcessLog(dir, 1, &contents).ok(), "a log with a good header is refused");
  uint64_t bytes = 0;
  LogPosition reached = 0;
  const Status status = contents.ForEach(
      0,
      [&bytes](std::string_view mutations) {
        bytes += LogRecordBytes(mutations.size());
        return Status::Ok();
      },
      &reached);
  WQ_CHECK(reached == bytes && bytes <= kRingBytes, "records that are not in the ring");
  WQ_CHECK(status.ok() || status.code() == StatusCode::kCorruption, "another error");
  uint64_t salvaged = 0;
  contents.Salvage(
      0, [&salvaged](std::string_view mutations) { salvaged += LogRecordBytes(mutations.size()); },
      [](LogPosition begin, LogPosition end) { WQ_CHECK(begin < end, "a bad gap"); });
  WQ_CHECK(salvaged <= kRingBytes, "more than the ring was salvaged");
}

}  // namespace
}  // namespace wq::storage

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace wq::storage;
  static const wq::fuzz::ScratchFiles scratch;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  CheckMutations(bytes);
  ProcessLogContents contents;
  scratch.Write(ProcessLogName(2), data, size);
  WQ_CHECK(!ReadProcessLog(scratch.path(), 2, &contents).ok() || size > kLogDataOffset,
           "a log without a ring is accepted");
  for (const std::string& boot_id : {wq::BootId(), std::string("another boot")}) {
    const std::string file = LogOf(bytes, boot_id);
    scratch.Write(ProcessLogName(1), reinterpret_cast<const uint8_t*>(file.data()), file.size());
    CheckRing(scratch.path());
  }
  return 0;
}
