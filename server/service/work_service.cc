#include <utility>

#include "server/service/services.h"
#include "wq/v1/work.pb.h"

namespace wq {
namespace {

constexpr std::string_view kWorkService = "wq.v1.Work";

// A Hello may open a queue, and reserves tokens.
bool WorkMayWait(const Message& message) {
  const auto& request = static_cast<const v1::WorkRequest&>(message);
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
  Method work = MakeMethod(kWorkService, "Work", v1::WorkRequest::default_instance(),
                           v1::WorkResponse::default_instance());
  work.open = [hub](const Caller& caller, StreamCarrier* carrier) {
    return hub->Open(caller, carrier);
  };
  work.may_wait = WorkMayWait;
  table->Add(std::move(work));
  table->Add(Unary<v1::SendRequest, v1::SendResponse>(
      kWorkService, "Send", [hub](const auto& request, auto*) { return hub->Send(request); },
      Waits));  // For another message of the same worker, at least.
}

}  // namespace wq
