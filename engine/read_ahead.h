// ReadAhead: a reader whose long scans read in a thread of their own, a little ahead of the visitor.
//
//   const ReadAhead ahead(reader);
//   Status s = ahead.Scan(family, begin, end, visit);   // `visit` runs in this thread, as ever
//
// Recovery spends as long on reading records as on making items of them: so it does both at once. The
// records on the way are bounded, to a few hundred KiB. Threading: as the reader's, which is borrowed.
#pragma once

#include <string>
#include <string_view>

#include "storage/storage.h"

namespace wq {

class ReadAhead final : public storage::Reader {
 public:
  explicit ReadAhead(const storage::Reader& reader) : reader_(reader) {}

  Status Get(storage::Family family, std::string_view key, std::string* value) const override {
    return reader_.Get(family, key, value);
  }
  Status Scan(storage::Family family, std::string_view begin, std::string_view end,
              const Visitor& visit) const override;

 private:
  const storage::Reader& reader_;
};

}  // namespace wq
