#include "decompressor.h"

#include <algorithm>

namespace graticule {
namespace {

bool beginsMember(const uint8_t* data, const uint8_t* end) {
  return end - data >= 2 && data[0] == 0x1f && data[1] == 0x8b;
}

/**
 * Size that the last member states, which is correct if there is only one. For several members it is a first
 * estimate.
 */
size_t guess(const uint8_t* data, const uint8_t* end) {
  const size_t stored = static_cast<size_t>(end - data);
  const size_t said = stored >= 4 ? loadNative<uint32_t>(end - 4) : 0;
  // Deflate never compresses by more than 1032 to 1, so a larger size is false or belongs to another member.
  return said <= stored * 1032 ? said : stored * 4;
}

}  // namespace

Inflation Decompressor::gunzip(const uint8_t* data, size_t size, size_t maxBytes, ByteBuffer& out) {
  if (decompressor_ == nullptr) decompressor_ = libdeflate_alloc_decompressor();
  if (decompressor_ == nullptr) throw std::bad_alloc();
  const uint8_t* const end = data + size;
  const size_t before = out.size();
  do {
    const Inflation result = member(data, end, maxBytes - (out.size() - before), out);
    if (result != Inflation::done) return result;
  } while (beginsMember(data, end));
  return data == end ? Inflation::done : Inflation::damaged;
}

Inflation Decompressor::member(const uint8_t*& data, const uint8_t* end, size_t maxBytes, ByteBuffer& out) {
  // One extra byte distinguishes data that is too large from data that just fits.
  size_t room = std::min(std::max<size_t>(guess(data, end), 64), maxBytes + 1);
  for (;;) {
    size_t taken = 0;
    size_t made = 0;
    uint8_t* p = out.reserve(room);
    const libdeflate_result result = libdeflate_gzip_decompress_ex(
        decompressor_, data, static_cast<size_t>(end - data), p, room, &taken, &made);
    if (result == LIBDEFLATE_SUCCESS) {
      if (made > maxBytes) return Inflation::tooLarge;
      out.commit(p + made);
      data += taken;
      return Inflation::done;
    }
    if (result != LIBDEFLATE_INSUFFICIENT_SPACE) return Inflation::damaged;
    if (room > maxBytes) return Inflation::tooLarge;
    room = std::min(room * 4, maxBytes + 1);
  }
}

}  // namespace graticule
