#include "tests/replication/log_oracle.h"

#include <gtest/gtest.h>
#include <zstd.h>

#include <algorithm>
#include <string_view>

#include "storage/records.h"

namespace wq::replication {

using storage::Family;
using storage::Mutation;
using storage::MutationBatch;

Rows RowsOf(const storage::Reader& copy) {
  Rows rows;
  for (int i = 0; i < storage::kFamilyCount; ++i) {
    const auto family = static_cast<Family>(i);
    const Status s = copy.Scan(family, "", "", [&](std::string_view key, std::string_view value) {
      if (!storage::IsOfCopy(family, key)) rows[{family, std::string(key)}] = value;
      return true;
    });
    EXPECT_TRUE(s.ok()) << s.ToString();
  }
  return rows;
}

void LogOracle::Look() {
  std::vector<LogEntry> entries;
  const Status s = log_->Read(last_ + 1, SIZE_MAX, &entries);
  ASSERT_TRUE(s.ok()) << "entries were truncated before they were applied: " << s.ToString();
  LogState state;
  ASSERT_TRUE(log_->State(&state).ok());
  ASSERT_GE(state.last, last_) << "a complete group was erased";
  // The layout is that of storage/replication/log_group.h, which this must not use.
  constexpr size_t kPiece = 18;
  std::string mutations;
  uint64_t group_epoch = 0;
  for (auto entry = entries.begin(); entry != entries.end(); ++entry) {
    ASSERT_GE(entry->bytes.size(), kPiece);
    uint64_t epoch = 0;
    for (size_t i = 2; i < 10; ++i) epoch = epoch << 8 | static_cast<uint8_t>(entry->bytes[i]);
    if ((entry->bytes[1] & 1) != 0) {
      ASSERT_TRUE(mutations.empty()) << "a group after one that is not complete";
      group_epoch = epoch;
    }
    ASSERT_EQ(epoch, group_epoch) << "entry " << entry->sequence;
    ASSERT_GE(epoch, epoch_) << "entry " << entry->sequence;
    mutations += entry->bytes.substr(kPiece);
    if ((entry->bytes[1] & 2) == 0) continue;
    while (last_ < entry->sequence) {
      ++last_;
      entries_[last_] = entries[last_ - entries.front().sequence].bytes;
    }
    if ((entry->bytes[1] & 4) != 0) {
      std::string plain(ZSTD_getFrameContentSize(mutations.data(), mutations.size()), '\0');
      const size_t bytes =
          ZSTD_decompress(plain.data(), plain.size(), mutations.data(), mutations.size());
      ASSERT_EQ(bytes, plain.size()) << "entry " << entry->sequence;
      mutations.swap(plain);
    }
    ASSERT_NO_FATAL_FAILURE(TakeGroup(epoch, last_, mutations));
    mutations.clear();
  }
}

void LogOracle::TakeGroup(uint64_t epoch, LogSequence last, const std::string& mutations) {
  if (epoch > epoch_) {
    // The first of its ownership: what its owner had ahead, if nobody has appended since.
    ASSERT_TRUE(owners_.contains(epoch)) << "an epoch of nobody: " << epoch;
    const auto ahead = ahead_.find(owners_[epoch]);
    const std::string expected = ahead == ahead_.end() ? "" : ahead->second.mutations;
    ASSERT_TRUE(mutations == expected)
        << "the first group of epoch " << epoch << ", the entry " << last << ", has "
        << mutations.size() << " bytes, and not the " << expected.size() << " that '"
        << owners_[epoch] << "' had ahead";
  } else {
    ASSERT_TRUE(issued_.contains(mutations))
        << "the group up to the entry " << last << " is not one batch of its owner";
  }
  epoch_ = epoch;
  std::erase_if(ahead_, [&](const auto& each) { return each.second.epoch != epoch; });
  MutationBatch batch;
  ASSERT_TRUE(batch.AppendMutations(mutations)) << "entry " << last;
  batch.ForEach([this](const Mutation& mutation) {
    if (storage::IsOfCopy(mutation.family, mutation.key)) return;
    std::pair<Family, std::string> key(mutation.family, mutation.key);
    if (mutation.is_put) {
      rows_[std::move(key)] = mutation.value;
    } else {
      rows_.erase(key);
    }
  });
  groups_.push_back(mutations);
}

void LogOracle::LookAgain() {
  LogState state;
  ASSERT_TRUE(log_->State(&state).ok());
  std::vector<LogEntry> entries;
  ASSERT_TRUE(log_->Read(state.first, SIZE_MAX, &entries).ok());
  for (const LogEntry& entry : entries) {
    if (entry.sequence > last_) break;
    ASSERT_TRUE(entry.bytes == entries_[entry.sequence]) << "entry " << entry.sequence;
  }
}

void LogOracle::KeepAhead(const std::string& name, uint64_t epoch, const std::string& mutations) {
  ahead_.erase(name);
  if (!mutations.empty() && epoch == epoch_) ahead_[name] = {epoch, mutations};
}

void LogOracle::Acknowledged(const std::string& mutations) {
  const auto group =
      std::find(groups_.begin() + static_cast<ptrdiff_t>(acknowledged_), groups_.end(), mutations);
  ASSERT_TRUE(group != groups_.end()) << "a write of " << mutations.size()
                                      << " bytes was acknowledged and is not in the log, or is "
                                         "before one that was acknowledged earlier";
  acknowledged_ = static_cast<size_t>(group - groups_.begin()) + 1;
}

void LogOracle::CheckRefused() const {
  for (const std::string& mutations : refused_) {
    ASSERT_TRUE(std::find(groups_.begin(), groups_.end(), mutations) == groups_.end())
        << "a write of " << mutations.size() << " bytes was refused and is in the log";
  }
}

}  // namespace wq::replication
