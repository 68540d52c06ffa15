#include "compressor.h"

namespace graticule {

CompressorCache::~CompressorCache() {
  for (libdeflate_compressor* compressor : compressors_) libdeflate_free_compressor(compressor);
}

libdeflate_compressor* CompressorCache::at(int level) {
  libdeflate_compressor*& compressor = compressors_[static_cast<size_t>(level)];
  if (compressor == nullptr) compressor = libdeflate_alloc_compressor(level);
  if (compressor == nullptr) throw std::bad_alloc();
  return compressor;
}

void CompressorCache::gzip(const uint8_t* data, size_t size, int level, ByteBuffer& out) {
  libdeflate_compressor* compressor = at(level);
  const size_t bound = libdeflate_gzip_compress_bound(compressor, size);
  uint8_t* p = out.reserve(bound);
  out.commit(p + libdeflate_gzip_compress(compressor, data, size, p, bound));
}

void CompressorCache::zlib(const uint8_t* data, size_t size, int level, ByteBuffer& out) {
  libdeflate_compressor* compressor = at(level);
  const size_t bound = libdeflate_zlib_compress_bound(compressor, size);
  uint8_t* p = out.reserve(bound);
  out.commit(p + libdeflate_zlib_compress(compressor, data, size, p, bound));
}

}  // namespace graticule
