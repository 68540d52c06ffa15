// PNG encoding on another thread.
#include "../../core/pixels/picture_png.h"
#include "../../core/pixels/png.h"
#include "../job.h"

namespace graticule::addon {
namespace {

constexpr double kMaxSide = 1 << 20;

using Write = void (*)(const PixelWindow&, ByteBuffer&);

class PngJob : public Job {
 public:
  PngJob(const PixelWindow& window, Write write) : window_(window), write_(write) {}

  void run() override { write_(window_, out_); }
  napi_value result(napi_env env) override {
    if (!out_.empty()) return toBuffer(env, out_.data(), out_.size());
    napi_value nothing;
    check(napi_get_undefined(env, &nothing));
    return nothing;
  }

 private:
  PixelWindow window_;
  Write write_;
  ByteBuffer out_;
};

napi_value encode(napi_env env, napi_callback_info info, Write write) {
  const Arguments<6> arguments(env, info);
  const uint8_t* data = nullptr;
  size_t size = 0;
  if (!bytesOf(env, arguments[0], data, size)) throw Failure{"the pixels must be a Uint8Array", true};
  const uint32_t across = requireWhole(env, arguments[1], "pixels a row", 1, kMaxSide);
  const uint32_t x = requireWhole(env, arguments[2], "x", 0, kMaxSide);
  const uint32_t y = requireWhole(env, arguments[3], "y", 0, kMaxSide);
  const uint32_t width = requireWhole(env, arguments[4], "width", 1, kMaxSide);
  const uint32_t height = requireWhole(env, arguments[5], "height", 1, kMaxSide);
  const size_t stride = size_t{4} * across;
  if (x + width > across || (size_t{y} + height) * stride > size) throw Failure{"the window is not in the image", true};
  const PixelWindow window{data + y * stride + size_t{4} * x, stride, width, height};
  return start(env, std::make_unique<PngJob>(window, write), arguments[0]);
}

}  // namespace

/**
 * (rgba: Uint8Array, pixels a row, x, y, width, height) -> Promise of a PNG. The pixels must not change until it
 * settles.
 */
napi_value encodePng(napi_env env, napi_callback_info info) { return encode(env, info, writePng); }

/** Same as encodePng, for rasters and photographs. */
napi_value encodePicturePng(napi_env env, napi_callback_info info) { return encode(env, info, writePicturePng); }

/** Same as encodePng, for an image with at most 256 colours. Undefined for other images. */
napi_value encodeFewColorsPng(napi_env env, napi_callback_info info) { return encode(env, info, writeFewColorsPng); }

}  // namespace graticule::addon
