// The stream of a Follower.
#include <algorithm>
#include <utility>

#include "storage/etcd/answer.h"
#include "storage/etcd/follower.h"

namespace wq::etcd {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr int64_t kEntriesWatch = 1;
constexpr int64_t kOwnerWatch = 2;
constexpr int64_t kSuccessorWatch = 3;

pb::WatchRequest WatchOf(int64_t id, KeyRange keys, int64_t revision) {
  pb::WatchRequest request;
  pb::WatchCreateRequest* const create = request.mutable_create_request();
  create->set_watch_id(id);
  create->set_key(std::move(keys.begin));
  create->set_range_end(std::move(keys.end));
  create->set_start_revision(revision);
  create->set_fragment(true);
  if (id == kEntriesWatch) {
    create->add_filters(pb::WatchCreateRequest::NODELETE);
  }
  return request;
}

}  // namespace

Status Follower::Open() {
  auto stream = std::make_unique<Stream>();
  stream->endpoint = &client_->Current();
  if (Status s = client_->AddToken(*stream->endpoint, client_->NewDeadline(), &stream->context);
      !s.ok()) {
    return s;
  }
  // etcd ends the stream of a member that has lost its leader, and so sees no change any more.
  stream->context.AddMetadata("hasleader", "true");
  stream->to_write.push_back(WatchOf(kEntriesWatch, keys_.EntriesFrom(0), revision_ + 1));
  stream->to_write.push_back(WatchOf(kOwnerWatch, {keys_.Owner(), ""}, revision_ + 1));
  stream->to_write.push_back(WatchOf(kSuccessorWatch, {keys_.Successor(), ""}, revision_ + 1));
  stream->silent_until = client_->NewDeadline();
  stream->asked = true;
  stream->calls = stream->endpoint->watch->PrepareAsyncWatch(&stream->context, &queue_);
  stream->calls->StartCall(Address(Tag::kStart));
  stream->pending = 1;
  stream_ = std::move(stream);
  read_again_ = false;
  return {};
}

void Follower::Close() {
  if (stream_ == nullptr) {
    return;
  }
  stream_->context.TryCancel();
  while (stream_->pending > 0) {  // They end at once, since the call is cancelled.
    Tag tag{};
    bool ok = false;
    if (Wait(steady_clock::now() + kSilence, &tag, &ok) && tag != Tag::kInterrupt) {
      --stream_->pending;
    }
  }
  stream_ = nullptr;
}

void Follower::Write(pb::WatchRequest request) {
  stream_->to_write.push_back(std::move(request));
  WriteNext();
}

void Follower::WriteNext() {
  if (!stream_->writing && !stream_->to_write.empty()) {
    stream_->writing = true;
    ++stream_->pending;
    stream_->calls->Write(stream_->to_write.front(), Address(Tag::kWrite));
  }
}

Status Follower::Watch(Deadline deadline, LogEvents* events) {
  for (;;) {
    const bool any = Any(*events);
    const Deadline until = any ? steady_clock::now() : std::min(deadline, stream_->silent_until);
    Tag tag{};
    bool ok = false;
    if (Wait(until, &tag, &ok)) {
      if (tag == Tag::kInterrupt) {
        return {};
      }
      if (Status s = Handle(tag, ok, events); !s.ok()) {
        return s;
      }
      if (read_again_) {
        Close();
        return {};
      }
      if (events->entries.size() >= static_cast<size_t>(kPageEntries)) {
        return {};
      }
      continue;
    }
    const Deadline now = steady_clock::now();
    if (any) {
      return {};
    }
    if (now >= stream_->silent_until) {
      if (Status s = WhileSilent(now); !s.ok()) {
        return s;
      }
    }
    if (now >= deadline) {
      return {};
    }
  }
}

Status Follower::WhileSilent(Deadline now) {
  if (stream_->asked) {
    return client_->StreamFailed(*stream_->endpoint, {grpc::StatusCode::DEADLINE_EXCEEDED,
                                                      "the watch gives no sign of life"});
  }
  stream_->asked = true;
  stream_->silent_until = now + kAnswer;
  pb::WatchRequest request;
  request.mutable_progress_request();
  Write(std::move(request));
  return {};
}

Status Follower::Handle(Tag tag, bool ok, LogEvents* events) {
  --stream_->pending;
  if (tag == Tag::kFinish) {
    return client_->StreamFailed(
        *stream_->endpoint,
        stream_->end.ok() ? grpc::Status(grpc::StatusCode::UNAVAILABLE, "etcd has ended the watch")
                          : stream_->end);
  }
  if (tag == Tag::kWrite && ok) {
    stream_->writing = false;
    stream_->to_write.pop_front();
    WriteNext();
    return {};
  }
  if (tag == Tag::kWrite) {
    return {};  // The reading fails, too, and says why.
  }
  if (!ok) {
    ++stream_->pending;
    stream_->calls->Finish(&stream_->end, Address(Tag::kFinish));
    return {};
  }
  Status s;
  if (tag == Tag::kStart) {
    WriteNext();
  } else {
    stream_->asked = false;
    stream_->silent_until = steady_clock::now() + kSilence;
    s = Take(stream_->response, events);
  }
  if (s.ok()) {
    ++stream_->pending;
    stream_->calls->Read(&stream_->response, Address(Tag::kRead));
  }
  return s;
}

Status Follower::Take(const pb::WatchResponse& response, LogEvents* events) {
  if (response.canceled()) {
    if (response.compact_revision() != 0) {
      read_again_ = true;
      return {};
    }
    return client_->StreamFailed(
        *stream_->endpoint,
        {grpc::StatusCode::UNAVAILABLE, "the watch was cancelled: " + response.cancel_reason()});
  }
  for (const pb::Event& event : response.events()) {
    const pb::KeyValue* const kv = event.type() == pb::Event::DELETE ? nullptr : &event.kv();
    Status s;
    if (event.kv().key() == keys_.Owner()) {
      s = SetOwner(kv, events);
    } else if (event.kv().key() == keys_.Successor()) {
      s = SetSuccessor(kv, events);
    } else if (kv != nullptr && !read_again_) {
      s = TakeEntry(*kv, events);
    }
    if (!s.ok()) {
      return s;
    }
  }
  return {};
}

Status Follower::TakeEntry(const pb::KeyValue& kv, LogEvents* events) {
  LogSequence sequence = 0;
  if (Status s = keys_.ReadEntryKey(kv.key(), &sequence); !s.ok()) {
    return s;
  }
  if (sequence != next_) {
    read_again_ = true;  // Some were erased, or this is a copy of one that was truncated.
    return {};
  }
  if (kv.value().size() > kMaxLogEntryBytes) {
    return DamagedKey(kv.key(), "it is longer than an entry");
  }
  Deliver(kv, events);
  return {};
}

}  // namespace wq::etcd
