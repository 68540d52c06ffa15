#include "compressor.h"

namespace graticule {

CompressorCache::~CompressorCache() {
  for (libdeflate_compressor* compressor : compressors_) libdeflate_free_compressor(compressor);
}

void CompressorCache::gzip(const uint8_t* data, size_t size, int level, ByteBuffer& out) {
  libdeflate_compressor*& compressor = compressors_[static_cast<size_t>(level)];
  if (compressor == nullptr) compressor = libdeflate_alloc_compressor(level);
  if (compressor == nullptr) throw std::bad_alloc();
  const size_t bound = libdeflate_gzip_compress_bound(compressor, size);
  uint8_t* p = out.reserve(bound);
  out.commit(p + libdeflate_gzip_compress(compressor, data, size, p, bound));
}

}  // namespace graticule
