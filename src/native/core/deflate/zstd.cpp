#include "zstd.h"

#include <algorithm>

namespace graticule {
namespace {

struct FreeDecoder {
  void operator()(ZSTD_DCtx* context) const { ZSTD_freeDCtx(context); }
};

void check(size_t result) {
  if (ZSTD_isError(result)) throw std::bad_alloc();
}

/** Returns the size of the output buffer: the size that the first frame states, if it is possible. */
size_t guess(const uint8_t* data, size_t size, size_t maxBytes) {
  const unsigned long long content = ZSTD_getFrameContentSize(data, size);
  const bool isPlausible = content < ZSTD_CONTENTSIZE_ERROR && content <= size * 1024ull;
  return std::min(std::max<size_t>(isPlausible ? static_cast<size_t>(content) : size * 4, 1024), maxBytes + 1);
}

}  // namespace

ZstdEncoder::ZstdEncoder(int level, int windowLog) : context_(ZSTD_createCCtx()) {
  if (context_ == nullptr) throw std::bad_alloc();
  check(ZSTD_CCtx_setParameter(context_.get(), ZSTD_c_compressionLevel, level));
  check(ZSTD_CCtx_setParameter(context_.get(), ZSTD_c_windowLog, windowLog));
}

void ZstdEncoder::frame(const uint8_t* data, size_t size, ByteBuffer& out) {
  const size_t bound = ZSTD_compressBound(size);
  uint8_t* p = out.reserve(bound);
  const size_t length = ZSTD_compress2(context_.get(), p, bound, data, size);
  check(length);
  out.commit(p + length);
}

void ZstdEncoder::write(const uint8_t* data, size_t size, ZSTD_EndDirective directive, ByteBuffer& out) {
  ZSTD_inBuffer in{data, size, 0};
  for (;;) {
    const size_t room = ZSTD_CStreamOutSize();
    ZSTD_outBuffer target{out.reserve(room), room, 0};
    const size_t rest = ZSTD_compressStream2(context_.get(), &target, &in, directive);
    check(rest);
    out.commit(static_cast<uint8_t*>(target.dst) + target.pos);
    if (directive == ZSTD_e_continue ? in.pos == in.size : rest == 0) return;
  }
}

Inflation unzstd(const uint8_t* data, size_t size, size_t maxBytes, ByteBuffer& out) {
  const std::unique_ptr<ZSTD_DCtx, FreeDecoder> context(ZSTD_createDCtx());
  if (context == nullptr) throw std::bad_alloc();
  check(ZSTD_DCtx_setParameter(context.get(), ZSTD_d_windowLogMax, kZstdWindowLog));
  const size_t before = out.size();
  ZSTD_inBuffer in{data, size, 0};
  size_t room = guess(data, size, maxBytes);
  for (;;) {
    ZSTD_outBuffer target{out.reserve(room), room, 0};
    const size_t rest = ZSTD_decompressStream(context.get(), &target, &in);
    if (ZSTD_isError(rest)) return Inflation::damaged;
    out.commit(static_cast<uint8_t*>(target.dst) + target.pos);
    const size_t length = out.size() - before;
    if (length > maxBytes) return Inflation::tooLarge;
    if (in.pos == in.size && rest == 0) return Inflation::done;
    if (in.pos == in.size && target.pos < room) return Inflation::damaged;
    room = std::min(std::max<size_t>(length, 65536), maxBytes + 1 - length);
  }
}

}  // namespace graticule
