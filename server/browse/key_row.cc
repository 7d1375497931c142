#include "server/browse/key_row.h"

#include "server/api/convert.h"

namespace wq {

void ToKeyRow(const KeyInfo& key, size_t error_bytes, v1::KeyRow* row) {
  row->Clear();
  row->set_key(key.key.data(), key.key.size());
  const auto add_state = [row](bool is, v1::KeyState state) {
    if (is) {
      row->add_states(state);
    }
  };
  add_state(key.queued, v1::KEY_STATE_QUEUED);
  add_state(key.processing, v1::KEY_STATE_PROCESSING);
  add_state(key.delayed, v1::KEY_STATE_DELAYED);
  add_state(key.failing, v1::KEY_STATE_FAILING);
  add_state(key.quarantined, v1::KEY_STATE_QUARANTINED);
  row->set_lane(key.lane);
  row->set_group(key.group.data(), key.group.size());
  if (key.shard.has_value()) {
    row->set_shard(*key.shard);
  }
  row->set_added_at_us(key.added_at_us);
  row->set_ready_at_us(key.ready_at_us);
  row->set_delay_us(key.delay_us);
  row->set_added_again(key.added_again);
  row->set_failures(key.failures);
  row->set_first_failed_at_us(key.first_failed_at_us);
  row->set_last_failed_at_us(key.last_failed_at_us);
  row->set_last_error(ToUtf8(key.last_error.substr(0, error_bytes)));
  row->set_quarantined_at_us(key.quarantined_at_us);
  row->set_resync(key.resync);
}

}  // namespace wq
