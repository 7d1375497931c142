// Opening a directory as the owner: what is made, what is refused, and that a refusal changes
// nothing.
#include <rocksdb/db.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/names.h"
#include "storage/open.h"
#include "storage/records.h"
#include "tests/storage/support.h"

namespace wq::storage {
namespace {

class OpenTest : public ::testing::Test {
 protected:
  // A store with a queue in it, closed.
  void MakeStore() {
    std::unique_ptr<Storage> storage;
    ASSERT_OK(OpenNew(store_, &storage));
    MutationBatch batch;
    PutQueue({"pods", 1, 1}, &batch);
    ASSERT_OK(storage->Write(batch, true));
    ASSERT_OK(storage->Close());
  }
  Status Open() { return OpenExisting(store_, &storage_); }
  Status Create() { return OpenNew(store_, &storage_); }
  Status Read() { return OpenReader(store_, &reader_); }

  // All ways to open the store return this error, and none changes a file. A store that is not
  // found can be made.
  void ExpectRefused(StatusCode code, const std::string& part) {
    const std::string before = Fingerprint(store_);
    std::vector<Status> refusals = {Open(), Read()};
    if (code != StatusCode::kNotFound) refusals.push_back(Create());
    for (const Status& status : refusals) {
      EXPECT_EQ(status.code(), code) << status.message();
      EXPECT_NE(status.message().find(part), std::string::npos) << status.message();
    }
    EXPECT_EQ(Fingerprint(store_), before);
  }

  const TestDirectory dir_;
  const std::string store_ = dir_ / "store";
  std::unique_ptr<Storage> storage_;
  std::unique_ptr<Reader> reader_;
};

TEST_F(OpenTest, MissingIsNotFoundAndNothingIsMade) {
  EXPECT_STATUS(kNotFound, store_, Open());
  EXPECT_STATUS(kNotFound, store_, Read());
  EXPECT_FALSE(std::filesystem::exists(store_));
}

TEST_F(OpenTest, ANewStoreSaysItsVersionAndItsUuid) {
  ASSERT_OK(Create());
  StoreRecord record;
  ASSERT_OK(GetStore(*storage_, &record));
  EXPECT_EQ(record.format_version, kFormatVersion);
  EXPECT_EQ(record.created_at_us, 1'700'000'000'000'000);
  EXPECT_EQ(ReadFile(store_ + "/FORMAT"), "wq-store 3 " + record.uuid + "\n");
  EXPECT_EQ(record.uuid.size(), 36U);
}

TEST_F(OpenTest, ParentsAreNotMade) {
  EXPECT_STATUS(kIOError, "a/b", OpenNew(dir_ / "a/b", &storage_));
}

// It would be a foreign file of the other one, which verify then calls damaged.
TEST_F(OpenTest, NoStoreIsMadeInsideAnother) {
  MakeStore();
  ASSERT_EQ(symlink("store", (dir_ / "link").c_str()), 0);
  std::filesystem::create_directory(store_ + "/empty");
  for (const std::string& path : {store_ + "/new", store_ + "/empty", store_ + "/empty/new",
                                  dir_ / "link/new", store_ + "/../store/new/"}) {
    EXPECT_STATUS(kInvalidArgument, "is inside the store", OpenNew(path, &storage_));
  }
  std::filesystem::remove(store_ + "/FORMAT");
  EXPECT_STATUS(kInvalidArgument, "is inside the store", OpenNew(store_ + "/new", &storage_));
  EXPECT_FALSE(std::filesystem::exists(store_ + "/new"));
  // A file of this name alone is no store.
  WriteFile(dir_ / "FORMAT", "the format of something else\n");
  EXPECT_OK(OpenNew(dir_ / "beside", &storage_));
}

TEST_F(OpenTest, AnEmptyDirectoryBecomesAStoreOnlyIfAskedFor) {
  std::filesystem::create_directory(store_);
  ExpectRefused(StatusCode::kNotFound, "not a wq store");
  EXPECT_TRUE(FilesIn(store_).empty());
  std::filesystem::create_directory(store_ + "/lost+found");
  EXPECT_OK(Create());
}

TEST_F(OpenTest, ErrorIfExists) {
  MakeStore();
  EXPECT_STATUS(
      kAlreadyExists, store_,
      OpenStorage(store_, {.create_if_missing = true, .error_if_exists = true}, &storage_));
  EXPECT_OK(
      OpenStorage(dir_ / "new", {.create_if_missing = true, .error_if_exists = true}, &storage_));
}

TEST_F(OpenTest, ASymlinkIsRefusedWithAndWithoutASlash) {
  MakeStore();
  ASSERT_EQ(symlink("store", (dir_ / "link").c_str()), 0);
  for (const std::string& path : {dir_ / "link", dir_ / "link/", dir_ / "link//"}) {
    EXPECT_STATUS(kInvalidArgument, "symbolic link", OpenExisting(path, &storage_));
    EXPECT_STATUS(kInvalidArgument, "symbolic link", OpenReader(path, &reader_));
  }
  EXPECT_OK(OpenExisting(store_ + "/", &storage_));
}

// Left by an owner that was killed.
TEST_F(OpenTest, AControlSocketIsNoForeignFile) {
  std::filesystem::create_directory(store_);
  WriteFile(store_ + "/OWNER", "");
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = {}};
  const std::string path = store_ + "/" + kControlSocketFile;
  ASSERT_LT(path.size(), sizeof(address.sun_path));
  path.copy(address.sun_path, path.size());
  ASSERT_EQ(bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
  close(fd);
  EXPECT_OK(Create());
  EXPECT_OK(storage_->Close());
  EXPECT_OK(Open());
  EXPECT_OK(Read());
}

TEST_F(OpenTest, AFileIsNotAStore) {
  WriteFile(store_, "text");
  for (const Status& status : {Open(), Create(), Read()}) {
    EXPECT_STATUS(kNotFound, "not a wq store", status);
  }
  EXPECT_STATUS(kInvalidArgument, "empty", OpenExisting("", &storage_));
}

TEST_F(OpenTest, ForeignFilesAreRefused) {
  std::filesystem::create_directory(store_);
  WriteFile(store_ + "/photo.jpg", "x");
  ExpectRefused(StatusCode::kNotFound, "not a wq store");
  EXPECT_STATUS(kInvalidArgument, "photo.jpg", Create());
  WriteFile(store_ + "/OWNER", "");
  EXPECT_STATUS(kInvalidArgument, "photo.jpg", Create());
  std::filesystem::remove(store_ + "/OWNER");
  EXPECT_EQ(FilesIn(store_), std::vector<std::string>{"photo.jpg"});
}

TEST_F(OpenTest, ADatabaseOfAnotherProgramIsRefused) {
  rocksdb::Options options;
  options.create_if_missing = true;
  rocksdb::DB* db = nullptr;
  ASSERT_TRUE(rocksdb::DB::Open(options, store_, &db).ok());
  delete db;
  const std::string before = Fingerprint(store_);
  ExpectRefused(StatusCode::kNotFound, "not a wq store");
  EXPECT_STATUS(kInvalidArgument, "it holds", Create());
  EXPECT_EQ(Fingerprint(store_), before);
}

// OWNER has no part of the store's data: an owner makes it anew, and nothing else needs it.
TEST_F(OpenTest, AMissingOwnerIsNoDamage) {
  MakeStore();
  std::filesystem::remove(store_ + "/OWNER");
  EXPECT_OK(Read());
  ASSERT_OK(Open());
  EXPECT_TRUE(std::filesystem::exists(store_ + "/OWNER"));
}

// The commands can be copied from the message to a shell.
TEST_F(OpenTest, ARefusalQuotesThePathOfTheStore) {
  const std::string store = dir_ / "it's mine";
  ASSERT_OK(OpenNew(store, &storage_));
  ASSERT_OK(storage_->Close());
  std::filesystem::remove(store + "/CURRENT");
  const std::string quoted = "'" + (dir_ / "it'\\''s mine") + "'";
  EXPECT_STATUS(kCorruption,
                store + "/CURRENT is missing; run wqctl --store " + quoted +
                    " verify, then restore a snapshot or run wqctl --store " + quoted +
                    " repair --into NEW",
                OpenReader(store + "/", &reader_));
}

TEST_F(OpenTest, AFormatThatIsDamagedOrOfAnotherStoreIsCorruption) {
  MakeStore();
  for (const char* text : {"", "wq-store", "wq-store 1", "wq-store x y\n", "wq-store 1 short\n",
                           "wq-store 1 01234567-89ab-4cde-8f01-23456789abcd",
                           "wq-store 1 01234567-89ab-4cde-8f01-23456789ab\x1b_\n", "hello\n"}) {
    WriteFile(store_ + "/FORMAT", text);
    ExpectRefused(StatusCode::kCorruption, "FORMAT");
  }
  WriteFile(store_ + "/FORMAT", "wq-store 1 01234567-89ab-4cde-8f01-23456789abcd\n");
  ExpectRefused(StatusCode::kCorruption, "FORMAT says");
}

TEST_F(OpenTest, AnotherFormatVersionIsNotSupported) {
  MakeStore();
  WriteFile(store_ + "/FORMAT", "wq-store 4 and whatever version 4 has to say\n");
  ExpectRefused(StatusCode::kNotSupported, "format version 4; this wq reads versions 1 to 3");
}

// The store's database, opened as RocksDB sees it.
void ChangeFamilies(const std::string& dir, const std::string& add, const std::string& drop) {
  std::vector<std::string> names;
  ASSERT_TRUE(rocksdb::DB::ListColumnFamilies({}, dir, &names).ok());
  std::vector<rocksdb::ColumnFamilyDescriptor> descriptors;
  for (const std::string& name : names) {
    descriptors.emplace_back(name, rocksdb::ColumnFamilyOptions());
  }
  std::vector<rocksdb::ColumnFamilyHandle*> handles;
  rocksdb::DB* db = nullptr;
  ASSERT_TRUE(rocksdb::DB::Open({}, dir, descriptors, &handles, &db).ok());
  if (!add.empty()) {
    rocksdb::ColumnFamilyHandle* added = nullptr;
    ASSERT_TRUE(db->CreateColumnFamily({}, add, &added).ok());
    handles.push_back(added);
  }
  for (rocksdb::ColumnFamilyHandle* handle : handles) {
    if (handle->GetName() == drop) {
      ASSERT_TRUE(db->DropColumnFamily(handle).ok());
    }
    ASSERT_TRUE(db->DestroyColumnFamilyHandle(handle).ok());
  }
  delete db;
}

TEST_F(OpenTest, AFamilyThatIsUnknownOrMissingOrHasAnotherNumberIsRefused) {
  MakeStore();
  ChangeFamilies(store_, "tomorrow", "");
  ExpectRefused(StatusCode::kNotSupported, "tomorrow");
  ChangeFamilies(store_, "", "tomorrow");
  ChangeFamilies(store_, "", "delayed");
  ExpectRefused(StatusCode::kCorruption, "the family delayed is missing");
  ChangeFamilies(store_, "delayed", "");
  ExpectRefused(StatusCode::kCorruption, "the family delayed has the number");
}

// Creation that ended early, step by step: opening refuses, creating finishes it.
TEST_F(OpenTest, AnInterruptedCreationIsFinished) {
  std::filesystem::create_directory(store_);
  WriteFile(store_ + "/OWNER", "");  // Nothing else was made yet.
  ExpectRefused(StatusCode::kNotFound, "not finished");
  ASSERT_OK(Create());
  EXPECT_OK(storage_->Close());
  std::filesystem::remove(store_ + "/FORMAT");  // FORMAT is made last.
  StoreRecord first;
  ExpectRefused(StatusCode::kNotFound, "not finished");
  WriteFile(store_ + "/FORMAT.tmp", "wq-st");
  ASSERT_OK(Create());
  ASSERT_OK(GetStore(*storage_, &first));
  EXPECT_EQ(ReadFile(store_ + "/FORMAT"), "wq-store 3 " + first.uuid + "\n");
}

TEST_F(OpenTest, ADatabaseWithoutAllItsFamiliesIsFinished) {
  std::filesystem::create_directory(store_);
  rocksdb::Options options;
  options.create_if_missing = true;
  rocksdb::DB* db = nullptr;
  ASSERT_TRUE(rocksdb::DB::Open(options, store_, &db).ok());
  delete db;
  WriteFile(store_ + "/OWNER", "1\n");
  EXPECT_STATUS(kNotFound, "not finished", Open());
  ASSERT_OK(Create());
  EXPECT_OK(storage_->Close());
  EXPECT_OK(Open());
}

TEST_F(OpenTest, ACleanCloseLeavesNothingToReplay) {
  MakeStore();
  for (const std::string& name : FilesWithSuffix(store_, ".log")) {
    EXPECT_EQ(ReadFile(store_ + "/" + name).size(), 0U) << name;
  }
  ASSERT_OK(Open());
  ASSERT_OK(Put(storage_.get(), Family::kDirty, "k", "v"));
  EXPECT_OK(storage_->Close());
  EXPECT_STATUS(kShuttingDown, "closed", Put(storage_.get(), Family::kDirty, "k", "v"));
}

TEST_F(OpenTest, RowsOfAnEarlierVersionAreRemovedWithALineInTheLog) {
  MakeStore();
  MutationBatch batch;
  const std::string key("limits/\0\0\0\1g", 12);
  batch.Put(Family::kDefault, key, "\x0a");
  ASSERT_OK(Open());
  ASSERT_OK(storage_->Write(batch, true));
  ASSERT_OK(storage_->Close());
  storage_.reset();
  ASSERT_OK(Open());
  std::string value;
  EXPECT_EQ(storage_->Get(Family::kDefault, key, &value).code(), StatusCode::kNotFound);
  EXPECT_NE(ReadFile(store_ + "/LOG").find("dropped 1 limits of groups"), std::string::npos);
}

TEST_F(OpenTest, FilesStayBoundedOverManyOpenings) {
  MakeStore();
  for (int i = 0; i < 12; ++i) {
    ASSERT_OK(Open());
    ASSERT_OK(Put(storage_.get(), Family::kDirty, "k", std::to_string(i)));
    if (i % 2 == 0) ASSERT_OK(storage_->Close());
    storage_.reset();
  }
  EXPECT_LT(FilesIn(store_).size(), 40U);
}

}  // namespace
}  // namespace wq::storage
