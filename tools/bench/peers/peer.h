// Peer: another queue that is used for the same purpose as wq, behind the calls that all peers
// have.
//
// A failure ends the process. Thread-compatible.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

namespace wq::bench {

// When the peer's file is synced. Both peers write to it before they answer.
enum class PeerSync { kSoon, kEachWrite };

class Peer {
 public:
  virtual ~Peer() = default;
  // Puts all keys, with up to `in_flight` requests under way at a time.
  template <typename Keys>
  void PutAll(const Keys& keys, size_t in_flight) {
    std::string requests;
    for (size_t i = 0; i < keys.size();) {
      requests.clear();
      size_t sent = 0;
      for (; sent < in_flight && i + sent < keys.size(); ++sent) {
        AppendPut(keys[i + sent], &requests);
      }
      SendPuts(requests, sent);
      i += sent;
    }
  }
  // Takes `count` keys over at once and finishes them.
  virtual void Take(size_t count) = 0;
  // The number of queued keys.
  virtual size_t Len() = 0;

 protected:
  virtual void AppendPut(std::string_view key, std::string* request) = 0;
  // Sends the requests and reads `count` answers.
  virtual void SendPuts(const std::string& requests, size_t count) = 0;
};

// Starts a server with its files in `dir`, which is created.
std::unique_ptr<Peer> StartBeanstalkd(const std::string& dir, PeerSync sync);
std::unique_ptr<Peer> StartRedis(const std::string& dir, PeerSync sync);

}  // namespace wq::bench
