// OtlpFile: writes each reconcile as a span into a file that the OpenTelemetry Collector reads: its
// receiver `otlpjsonfile`. The format is that of OTLP's file exporter: one TracesData a line, in
// JSON, with ids in hexadecimal and 64-bit numbers as strings:
// https://opentelemetry.io/docs/specs/otel/protocol/file-exporter/
//
//   OtlpFile spans("my-operator");
//   wq::Status s = spans.Open("/var/log/my-operator/spans.jsonl");
//   wq::Controller controller(queue, reconcile, {.observer = &spans, .trace = true});
//
// Thread-safe. Each span blocks its worker for one write; a span that cannot be written is counted.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <utility>

#include "wq/controller.h"
#include "wq/status.h"

class OtlpFile : public wq::ControllerObserver {
 public:
  explicit OtlpFile(std::string service) : service_(std::move(service)) {}
  ~OtlpFile() override;

  // Opens the file to append to it, once, before the controller starts. IOError: the message names
  // the path.
  wq::Status Open(const std::string& path);

  void OnEnd(const wq::Reconciled& reconciled) noexcept override;

  uint64_t lost() const { return lost_; }

 private:
  const std::string service_;
  int file_ = -1;
  std::atomic<uint64_t> lost_{0};
};
