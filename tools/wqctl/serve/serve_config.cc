#include "tools/wqctl/serve/serve_config.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <fstream>
#include <memory>
#include <sstream>
#include <utility>

#include "base/names.h"
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

constexpr const char* kServeExamples =
    R"(Owns the store until SIGTERM or SIGINT, and serves it on DIR/control.sock to wqctl,
to workers and to clients in any language; with --address over TCP as well. All queues
are opened at the start, so that delayed keys become due.
With --http HOST:PORT it shows a live page of the store at that address, in a browser:
everybody on this machine may use it, or with --token-file whoever has the token.
FILE of --config has lines "name = value" with the names of these options, and sections
"[queue NAME]" with order, lanes, starvation-bound, shards, max-requeues, base-delay,
max-delay, durability, merge-delays and those of flow control (docs/flow-control.md);
"[queue *]" is for all other queues.
SIGHUP reads FILE and the token files again. A queue that is open takes its limits from
FILE and keeps its other options, and an address, a certificate's name or a socket is
changed by a restart only.
SIGTERM and SIGINT: no key is assigned any more, and workers have --grace to answer
those that they hold; a second signal ends at once. The rest stays in the store.
As a service of systemd it reports READY=1.

With --replicate the store is one of several replicas, on machines of their own: run
serve on each of them. It serves while it owns the store; meanwhile the others follow it,
and refuse connections. SIGTERM and SIGINT hand the store over to one of them.

Examples:
  wqctl --store /var/lib/wq/main serve --create
  wqctl --store /var/lib/wq/main serve --replicate etcd://10.0.0.1:2379/wq/main
  wqctl serve --address 0.0.0.0:7711 --token-file /etc/wq/token \
    --tls-cert cert.pem --tls-key key.pem
  systemctl enable --now wqctl@main)";

std::optional<double> ParseJitter(std::string_view text) {
  double jitter = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), jitter);
  const bool whole = error == std::errc() && end == text.data() + text.size();
  return whole && jitter >= 0 && jitter <= 0.5 ? std::optional(jitter) : std::nullopt;
}

std::optional<std::vector<wq::Lane>> ParseLanes(std::string_view text) {
  std::vector<wq::Lane> lanes;
  std::istringstream words{std::string(text)};
  for (std::string word; words >> word;) {
    const std::optional<wq::Lane> lane = wq::ParseLane(word);
    if (!lane) return std::nullopt;
    lanes.push_back(*lane);
  }
  return lanes.empty() ? std::nullopt : std::optional(std::move(lanes));
}

std::optional<std::chrono::milliseconds> ParseIoTimeout(std::string_view text) {
  using std::chrono::milliseconds;
  const std::optional<std::chrono::microseconds> timeout = ParseDuration(text);
  const bool valid = timeout && *timeout >= milliseconds(100) && *timeout <= std::chrono::hours(1);
  return valid ? std::optional(std::chrono::duration_cast<milliseconds>(*timeout)) : std::nullopt;
}

void AddAddressOptions(VerbParser* parser, wq::ServerOptions* server) {
  parser->NonEmpty(
      "--address", "HOST:PORT",
      "Serve over TCP too: on loopback, or with a token or client certificates; port 0: any",
      &server->address);
  parser->NonEmpty("--tls-cert", "FILE", "The certificate of the address, in PEM",
                   &server->tls_certificate_file);
  parser->NonEmpty("--tls-key", "FILE", "The key of the certificate, in PEM",
                   &server->tls_key_file);
  parser->NonEmpty("--tls-client-ca", "FILE", "Clients must show a certificate of this CA",
                   &server->tls_client_ca_file);
  parser->NonEmpty("--token-file", "FILE", "Calls over TCP must have the token in FILE",
                   &server->token_file);
  parser->NonEmpty("--viewer-token-file", "FILE",
                   "Calls over TCP with the token in FILE may read only",
                   &server->viewer_token_file);
  parser->NonEmpty("--http", "HOST:PORT",
                   "Serve the live page, /metrics, /healthz and /readyz on loopback; port 0: any",
                   &server->http_address);
  parser->Flag("--tls-any-client",
               "With TLS alone, let clients of other machines in without token or certificate",
               &server->tls_any_client);
  parser->Flag("--http-any-address",
               "Let --http be reachable from other machines; the page then needs --token-file",
               &server->http_any_address);
}

void AddLimitOptions(VerbParser* parser, wq::ServerOptions* server) {
  const auto number = [parser](const std::string& name, const std::string& description,
                               size_t* target) {
    AddParsed(parser, name, "N", description, "a number of at least 1", ParseNumber<size_t, 1>,
              target);
  };
  number("--max-workers", "Workers of all queues; default 4096", &server->max_workers);
  number("--max-grpc-connections", "Connections of gRPC; default 10000", &server->max_connections);
  number("--max-http-connections", "Connections of HTTP, of each address; default 10000",
         &server->max_http_connections);
  number("--max-newcomers", "HTTP connections of one peer that have made no call; default 4000",
         &server->max_newcomers);
  AddParsed(parser, "--io-timeout", "DURATION",
            "How long a client may take for a request, and again for its answer; default 10s",
            "a duration from 100ms to 1h", ParseIoTimeout, &server->io_timeout);
  AddParsed(parser, "--newcomer-timeout", "DURATION",
            "When a gRPC connection without an accepted call ends; default 30s",
            "a duration from 100ms to 1h", ParseIoTimeout, &server->newcomer_timeout);
}

// The options of a queue, of which a section of the file has some.
void ParseQueueOptions(const Input& input, QueueConfig* queue) {
  VerbParser parser(input, {}, nullptr);
  wq::QueueOptions& options = queue->options;
  const auto number = [&parser]<typename T>(const char* name, T* target) {
    AddParsed(&parser, name, "N", "", "a number", ParseNumber<T>, target);
  };
  const auto positive = [&parser]<typename T>(const char* name, T* target) {
    AddParsed(&parser, name, "N", "", "a number of at least 1", ParseNumber<T, 1>, target);
  };
  const auto rate = [&parser](const char* name, double* target) {
    AddParsed(&parser, name, "RATE", "", kHandOutRateTexts, ParseHandOutRate, target);
  };
  const auto duration = [&parser](const char* name, auto* target) {
    AddDuration(&parser, name, "", target);
  };
  AddChoice<wq::Order>(&parser, "--order", "", "",
                       {{"fifo", wq::Order::kFifo},
                        {"two-lanes", wq::Order::kTwoLanes},
                        {"lanes", wq::Order::kLanes},
                        {"priorities", wq::Order::kPriorities},
                        {"fair", wq::Order::kFair}},
                       &options.order);
  AddParsed(&parser, "--lanes", "N...", "", "a list of lanes with blanks between them", ParseLanes,
            &options.lanes);
  number("--starvation-bound", &options.starvation_bound);
  number("--shards", &options.shards);
  number("--max-requeues", &options.max_requeues);
  duration("--base-delay", &queue->base_delay);
  duration("--max-delay", &queue->max_delay);
  AddChoice<wq::Durability>(&parser, "--durability", "", "", DurabilityWords(), &queue->durability);
  parser.Flag("--merge-delays", "", &options.merge_delays);
  AddChoice<wq::ReAdd>(
      &parser, "--re-add", "", "",
      {{"sets-lane", wq::ReAdd::kSetsLane}, {"raises-lane", wq::ReAdd::kRaisesLane}},
      &options.re_add);
  AddChoice<wq::QuarantinedAdd>(
      &parser, "--quarantined-add", "", "",
      {{"hold", wq::QuarantinedAdd::kHold}, {"release", wq::QuarantinedAdd::kRelease}},
      &options.quarantined_add);
  positive("--max-key-bytes", &options.max_key_bytes);
  duration("--debounce", &options.debounce.quiet);
  duration("--debounce-max-wait", &options.debounce.max_wait);
  number("--max-pending", &options.max_pending);
  AddChoice<wq::WhenFull>(&parser, "--when-full", "", "",
                          {{"wait", wq::WhenFull::kWait}, {"refuse", wq::WhenFull::kRefuse}},
                          &options.when_full);
  duration("--stuck-after", &options.stuck_after);
  duration("--resync", &options.resync.period);
  AddParsed(&parser, "--resync-jitter", "PART", "", "a part of the period, from 0 to 0.5",
            ParseJitter, &options.resync.jitter);
  number("--max-processing", &options.limits.max_processing);
  rate("--rate", &options.limits.rate.per_second);
  positive("--burst", &options.limits.rate.burst);
  number("--group-max-processing", &options.group_limits.max_processing);
  rate("--group-rate", &options.group_limits.rate.per_second);
  positive("--group-burst", &options.group_limits.rate.burst);
  parser.ParseWithoutArguments();
}

// Takes each line of the file as a command line of one option.
class ConfigReader {
 public:
  explicit ConfigReader(ServeConfig* config) : config_(*config) {}

  void Take(const std::string& line) {
    if (line.front() == '[') return BeginSection(line);
    const auto [name, value] = NameAndValue(line);
    if (IsFlag(name) && value != "yes" && value != "no") {
      Usage(name + " is yes or no, not \"" + value + "\"");
    }
    if (!lines_->emplace(name, value).second) Usage("a second \"" + name + "\"");
    Parse({WordOf(name, value)});
  }

 private:
  void BeginSection(const std::string& line) {
    constexpr std::string_view kBegin = "[queue ";
    if (!line.starts_with(kBegin) || line.back() != ']') Usage("it is not \"[queue NAME]\"");
    const std::string name =
        Trimmed(std::string_view(line).substr(kBegin.size(), line.size() - kBegin.size() - 1));
    if (name != "*") {
      if (wq::Status s = wq::CheckName("queue", name); !s.ok()) Usage(s.message());
    }
    const auto [section, is_new] = config_.queues.try_emplace(name);
    if (!is_new) Usage("a second section of queue \"" + name + "\"");
    queue_ = &section->second;
    lines_ = &queue_->lines;
  }

  void Parse(Words words) {
    const Input input{.verb = "serve", .store_dir = "-", .words = std::move(words), .behind = {}};
    if (queue_ != nullptr) return ParseQueueOptions(input, queue_);
    std::string store_dir;
    ParseServeOptions(input, &store_dir, &config_);
  }

  // Usage error: there is no option of this name here.
  bool IsFlag(const std::string& name) {
    std::vector<std::string> names;
    bool flag = queue_ == nullptr && (name == "page" || name == "create-queues");
    if (queue_ == nullptr) names = {"page", "create-queues"};
    try {
      Parse(AskAbout());
    } catch (const VerbAbout& about) {
      for (const OptionAbout& option : about.options) {
        names.push_back(option.names.back().substr(2));
        flag |= name == names.back() && option.type.empty();
      }
    }
    std::erase_if(names, [](const std::string& option) {
      return option == "store" || option == "config" || option == "help";
    });
    if (std::find(names.begin(), names.end(), name) == names.end()) {
      Usage("there is no \"" + name + "\" here" + DidYouMean(name, names));
    }
    return flag;
  }

  // "page = no" is --no-page.
  static std::string WordOf(const std::string& name, const std::string& value) {
    if (name != "page" && name != "create-queues") return "--" + name + "=" + value;
    return "--no-" + name + "=" + (value == "no" ? "yes" : "no");
  }

  ServeConfig& config_;
  QueueConfig* queue_ = nullptr;                       // Of the section; null above all sections.
  std::map<std::string, std::string> top_;             // The lines above all sections.
  std::map<std::string, std::string>* lines_ = &top_;  // Those of the section.
};

wq::Status ReadConfigFile(const std::string& path, ServeConfig* config) {
  std::ifstream file(path);
  ConfigReader reader(config);
  if (file) ReadLines(file, path, [&reader](const std::string& line) { reader.Take(line); });
  if (file.eof()) return wq::Status::Ok();
  return wq::Status::IOError("cannot read " + wq::EscapeKey(path, 4096) + ": " +
                             ErrnoText(errno));  // Also of a directory, which can be opened.
}

}  // namespace

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

void ParseServeOptions(const Input& input, std::string* store_dir, ServeConfig* config) {
  VerbParser parser(input, {"Serves a store to other processes.", "", kServeExamples}, store_dir);
  AddAddressOptions(&parser, &config->server);
  parser.Flag("--no-page", "Serve no page at --http", &config->no_page);
  parser.Flag("--read-only", "Refuse every call that changes something", &config->server.read_only);
  parser.Flag("--log-changes", "Log a line for each call that changes something",
              &config->log_changes);
  parser.Text("--config", "FILE",
              "Read options, and those of queues, from FILE; -FILE: if it exists", &config->file);
  parser.Flag("--create", "Make the store if there is none", &config->store.create_if_missing);
  parser.Flag("--no-create-queues", "Let clients create no queues", &config->no_create_queues);
  AddDuration(&parser, "--grace",
              "How long workers may hold their keys after SIGTERM or SIGINT; default 30s",
              &config->grace);
  AddLimitOptions(&parser, &config->server);
  AddHistoryOptions(&parser, &config->store);
  AddDurability(&parser, &config->durability);
  AddLogOptions(&parser, &config->log, true);
  parser.ParseWithoutArguments();
}

wq::Status ReadServeConfig(const Input& input, ServeConfig* config) {
  ServeConfig read;
  std::string store_dir;
  try {
    ParseServeOptions(input, &store_dir, &read);
    std::string file = std::exchange(read, {}).file;
    const bool may_be_missing = file.starts_with('-');
    if (may_be_missing) file.erase(0, 1);
    if (!file.empty() && !(may_be_missing && access(file.c_str(), F_OK) != 0)) {
      if (wq::Status s = ReadConfigFile(file, &read); !s.ok()) return s;
    }
    ParseServeOptions(input, &store_dir, &read);  // Over what the file says.
  } catch (const UsageError& error) {
    return wq::Status::InvalidArgument(error.message);
  }
  if (read.server.http_any_address && read.server.http_address.empty()) {
    return wq::Status::InvalidArgument("http-any-address goes with http");
  }
  if (read.durability == wq::Durability::kReplicated && read.log.url.empty()) {
    return wq::Status::InvalidArgument("durability replicated goes with replicate");
  }
  if (wq::Status s = CheckLogArgs(read.log); !s.ok()) return s;
  *config = std::move(read);
  return {};
}

}  // namespace wqctl
