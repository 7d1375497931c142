// DumpRecords: what a store holds of its first queue, in the words of Subject::Dump.
#pragma once

#include <string>

#include "storage/storage.h"

namespace wq::model {

std::string DumpRecords(const storage::Reader& reader);

}  // namespace wq::model
