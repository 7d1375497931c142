#include "tests/support/recording_disk.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>
#include <optional>
#include <utility>

#include "storage/process_log/format.h"
#include "tests/support/files.h"

namespace wq::support {
namespace {

using Kind = FileCall::Kind;

constexpr size_t kPage = 4096;

// Copies memory to which other threads store at the same time, word by word: a torn page is what a
// power cut may leave. The sanitizers must not check that.
#if defined(__SANITIZE_THREAD__)
__attribute__((no_sanitize("thread")))
#endif
void CopyWords(const char* from, char* to, size_t bytes) {
  for (size_t at = 0; at < bytes; at += sizeof(uint64_t)) {
    const uint64_t word = *reinterpret_cast<const volatile uint64_t*>(from + at);
    std::memcpy(to + at, &word, sizeof word);
  }
}

// As another boot finds a process log.
std::string WithAnotherBootId(std::string log) {
  storage::ProcessLogHeader header;
  if (log.size() >= storage::kLogPageBytes &&
      storage::DecodeLogHeader(std::string_view(log).substr(0, storage::kLogPageBytes), &header)
          .ok()) {
    header.boot_id = "before-the-cut";
    log.replace(0, storage::kLogPageBytes, storage::EncodeLogHeader(header));
  }
  return log;
}

std::string FolderOf(const std::string& path) { return path.substr(0, path.rfind('/')); }

// The contents of a file after a power cut.
std::string Survivor(const std::string& contents, uint64_t synced, Unsynced unsynced,
                     std::mt19937_64* random) {
  const uint64_t size = contents.size();
  if (unsynced == Unsynced::kKept || synced >= size) {
    return contents;
  }
  std::string left = contents;
  if (unsynced == Unsynced::kHoles) {
    for (uint64_t sector = synced / RecordingDisk::kSector; sector * RecordingDisk::kSector < size;
         ++sector) {
      if ((*random)() % 3 == 0) {
        const uint64_t begin = std::max(synced, sector * RecordingDisk::kSector);
        const uint64_t end = std::min(size, (sector + 1) * RecordingDisk::kSector);
        std::fill(left.begin() + static_cast<int64_t>(begin),
                  left.begin() + static_cast<int64_t>(end), '\0');
      }
    }
    return left;
  }
  uint64_t end = synced;
  if (unsynced != Unsynced::kDropped) {
    end += (*random)() % (size - synced + 1);
    end = std::max(synced, end / RecordingDisk::kSector * RecordingDisk::kSector);
  }
  left.resize(end);
  if (unsynced == Unsynced::kZeroed) {
    left.resize(size, '\0');
  }
  return left;
}

}  // namespace

void RecordingDisk::File::Write(uint64_t at, const std::string& bytes) {
  contents.resize(std::max<uint64_t>(contents.size(), at + bytes.size()), '\0');
  contents.replace(at, bytes.size(), bytes);
  for (uint64_t page = at / kPage; paged && page * kPage < at + bytes.size(); ++page) {
    stored[page].push_back(contents.substr(page * kPage, kPage));
  }
}

// The files while the changes are replayed.
struct RecordingDisk::State {
  using Names = std::map<std::string, size_t>;  // Path to the index in `files`.
  struct NameChange {
    std::string folder;
    std::vector<std::pair<std::string, std::optional<size_t>>> names;  // Unset: removed.
    bool makes_directory = false;
  };

  std::vector<File> files;
  Names live;
  Names durable;
  bool directory_durable = false;
  std::vector<NameChange> pending;

  size_t NewFile(std::string contents = {}) {
    const uint64_t synced = contents.size();
    files.push_back({std::move(contents), synced});
    return files.size() - 1;
  }
  void Apply(const NameChange& change, Names* names) {
    for (const auto& [name, file] : change.names) {
      if (file) {
        (*names)[name] = *file;
      } else {
        names->erase(name);
      }
    }
  }
  void Note(NameChange change) {
    Apply(change, &live);
    pending.push_back(std::move(change));
  }
  void ApplyDurably(const NameChange& change) {
    Apply(change, &durable);
    directory_durable = directory_durable || change.makes_directory;
  }
  void SyncFolder(const std::string& folder) {
    std::erase_if(pending, [&](const NameChange& change) {
      if (change.folder == folder) {
        ApplyDurably(change);
      }
      return change.folder == folder;
    });
  }
  void Make(const Change& change);
};

void RecordingDisk::State::Make(const Change& change) {
  const FileCall& call = change.call;
  const std::string folder = FolderOf(call.path);
  const auto found = live.find(call.path);
  switch (call.kind) {
    case Kind::kOpen:
      if (found != live.end()) {
        return;
      }
      [[fallthrough]];
    case Kind::kCreate:
      Note({folder, {{call.path, NewFile()}}});
      return;
    case Kind::kAppend:
      if (found != live.end()) {
        files[found->second].Write(call.size, change.bytes);
      }
      return;
    case Kind::kAllocate:
      if (found != live.end()) {
        File& file = files[found->second];
        file.paged = true;
        file.contents.resize(call.size, '\0');
      }
      return;
    case Kind::kTruncate:
      if (found != live.end()) {
        File& file = files[found->second];
        file.contents.resize(call.size, '\0');
        file.synced = std::min<uint64_t>(file.synced, call.size);
      }
      return;
    case Kind::kSync:
      if (found != live.end()) {
        File& file = files[found->second];
        file.synced = std::max(file.synced, call.size);
        if (file.paged) {
          file.synced_pages = file.contents;
          file.stored.clear();
        }
      }
      return;
    case Kind::kRename:
    case Kind::kLink:
      if (found != live.end()) {
        NameChange moved{folder, {{call.target, found->second}}};
        if (call.kind == Kind::kRename) {
          moved.names.emplace_back(call.path, std::nullopt);
        }
        Note(std::move(moved));
      }
      return;
    case Kind::kDelete:
      Note({folder, {{call.path, std::nullopt}}});
      return;
    case Kind::kMakeDirectory:
      Note({.folder = folder, .names = {}, .makes_directory = true});
      return;
    case Kind::kSyncDirectory:
      SyncFolder(call.path);
      return;
    case Kind::kMap:
    case Kind::kUnmap:
    case Kind::kRead:
      return;
  }
}

RecordingDisk::RecordingDisk(const std::string& dir) : dir_(dir) {
  existed_ = std::filesystem::exists(dir);
  if (existed_) {
    for (auto& [name, contents] : ReadFiles(dir)) before_[dir + "/" + name] = contents;
  }
}

uint64_t RecordingDisk::calls() {
  const std::lock_guard lock(mu_);
  RecordStores();
  return changes_.size();
}

void RecordingDisk::RecordStores() {
  std::string page(kPage, '\0');
  for (Mapping& mapping : mappings_) {
    for (size_t at = 0; at < mapping.memory.size(); at += kPage) {
      CopyWords(mapping.memory.data() + at, page.data(), kPage);
      if (mapping.image.compare(at, kPage, page) != 0) {
        mapping.image.replace(at, kPage, page);
        changes_.push_back({{Kind::kAppend, mapping.path, {}, {}, at}, page});
      }
    }
  }
}

void RecordingDisk::After(const FileCall& call) {
  if (call.kind == Kind::kRead) {
    return;
  }
  RecordStores();
  if (call.kind == Kind::kMap) {
    mappings_.push_back({call.path, call.bytes, ReadFile(call.path)});
    return;
  }
  if (call.kind == Kind::kUnmap) {
    std::erase_if(mappings_, [&](const Mapping& mapping) {
      return mapping.memory.data() == call.bytes.data();
    });
    return;
  }
  changes_.push_back({call, std::string(call.bytes)});
  changes_.back().call.bytes = {};
}

// Half of the cuts keep no unsynced page, or all of them.
std::string RecordingDisk::PagedSurvivor(const File& file, std::mt19937_64* random, Left* left) {
  const uint64_t kind = (*random)() % 4;
  std::string survivor = file.synced_pages;
  survivor.resize(file.contents.size(), '\0');
  for (const auto& [page, images] : file.stored) {
    const size_t at = page * kPage;
    const auto store = [&, &images = images](size_t offset, size_t bytes) {
      const uint64_t chosen = kind == 0   ? 0
                              : kind == 1 ? images.size()
                                          : (*random)() % (images.size() + 1);
      if (chosen > 0) survivor.replace(at + offset, bytes, images[chosen - 1], offset, bytes);
    };
    if ((*random)() % 8 == 0) {  // Torn: its sectors were written at different times.
      for (size_t offset = 0; offset < kPage; offset += kSector) store(offset, kSector);
    } else {
      store(0, kPage);
    }
    uint64_t lost = 0;
    for (size_t i = at; i < at + kPage; ++i) lost += survivor[i] == file.contents[i] ? 0 : 1;
    left->lost_pages += lost == 0 ? 0 : 1;
    left->unsynced_bytes += lost;
  }
  return survivor;
}

RecordingDisk::Left RecordingDisk::Cut(uint64_t calls, Unsynced unsynced, std::mt19937_64* random,
                                       const std::string& to) const {
  State state;
  for (const auto& [path, contents] : before_) {
    state.live[path] = state.durable[path] = state.NewFile(contents);
  }
  state.directory_durable = existed_;
  {
    const std::lock_guard lock(mu_);
    for (uint64_t i = 0; i < calls && i < changes_.size(); ++i) {
      state.Make(changes_[i]);
    }
  }
  // Of the unsynced changes of names either none, all, or the first few survive.
  const size_t pending = state.pending.size();
  const size_t kept = std::array{size_t{0}, pending, (*random)() % (pending + 1)}[(*random)() % 3];
  for (size_t i = 0; i < kept; ++i) {
    state.ApplyDurably(state.pending[i]);
  }
  Left left;
  left.undone_names = pending - kept;
  if (!state.directory_durable) {
    return left;
  }
  std::filesystem::create_directory(to);
  for (const auto& [path, index] : state.durable) {
    const File& file = state.files[index];
    std::string contents = file.paged ? PagedSurvivor(file, random, &left)
                                      : Survivor(file.contents, file.synced, unsynced, random);
    const std::string name = path.substr(dir_.size() + 1);
    if (name.ends_with(".ring")) contents = WithAnotherBootId(std::move(contents));
    WriteFile(to + "/" + name, contents);
    left.unsynced_bytes += file.contents.size() - std::min(contents.size(), file.contents.size());
    left.files[name] = {.synced = file.synced, .size = file.contents.size()};
  }
  return left;
}

}  // namespace wq::support
