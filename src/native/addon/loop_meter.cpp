// CPU time of each iteration of this thread's event loop: the time that a due callback would have waited for the code
// of the server. The clock of the thread does not run while the thread sleeps in poll or is not scheduled.
#include <time.h>
#include <uv.h>

#include <algorithm>
#include <vector>

#include "napi.h"

namespace graticule::addon {
namespace {

/** Layout of the shared numbers: one count per bound and one beyond, then sum, count and largest. */
struct LoopMeter {
  uv_prepare_t handle;
  std::vector<double> bounds;
  std::vector<double> numbers;
  double last = 0;
};

double threadMilliseconds() {
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) / 1e6;
}

void onTurn(uv_prepare_t* handle) {
  auto& meter = *static_cast<LoopMeter*>(handle->data);
  const double now = threadMilliseconds();
  const double busy = now - meter.last;
  meter.last = now;
  const size_t bucket = static_cast<size_t>(std::lower_bound(meter.bounds.begin(), meter.bounds.end(), busy) - meter.bounds.begin());
  double* tail = meter.numbers.data() + meter.bounds.size() + 1;
  meter.numbers[bucket] += 1;
  tail[0] += busy;
  tail[1] += 1;
  tail[2] = std::max(tail[2], busy);
}

}  // namespace

/** watchLoop(bounds) -> Float64Array that is kept up to date. For the life of the thread. */
napi_value watchLoop(napi_env env, napi_callback_info info) {
  const Arguments<1> arguments(env, info);
  uint32_t length = 0;
  if (napi_get_array_length(env, arguments[0], &length) != napi_ok) throw Failure{"bounds must be an array", true};
  auto* meter = new LoopMeter();
  for (uint32_t i = 0; i < length; ++i) {
    napi_value bound;
    check(napi_get_element(env, arguments[0], i, &bound));
    meter->bounds.push_back(requireNumber(env, bound, "a bound"));
  }
  meter->numbers.assign(length + 4, 0);
  uv_loop_t* loop = nullptr;
  check(napi_get_uv_event_loop(env, &loop));
  uv_prepare_init(loop, &meter->handle);
  meter->handle.data = meter;
  meter->last = threadMilliseconds();
  uv_prepare_start(&meter->handle, onTurn);
  uv_unref(reinterpret_cast<uv_handle_t*>(&meter->handle));
  // The handle must be closed before the loop, and the meter is deleted with it. Only this thread reads the array.
  const auto stop = [](napi_async_cleanup_hook_handle hook, void* data) {
    auto* owned = static_cast<LoopMeter*>(data);
    uv_close(reinterpret_cast<uv_handle_t*>(&owned->handle), [](uv_handle_t* handle) { delete static_cast<LoopMeter*>(handle->data); });
    napi_remove_async_cleanup_hook(hook);
  };
  check(napi_add_async_cleanup_hook(env, stop, meter, nullptr));
  napi_value buffer;
  check(napi_create_external_arraybuffer(env, meter->numbers.data(), meter->numbers.size() * sizeof(double), [](napi_env, void*, void*) {}, nullptr, &buffer));
  napi_value array;
  check(napi_create_typedarray(env, napi_float64_array, meter->numbers.size(), buffer, 0, &array));
  return array;
}

}  // namespace graticule::addon
