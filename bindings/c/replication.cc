// The C interface: replicated stores and their logs.

#include "bindings/c/boundary/arguments.h"
#include "bindings/c/boundary/call.h"
#include "bindings/c/boundary/objects.h"
#include "bindings/c/boundary/options.h"
#include "bindings/c/boundary/replicated_log.h"
#include "bindings/c/boundary/report.h"
#include "wq/store.h"
#include "wq/wq.h"

using wq::Status;
using wq::c::Call;
using wq::c::Enter;
using wq::c::StoreObject;

extern "C" {

void wq_replicated_log_free(wq_replicated_log* log) { delete log; }

wq_code wq_store_is_owner(wq_store store, int32_t* owner, wq_error* error) {
  return Call<StoreObject>(store.handle, error, [owner](StoreObject& s) {
    return wq::c::Output("owner", s.store->IsOwner() ? 1 : 0, owner);
  });
}

wq_code wq_store_epoch(wq_store store, uint64_t* epoch, wq_error* error) {
  return Call<StoreObject>(store.handle, error, [epoch](StoreObject& s) {
    return wq::c::Output("epoch", s.store->Epoch(), epoch);
  });
}

wq_code wq_store_wait_for_leadership(wq_store store, int64_t timeout_us, wq_error* error) {
  return Call<StoreObject>(store.handle, error, [timeout_us](StoreObject& s) {
    Status here = wq::c::NotInCallback("wq_store_wait_for_leadership");
    return here.ok() ? s.store->WaitForLeadership(wq::c::ToTimeout(timeout_us)) : here;
  });
}

wq_code wq_store_resign(wq_store store, wq_error* error) {
  return Call<StoreObject>(store.handle, error, [](StoreObject& s) {
    Status here = wq::c::NotInCallback("wq_store_resign");
    return here.ok() ? s.store->Resign() : here;
  });
}

wq_code wq_store_replica(wq_store store, wq_replica_state* state, wq_error* error) {
  return Call<StoreObject>(store.handle, error, [state](StoreObject& s) {
    const wq::ReplicaState from = s.store->Replica();
    wq_replica_state to{};
    to.owner = from.owner ? 1 : 0;
    to.epoch = from.epoch;
    to.applied = from.applied;
    to.applied_at_us = from.applied_at_us;
    from.owner_name.copy(to.owner_name, sizeof to.owner_name - 1);
    wq::c::Report(&to.log, from.log);
    return wq::c::Output("state", to, state);
  });
}

}  // extern "C"
