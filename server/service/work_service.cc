#include "server/service/services.h"
#include "wq/v1/work.pb.h"

namespace wq {
namespace {

constexpr std::string_view kWorkService = "wq.v1.Work";

// A Hello may open a queue, and reserves tokens.
bool WorkMayWait(const v1::WorkRequest& request) {
  if (request.has_hello()) {
    return true;
  }
  for (const v1::Answer& answer : request.answers()) {
    if (answer.durability() == v1::DURABILITY_POWER ||
        answer.durability() == v1::DURABILITY_REPLICATED) {
      return true;
    }
  }
  return false;
}

}  // namespace

void AddWorkService(WorkHub* hub, MethodTable* table) {
  table->Add(Streaming<v1::WorkRequest, v1::WorkResponse>(
      kWorkService, "Work",
      [hub](const Caller& caller, StreamCarrier* carrier) { return hub->Open(caller, carrier); },
      WorkMayWait));
  table->Add(Unary<v1::SendRequest, v1::SendResponse>(
      kWorkService, "Send",
      [hub](const v1::SendRequest& request, v1::SendResponse*) { return hub->Send(request); },
      // For another message of the same worker, at least.
      [](const v1::SendRequest&) { return true; }));
}

}  // namespace wq
