#include "tests/etcd/rpc.h"
#include "tests/support/wait.h"

#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include "storage/etcd/etcd.grpc.pb.h"

namespace wq {
namespace {

namespace pb = ::etcdserverpb;

std::shared_ptr<grpc::Channel> ChannelTo(const std::string& endpoint) {
  return grpc::CreateChannel(endpoint, grpc::InsecureChannelCredentials());
}

void SetDeadline(grpc::ClientContext* context) {
  context->set_deadline(std::chrono::system_clock::now() + support::kPatience);
  context->set_wait_for_ready(true);
}

std::string Text(const grpc::Status& s) { return s.ok() ? "" : s.error_message(); }

}  // namespace

std::string PutEtcdKey(const std::string& endpoint, const std::string& key,
                       const std::string& value) {
  grpc::ClientContext context;
  SetDeadline(&context);
  pb::PutRequest request;
  request.set_key(key);
  request.set_value(value);
  pb::PutResponse answer;
  return Text(pb::KV::NewStub(ChannelTo(endpoint))->Put(&context, request, &answer));
}

std::string DeleteEtcdKey(const std::string& endpoint, const std::string& key) {
  grpc::ClientContext context;
  SetDeadline(&context);
  pb::DeleteRangeRequest request;
  request.set_key(key);
  pb::DeleteRangeResponse answer;
  return Text(pb::KV::NewStub(ChannelTo(endpoint))->DeleteRange(&context, request, &answer));
}

std::string CompactEtcd(const std::string& endpoint, int64_t* revision) {
  const auto stub = pb::KV::NewStub(ChannelTo(endpoint));
  grpc::ClientContext read;
  SetDeadline(&read);
  pb::RangeRequest any;
  any.set_key("any");
  pb::RangeResponse now;
  if (const grpc::Status s = stub->Range(&read, any, &now); !s.ok()) {
    return Text(s);
  }
  *revision = now.header().revision();
  grpc::ClientContext context;
  SetDeadline(&context);
  pb::CompactionRequest request;
  request.set_revision(*revision);
  request.set_physical(true);
  pb::CompactionResponse answer;
  return Text(stub->Compact(&context, request, &answer));
}

std::string MakeEtcdUsers(const std::string& endpoint, const std::string& root_password) {
  const auto stub = pb::Auth::NewStub(ChannelTo(endpoint));
  const auto add_user = [&stub](const std::string& name, const std::string& password,
                                const std::string& role) {
    grpc::ClientContext adding;
    SetDeadline(&adding);
    pb::AuthUserAddRequest user;
    user.set_name(name);
    user.set_password(password);
    pb::AuthUserAddResponse added;
    if (const grpc::Status s = stub->UserAdd(&adding, user, &added); !s.ok()) {
      return s;
    }
    grpc::ClientContext granting;
    SetDeadline(&granting);
    pb::AuthUserGrantRoleRequest grant;
    grant.set_user(name);
    grant.set_role(role);
    pb::AuthUserGrantRoleResponse granted;
    return stub->UserGrantRole(&granting, grant, &granted);
  };
  grpc::ClientContext making;
  SetDeadline(&making);
  pb::AuthRoleAddRequest role;
  role.set_name("wq");
  pb::AuthRoleAddResponse made;
  grpc::Status s = stub->RoleAdd(&making, role, &made);
  if (s.ok()) {
    grpc::ClientContext context;
    SetDeadline(&context);
    pb::AuthRoleGrantPermissionRequest request;
    request.set_name("wq");
    request.mutable_perm()->set_permtype(pb::Permission::READWRITE);
    request.mutable_perm()->set_key("/wq/");
    request.mutable_perm()->set_range_end("/wq0");
    pb::AuthRoleGrantPermissionResponse answer;
    s = stub->RoleGrantPermission(&context, request, &answer);
  }
  if (s.ok()) s = add_user("root", root_password, "root");
  if (s.ok()) s = add_user("user", "user's", "wq");
  if (s.ok()) {
    grpc::ClientContext context;
    SetDeadline(&context);
    pb::AuthEnableResponse answer;
    s = stub->AuthEnable(&context, {}, &answer);
  }
  return Text(s);
}

}  // namespace wq
