// The C interface: ParallelizeUntil.

#include "wq/parallelize.h"

#include <stop_token>

#include "bindings/c/boundary/arguments.h"
#include "bindings/c/boundary/call.h"
#include "wq/wq.h"

extern "C" {

wq_code wq_parallelize_until(size_t workers, size_t pieces, size_t chunk, wq_piece run, void* arg,
                             wq_error* error) {
  return wq::c::Enter(error, [&]() -> wq::Status {
    if (run == nullptr) {
      return wq::c::NullArgument("run");
    }
    std::stop_source stop;
    wq::Status status = wq::ParallelizeUntil(
        stop.get_token(), workers, pieces,
        [&stop, run, arg](size_t piece) {
          const wq::c::CallbackScope scope;
          if (run(arg, piece) == 0) {
            stop.request_stop();
          }
        },
        chunk);
    // The piece that stopped the loop may have been the last one.
    return status.ok() && stop.stop_requested() ? wq::Status::ShuttingDown("a piece stopped it")
                                                : status;
  });
}

}  // extern "C"
