#include "server/rpc/health.h"

#include <grpc/health/v1/health.pb.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <system_error>
#include <thread>
#include <unordered_set>
#include <utility>

#include "base/mutex.h"

namespace wq {
namespace {

using grpc::health::v1::HealthCheckRequest;
using grpc::health::v1::HealthCheckResponse;

constexpr auto kInterval = std::chrono::seconds(1);

class Health {
 public:
  Health(std::function<bool()> serving, const MethodTable* table)
      : serving_(std::move(serving)), table_(table) {}
  ~Health() {
    {
      const MutexLock lock(mu_);
      ending_ = true;
      changed_.NotifyAll();
    }
    if (thread_.joinable()) {
      thread_.join();
    }
  }
  Health(const Health&) = delete;
  Health& operator=(const Health&) = delete;

  bool Knows(const std::string& service) const {
    const std::string prefix = "/" + service + "/";
    const auto it = table_->all().lower_bound(prefix);
    return service.empty() || (it != table_->all().end() && it->first.starts_with(prefix));
  }
  HealthCheckResponse::ServingStatus Get(const std::string& service) const {
    if (!Knows(service)) {
      return HealthCheckResponse::SERVICE_UNKNOWN;
    }
    return last_ ? HealthCheckResponse::SERVING : HealthCheckResponse::NOT_SERVING;
  }
  // Blocks: as `serving`.
  void Read() { last_ = serving_(); }

  void Add(StreamCarrier* watch) {
    const MutexLock lock(mu_);
    watches_.insert(watch);
    try {
      if (!thread_.joinable()) {
        thread_ = std::thread([this] { Run(); });
      }
    } catch (const std::system_error&) {
      // The next Watch tries again. Until then changes are not sent.
    }
    changed_.NotifyAll();
  }
  void Remove(StreamCarrier* watch) {
    const MutexLock lock(mu_);
    watches_.erase(watch);
  }

 private:
  // Makes the watches compare the health with what they sent, each second; sleeps without any.
  void Run() {
    for (;;) {
      {
        const MutexLock lock(mu_);
        while (!ending_ && watches_.empty()) {
          changed_.Wait(mu_);
        }
        const auto next = std::chrono::steady_clock::now() + kInterval;
        while (!ending_ && std::chrono::steady_clock::now() < next) {
          changed_.WaitUntil(mu_, next);
        }
        if (ending_) {
          return;
        }
      }
      Read();
      const MutexLock lock(mu_);
      for (StreamCarrier* watch : watches_) {
        watch->Wake();
      }
    }
  }

  const std::function<bool()> serving_;
  const MethodTable* const table_;
  std::atomic<bool> last_{false};  // What serving_ returned last.
  Mutex mu_;
  CondVar changed_;
  bool ending_ WQ_GUARDED_BY(mu_) = false;
  std::unordered_set<StreamCarrier*> watches_ WQ_GUARDED_BY(mu_);
  std::thread thread_ WQ_GUARDED_BY(mu_);  // Joined by the destructor.
};

class HealthWatch : public Stream {
 public:
  HealthWatch(std::shared_ptr<Health> health, StreamCarrier* carrier)
      : health_(std::move(health)), carrier_(carrier) {
    health_->Add(carrier_);
  }

  bool MayWait(const Message& /*request*/) const override { return true; }
  Status Receive(const Message& request) override {
    health_->Read();
    {
      const MutexLock lock(mu_);
      service_ = static_cast<const HealthCheckRequest&>(request).service();
      received_ = true;
    }
    carrier_->Wake();
    return Status::Ok();
  }
  void ReceivedAll() override {}
  Next Take(Message* response, Status* /*end*/) override {
    const MutexLock lock(mu_);
    if (!received_) {
      return Next::kNothing;
    }
    const auto status = health_->Get(service_);
    if (status == sent_) {
      return Next::kNothing;
    }
    sent_ = status;
    static_cast<HealthCheckResponse*>(response)->set_status(status);
    return Next::kMessage;
  }
  void Close() override { health_->Remove(carrier_); }

 private:
  const std::shared_ptr<Health> health_;
  StreamCarrier* const carrier_;
  Mutex mu_;
  bool received_ WQ_GUARDED_BY(mu_) = false;
  std::string service_ WQ_GUARDED_BY(mu_);
  HealthCheckResponse::ServingStatus sent_ WQ_GUARDED_BY(mu_) = HealthCheckResponse::UNKNOWN;
};

}  // namespace

void AddHealth(std::function<bool()> serving, MethodTable* table) {
  const auto health = std::make_shared<Health>(std::move(serving), table);
  Method check = Unary<HealthCheckRequest, HealthCheckResponse>(
      "grpc.health.v1.Health", "Check",
      [health](const HealthCheckRequest& request, HealthCheckResponse* response) {
        health->Read();
        const auto status = health->Get(request.service());
        if (status == HealthCheckResponse::SERVICE_UNKNOWN) {
          return Status::NotFound("there is no service " + request.service());
        }
        response->set_status(status);
        return Status::Ok();
      },
      Waits);
  check.changes = false;
  table->Add(std::move(check));
  Method watch =
      MakeMethod("grpc.health.v1.Health", "Watch", HealthCheckRequest::default_instance(),
                 HealthCheckResponse::default_instance());
  watch.changes = false;
  watch.open = [health](const Caller&, StreamCarrier* carrier) {
    return std::make_unique<HealthWatch>(health, carrier);
  };
  table->Add(std::move(watch));
}

}  // namespace wq
