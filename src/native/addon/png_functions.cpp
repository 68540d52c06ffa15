// PNG encoding off the thread that asks.
#include "../core/png.h"

#include <memory>

#include "napi.h"

namespace graticule::addon {
namespace {

constexpr double kMaxSide = 16384;

struct PngJob {
  PixelWindow window{};
  ByteBuffer out;
  bool failed = false;
  /** Holds the pixels for as long as they are read. */
  napi_ref pixels = nullptr;
  napi_deferred promise = nullptr;
  napi_async_work work = nullptr;
};

uint32_t requireSide(napi_env env, napi_value value, const char* what, double least) {
  const double number = requireNumber(env, value, what);
  if (!(number >= least && number <= kMaxSide) || number != static_cast<uint32_t>(number))
    throw Failure{std::string(what) + " is out of range", true};
  return static_cast<uint32_t>(number);
}

void execute(napi_env, void* data) {
  auto& job = *static_cast<PngJob*>(data);
  try {
    writePng(job.window, job.out);
  } catch (...) {
    job.failed = true;
  }
}

void settle(napi_env env, napi_status status, void* data) {
  const std::unique_ptr<PngJob> job(static_cast<PngJob*>(data));
  napi_delete_reference(env, job->pixels);
  napi_delete_async_work(env, job->work);
  napi_value value = nullptr;
  void* copy = nullptr;
  if (status == napi_ok && !job->failed &&
      napi_create_buffer_copy(env, job->out.size(), job->out.data(), &copy, &value) == napi_ok) {
    napi_resolve_deferred(env, job->promise, value);
    return;
  }
  napi_value text = nullptr;
  napi_create_string_utf8(env, "the image could not be encoded", NAPI_AUTO_LENGTH, &text);
  napi_create_error(env, nullptr, text, &value);
  napi_reject_deferred(env, job->promise, value);
}

}  // namespace

/** (rgba: Uint8Array, pixels a row, x, y, width, height) -> Promise of a PNG. The pixels must not change meanwhile. */
napi_value encodePng(napi_env env, napi_callback_info info) {
  const Arguments<6> arguments(env, info);
  const uint8_t* data = nullptr;
  size_t size = 0;
  if (!bytesOf(env, arguments[0], data, size)) throw Failure{"the pixels must be a Uint8Array", true};
  const uint32_t across = requireSide(env, arguments[1], "pixels a row", 1);
  const uint32_t x = requireSide(env, arguments[2], "x", 0);
  const uint32_t y = requireSide(env, arguments[3], "y", 0);
  const uint32_t width = requireSide(env, arguments[4], "width", 1);
  const uint32_t height = requireSide(env, arguments[5], "height", 1);
  const size_t stride = size_t{4} * across;
  if (x + width > across || (size_t{y} + height) * stride > size) throw Failure{"the window is not in the image", true};

  auto job = std::make_unique<PngJob>();
  job->window = {data + y * stride + size_t{4} * x, stride, width, height};
  napi_value name;
  napi_value promise;
  check(napi_create_string_utf8(env, "graticule:png", NAPI_AUTO_LENGTH, &name));
  check(napi_create_reference(env, arguments[0], 1, &job->pixels));
  check(napi_create_promise(env, &job->promise, &promise));
  check(napi_create_async_work(env, nullptr, name, execute, settle, job.get(), &job->work));
  check(napi_queue_async_work(env, job->work));
  job.release();
  return promise;
}

}  // namespace graticule::addon
