#include "otlp_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <nlohmann/json.hpp>
#include <string_view>
#include <system_error>

#include "wq/keys.h"

namespace {

using Json = nlohmann::ordered_json;

// Values of OTLP's SpanKind and StatusCode.
constexpr int kKindConsumer = 5;
constexpr int kStatusError = 2;
// Where the ids are in "00-TRACE-SPAN-FLAGS".
constexpr size_t kTraceAt = 3;
constexpr size_t kTraceSize = 32;
constexpr size_t kSpanAt = 36;
constexpr size_t kSpanSize = 16;

Json Text(std::string_view key, std::string_view value) {
  return {{"key", key}, {"value", {{"stringValue", value}}}};
}

Json Number(std::string_view key, uint64_t value) {
  return {{"key", key}, {"value", {{"intValue", std::to_string(value)}}}};
}

// An object with the ids of a trace context.
Json Ids(const std::string& trace_parent) {
  return {{"traceId", trace_parent.substr(kTraceAt, kTraceSize)},
          {"spanId", trace_parent.substr(kSpanAt, kSpanSize)}};
}

// A cause without a trace is no link: its reason is an attribute of the span.
void AddCauses(const wq::Causes& causes, Json* span) {
  Json links = Json::array();
  Json reasons = Json::array();
  for (const wq::Cause& cause : causes.list) {
    if (cause.trace_parent.empty()) {
      reasons.push_back({{"stringValue", cause.reason}});
      continue;
    }
    Json link = Ids(cause.trace_parent);
    if (!cause.reason.empty()) {
      link["attributes"] = Json::array({Text("wq.reason", cause.reason)});
    }
    links.push_back(link);
  }
  if (!reasons.empty()) {
    (*span)["attributes"].push_back(
        {{"key", "wq.reasons"}, {"value", {{"arrayValue", {{"values", reasons}}}}}});
  }
  (*span)["links"] = links;
  if (causes.left_out > 0) {
    (*span)["droppedLinksCount"] = causes.left_out;
  }
}

Json SpanOf(const wq::Reconciled& reconciled) {
  const wq::AttemptTrace& trace = *reconciled.trace;
  const int64_t begun_ns = trace.begun_at_us * 1000;
  Json span = Ids(trace.trace_parent);
  span["name"] = "reconcile " + std::string(reconciled.queue);
  span["kind"] = kKindConsumer;
  span["startTimeUnixNano"] = std::to_string(begun_ns);
  span["endTimeUnixNano"] = std::to_string(begun_ns + reconciled.duration.count());
  span["attributes"] = Json::array({Text("wq.queue", reconciled.queue),
                                    Text("wq.key", wq::EscapeKey(reconciled.key)),
                                    Number("wq.failures", trace.failures),
                                    Text("wq.outcome", ReconcileOutcomeName(reconciled.outcome))});
  AddCauses(trace.causes, &span);
  if (reconciled.outcome == wq::ReconcileOutcome::kError) {
    span["status"] = {{"code", kStatusError}, {"message", reconciled.error}};
  }
  return span;
}

}  // namespace

OtlpFile::~OtlpFile() {
  if (file_ >= 0) {
    close(file_);
  }
}

wq::Status OtlpFile::Open(const std::string& path) {
  constexpr mode_t kMode = 0640;
  file_ = open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, kMode);
  return file_ >= 0 ? wq::Status::Ok()
                    : wq::Status::IOError("cannot open " + path + ": " +
                                          std::generic_category().message(errno));
}

void OtlpFile::OnEnd(const wq::Reconciled& reconciled) noexcept {
  if (reconciled.trace == nullptr) {
    return;
  }
  const Json scope = {{"scope", {{"name", "wq"}}}, {"spans", Json::array({SpanOf(reconciled)})}};
  const Json resource = {{"attributes", Json::array({Text("service.name", service_)})}};
  const Json line = {{"resourceSpans", Json::array({{{"resource", resource},
                                                     {"scopeSpans", Json::array({scope})}}})}};
  // An error's text may be no UTF-8. One call appends a line whole, beside those of other workers.
  const std::string text = line.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
  if (write(file_, text.data(), text.size()) != static_cast<ssize_t>(text.size())) {
    ++lost_;
  }
}
