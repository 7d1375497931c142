// Reading a manifest while it grows: reading it in pieces gives the same as reading it at once.
#include "storage/check/manifest.h"

#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <tuple>
#include <vector>

#include "tests/storage/support.h"

namespace wq::storage {
namespace {

auto Told(const Manifest& manifest) {
  std::vector<std::tuple<uint32_t, std::string, uint64_t>> families;
  std::vector<std::pair<uint64_t, uint64_t>> tables;
  for (const auto& [id, family] : manifest.families) {
    families.emplace_back(id, family.name, family.log_number.value_or(0));
    tables.insert(tables.end(), family.tables.begin(), family.tables.end());
  }
  return std::tuple(families, tables, manifest.bytes, manifest.last_sequence, manifest.FirstLog(),
                    manifest.first_log_from);
}

TEST(ManifestReader, GoesOnWhereItStoppedAtEveryLengthOfTheFile) {
  TestDirectory root;
  const std::string dir = root / "store";
  // Each opening makes tables, and records about them in the manifest.
  for (int i = 0; i < 3; ++i) {
    std::unique_ptr<Storage> storage;
    ASSERT_OK(i == 0 ? OpenNew(dir, &storage) : OpenExisting(dir, &storage));
    ASSERT_OK(Put(storage.get(), Family::kDirty, std::to_string(i), std::string(100, 'v')));
  }
  Manifest whole;
  ASSERT_OK(ReadManifest(dir, &whole));
  const std::string bytes = ReadFile(whole.path);
  ASSERT_EQ(whole.bytes, bytes.size());

  WriteFile(whole.path, "");
  std::ofstream growing(whole.path, std::ios::binary | std::ios::app);
  ManifestReader reader(dir);
  for (const char byte : bytes) {
    growing.put(byte).flush();
    Manifest anew;
    const Status status = ReadManifest(dir, &anew);
    const Status on = reader.Read();
    ASSERT_EQ(on.code(), status.code()) << on.message();
    ASSERT_EQ(on.message(), status.message());
    ASSERT_EQ(Told(reader.manifest()), Told(anew)) << growing.tellp();
  }
  EXPECT_EQ(Told(reader.manifest()), Told(whole));
}

TEST(ManifestReader, BeginsAgainWithAnotherFile) {
  TestDirectory root;
  const std::string dir = root / "store";
  std::unique_ptr<Storage> storage;
  ASSERT_OK(OpenNew(dir, &storage));
  storage.reset();
  ManifestReader reader(dir);
  ASSERT_OK(reader.Read());
  const uint64_t before = reader.manifest().number;
  ASSERT_OK(OpenExisting(dir, &storage));
  ASSERT_OK(reader.Read());
  EXPECT_GT(reader.manifest().number, before);
  Manifest anew;
  ASSERT_OK(ReadManifest(dir, &anew));
  EXPECT_EQ(Told(reader.manifest()), Told(anew));
}

}  // namespace
}  // namespace wq::storage
