#include "tools/wqctl/serve/serve_config.h"

#include <cerrno>
#include <charconv>
#include <fstream>
#include <functional>
#include <memory>
#include <sstream>
#include <utility>

#include "tools/wqctl/cli/open_queue.h"
#include "tools/wqctl/cli/queues.h"
#include "tools/wqctl/cli/rate.h"
#include "tools/wqctl/cli/settings.h"
#include "tools/wqctl/text/duration.h"
#include "tools/wqctl/text/log.h"
#include "tools/wqctl/text/number.h"
#include "wq/keys.h"
#include "wq/limiter.h"

namespace wqctl {
namespace {

constexpr size_t kMaxLineBytes = 4096;

// Each returns false if the text is no value of the target's type.
using Setter = std::function<bool(const std::string& text)>;
using Setters = std::map<std::string, Setter>;

std::optional<double> ParseJitter(std::string_view text) {
  double jitter = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), jitter);
  const bool whole = error == std::errc() && end == text.data() + text.size();
  return whole && jitter >= 0 && jitter <= 0.5 ? std::optional(jitter) : std::nullopt;
}

// What the command line has set stays.
Setter Text(std::string* target) {
  return [target](const std::string& text) {
    if (target->empty()) *target = text;
    return !text.empty();
  };
}

template <typename T>
void Set(std::optional<T>* target, const T& value) {
  if (!*target) *target = value;
}

// Of a section, which the command line has not.
template <typename T>
void Set(T* target, const T& value) {
  *target = value;
}

template <typename T, typename Target>
Setter Parsed(std::optional<T> (*parse)(std::string_view), Target* target) {
  return [parse, target](const std::string& text) {
    const std::optional<T> value = parse(text);
    if (value) Set(target, *value);
    return value.has_value();
  };
}

template <typename T, typename Target>
Setter Choice(std::vector<std::pair<const char*, T>> choices, Target* target) {
  return [choices = std::move(choices), target](const std::string& text) {
    for (const auto& [word, value] : choices) {
      if (word != text) continue;
      Set(target, value);
      return true;
    }
    return false;
  };
}

template <typename Target>
Setter YesNo(Target* target) {
  return Choice<bool>({{"yes", true}, {"no", false}}, target);
}

Setter Lanes(std::vector<wq::Lane>* target) {
  return [target](const std::string& text) {
    std::istringstream words(text);
    for (std::string word; words >> word;) {
      const std::optional<wq::Lane> lane = wq::ParseLane(word);
      if (!lane) return false;
      target->push_back(*lane);
    }
    return !target->empty();
  };
}

Setters SettersOf(ServeConfig* config) {
  return {{"address", Text(&config->address)},
          {"tls-cert", Text(&config->tls_cert)},
          {"tls-key", Text(&config->tls_key)},
          {"tls-client-ca", Text(&config->tls_client_ca)},
          {"tls-any-client", YesNo(&config->tls_any_client)},
          {"token-file", Text(&config->token_file)},
          {"viewer-token-file", Text(&config->viewer_token_file)},
          {"log-changes", YesNo(&config->log_changes)},
          {"read-only", YesNo(&config->read_only)},
          {"http", Text(&config->http)},
          {"http-any-address", YesNo(&config->http_any_address)},
          {"page", YesNo(&config->page)},
          {"create", YesNo(&config->create)},
          {"create-queues", YesNo(&config->create_queues)},
          {"grace", Parsed(ParseDuration, &config->grace)},
          {"max-workers", Parsed(ParseNumber<uint32_t, 1>, &config->max_workers)},
          {"max-grpc-connections", Parsed(ParseNumber<uint32_t, 1>, &config->max_grpc_connections)},
          {"max-http-connections", Parsed(ParseNumber<uint32_t, 1>, &config->max_http_connections)},
          {"max-newcomers", Parsed(ParseNumber<uint32_t, 1>, &config->max_newcomers)},
          {"io-timeout", Parsed(ParseIoTimeout, &config->io_timeout)},
          {"newcomer-timeout", Parsed(ParseIoTimeout, &config->newcomer_timeout)},
          {"history-bytes", Parsed(ParseHistoryBytes, &config->history.bytes)},
          {"history-age", Parsed(ParseHistoryAge, &config->history.age)},
          {"durability", Choice(DurabilityWords(), &config->durability)},
          {"replicate", Text(&config->log.url)},
          {"replica", Text(&config->log.replica)},
          {"lease", Parsed(ParseLease, &config->log.lease)},
          {"etcd-ca", Text(&config->log.etcd_ca)},
          {"etcd-cert", Text(&config->log.etcd_cert)},
          {"etcd-key", Text(&config->log.etcd_key)},
          {"etcd-user", Text(&config->log.etcd_user)},
          {"etcd-password-file", Text(&config->log.etcd_password_file)}};
}

Setters SettersOf(QueueConfig* queue) {
  return {
      {"order", Choice<wq::Order>({{"fifo", wq::Order::kFifo},
                                   {"two-lanes", wq::Order::kTwoLanes},
                                   {"lanes", wq::Order::kLanes},
                                   {"priorities", wq::Order::kPriorities},
                                   {"fair", wq::Order::kFair}},
                                  &queue->options.order)},
      {"lanes", Lanes(&queue->options.lanes)},
      {"starvation-bound", Parsed(ParseNumber<uint32_t>, &queue->options.starvation_bound)},
      {"shards", Parsed(ParseNumber<uint32_t>, &queue->options.shards)},
      {"max-requeues", Parsed(ParseNumber<uint64_t>, &queue->options.max_requeues)},
      {"base-delay", Parsed(ParseDuration, &queue->base_delay)},
      {"max-delay", Parsed(ParseDuration, &queue->max_delay)},
      {"durability", Choice(DurabilityWords(), &queue->durability)},
      {"merge-delays", YesNo(&queue->options.merge_delays)},
      {"re-add", Choice<wq::ReAdd>(
                     {{"sets-lane", wq::ReAdd::kSetsLane}, {"raises-lane", wq::ReAdd::kRaisesLane}},
                     &queue->options.re_add)},
      {"quarantined-add", Choice<wq::QuarantinedAdd>({{"hold", wq::QuarantinedAdd::kHold},
                                                      {"release", wq::QuarantinedAdd::kRelease}},
                                                     &queue->options.quarantined_add)},
      {"max-key-bytes", Parsed(ParseNumber<uint64_t, 1>, &queue->options.max_key_bytes)},
      {"debounce", Parsed(ParseDuration, &queue->options.debounce.quiet)},
      {"debounce-max-wait", Parsed(ParseDuration, &queue->options.debounce.max_wait)},
      {"max-pending", Parsed(ParseNumber<uint64_t>, &queue->options.max_pending)},
      {"when-full",
       Choice<wq::WhenFull>({{"wait", wq::WhenFull::kWait}, {"refuse", wq::WhenFull::kRefuse}},
                            &queue->options.when_full)},
      {"stuck-after", Parsed(ParseDuration, &queue->options.stuck_after)},
      {"resync", Parsed(ParseDuration, &queue->options.resync.period)},
      {"resync-jitter", Parsed(ParseJitter, &queue->options.resync.jitter)},
      {"max-processing", Parsed(ParseNumber<uint32_t>, &queue->options.limits.max_processing)},
      {"rate", Parsed(ParseHandOutRate, &queue->options.limits.rate.per_second)},
      {"burst", Parsed(ParseNumber<uint32_t, 1>, &queue->options.limits.rate.burst)},
      {"group-max-processing",
       Parsed(ParseNumber<uint32_t>, &queue->options.group_limits.max_processing)},
      {"group-rate", Parsed(ParseHandOutRate, &queue->options.group_limits.rate.per_second)},
      {"group-burst", Parsed(ParseNumber<uint32_t, 1>, &queue->options.group_limits.rate.burst)}};
}

class ConfigReader {
 public:
  ConfigReader(std::string path, ServeConfig* config)
      : path_(std::move(path)), config_(config), setters_(SettersOf(config)), lines_(&top_) {}

  wq::Status ReadLine(const std::string& line) {
    ++line_;
    const std::string text = Trimmed(line);
    if (text.empty() || text.front() == '#') return {};
    if (line.size() > kMaxLineBytes) return Invalid("the line is too long");
    return text.front() == '[' ? BeginSection(text) : Set(text);
  }

 private:
  wq::Status BeginSection(const std::string& text) {
    constexpr std::string_view kBegin = "[queue ";
    if (!text.starts_with(kBegin) || text.back() != ']')
      return Invalid("it is not \"[queue NAME]\"");
    const std::string name =
        Trimmed(std::string_view(text).substr(kBegin.size(), text.size() - kBegin.size() - 1));
    const auto [section, is_new] = config_->queues.try_emplace(name);
    if (!is_new) return Invalid("a second section of queue \"" + wq::EscapeKey(name, 100) + "\"");
    setters_ = SettersOf(&section->second);
    lines_ = &section->second.lines;
    return {};
  }

  wq::Status Set(const std::string& text) {
    const size_t equals = text.find('=');
    if (equals == std::string::npos) return Invalid("it is not \"name = value\"");
    const std::string name = Trimmed(std::string_view(text).substr(0, equals));
    const auto setter = setters_.find(name);
    if (setter == setters_.end()) return Unknown(name);
    const std::string value = Trimmed(std::string_view(text).substr(equals + 1));
    if (!lines_->emplace(name, value).second) return Invalid("a second \"" + name + "\"");
    if (!setter->second(value)) {
      return Invalid("\"" + wq::EscapeKey(value, 100) + "\" is no value of \"" + name + "\"");
    }
    return {};
  }

  wq::Status Unknown(const std::string& name) const {
    std::vector<std::string> names;
    for (const auto& [known, _] : setters_) names.push_back(known);
    const std::optional<std::string> meant = Nearest(name, names);
    return Invalid("there is no \"" + wq::EscapeKey(name, 100) + "\" here" +
                   (meant ? "; did you mean \"" + *meant + "\"?" : ""));
  }

  wq::Status Invalid(const std::string& why) const {
    return wq::Status::InvalidArgument(path_ + ":" + std::to_string(line_) + ": " + why);
  }

  const std::string path_;
  ServeConfig* const config_;
  Setters setters_;                            // Of the section.
  std::map<std::string, std::string> top_;     // The lines above all sections.
  std::map<std::string, std::string>* lines_;  // Those of the section.
  uint64_t line_ = 0;
};

}  // namespace

std::optional<std::chrono::microseconds> ParseIoTimeout(std::string_view text) {
  const std::optional<std::chrono::microseconds> timeout = ParseDuration(text);
  const bool valid =
      timeout && *timeout >= std::chrono::milliseconds(100) && *timeout <= std::chrono::hours(1);
  return valid ? timeout : std::nullopt;
}

wq::QueueOptions QueueConfig::Options() const {
  wq::QueueOptions made = options;
  made.durability = durability.value_or(made.durability);
  if (!lines.contains("debounce-max-wait")) made.debounce.max_wait = made.debounce.quiet;
  if (base_delay || max_delay) {
    made.limiter = std::make_shared<wq::ItemExponentialFailure>(
        base_delay.value_or(std::chrono::milliseconds{5}),
        max_delay.value_or(std::chrono::seconds{1000}));
  }
  return made;
}

QueueConfig QueueConfig::WithoutLimits() const {
  QueueConfig without = *this;
  for (const char* const name :
       {"max-processing", "rate", "burst", "group-max-processing", "group-rate", "group-burst"}) {
    without.lines.erase(name);
  }
  return without;
}

QueueConfig ServeConfig::Of(std::string_view queue) const {
  QueueConfig found;
  for (const std::string& name : {std::string(queue), std::string("*")}) {
    if (const auto section = queues.find(name); section != queues.end()) {
      found = section->second;
      break;
    }
  }
  if (!found.durability) found.durability = DurabilityOf(durability, !log.url.empty());
  return found;
}

wq::Status ReadServeConfig(const std::string& path, ServeConfig* config) {
  const auto unreadable = [&path](int error) {
    return wq::Status::IOError("cannot read " + wq::EscapeKey(path, 4096) + ": " +
                               ErrnoText(error));
  };
  std::ifstream file(path);
  if (!file) return unreadable(errno);
  ConfigReader reader(wq::EscapeKey(path, 4096), config);
  for (std::string line; std::getline(file, line);) {
    if (wq::Status s = reader.ReadLine(line); !s.ok()) return s;
  }
  return file.bad() ? unreadable(errno) : wq::Status::Ok();  // A directory can be opened.
}

}  // namespace wqctl
