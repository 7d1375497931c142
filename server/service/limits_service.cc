#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "server/api/convert.h"
#include "server/service/services.h"
#include "wq/v1/admin.pb.h"

namespace wq {
namespace {

constexpr size_t kMaxGroups = 1000;  // Of one request or answer.

Status ReadPage(const LimitsReader& read, const v1::GetLimitsRequest& request,
                v1::GetLimitsResponse* response) {
  const std::vector<std::string> groups(request.groups().begin(), request.groups().end());
  if (groups.size() > kMaxGroups) {
    return Status::InvalidArgument("a request has more than " + std::to_string(kMaxGroups) +
                                   " groups");
  }
  std::map<std::string, GroupStatus> limits;
  if (Status s = read(request.queue(), groups, &limits); !s.ok()) {
    return s;
  }
  const bool all = groups.empty();
  const size_t most =
      all && request.limit() > 0 ? std::min<size_t>(request.limit(), kMaxGroups) : kMaxGroups;
  auto it = all && request.has_after() ? limits.upper_bound(request.after()) : limits.begin();
  for (size_t i = 0; it != limits.end() && i < most; ++i, ++it) {
    ToStatus(it->first, it->second, response->add_groups());
  }
  response->set_more(it != limits.end());
  return {};
}

}  // namespace

void AddLimitsService(LimitsReader read, MethodTable* table) {
  table->Add(Unary<v1::GetLimitsRequest, v1::GetLimitsResponse>(
      "wq.v1.Admin", "GetLimits",
      [read = std::move(read)](const v1::GetLimitsRequest& request,
                               v1::GetLimitsResponse* response) {
        return ReadPage(read, request, response);
      },
      [](const v1::GetLimitsRequest&) { return true; }));
}

}  // namespace wq
