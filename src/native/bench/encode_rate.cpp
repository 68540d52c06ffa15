// Benchmark of one core that converts doubles to the coordinates of a vector tile. It only runs these steps: affine
// map, round, delta, zigzag, varint. bench/tile-uncached.bench.ts compiles and runs it as the lower limit of geometry
// encoding.
//
// Usage: encode_rate FILE SCALE ORIGIN_X ORIGIN_Y MILLISECONDS
// FILE contains native doubles x,y,x,y ... Prints nanoseconds of CPU per vertex and the bytes written per vertex.
#include <emmintrin.h>
#include <time.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace {

double cpuSeconds() {
  timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

std::vector<double> readDoubles(const char* path) {
  std::vector<double> values;
  FILE* file = std::fopen(path, "rb");
  if (file == nullptr) return values;
  double block[4096];
  while (const size_t n = std::fread(block, sizeof(double), 4096, file)) values.insert(values.end(), block, block + n);
  std::fclose(file);
  return values;
}

/** One or two bytes without a branch; the rare longer ones in a loop. */
inline uint8_t* putVarint(uint8_t* p, uint32_t v) {
  while (__builtin_expect(v >= 0x4000, 0)) {
    *p++ = static_cast<uint8_t>(v | 0x80);
    v >>= 7;
  }
  const uint32_t more = v > 0x7f;
  p[0] = static_cast<uint8_t>(v | more << 7);
  p[1] = static_cast<uint8_t>(v >> 7);
  return p + 1 + more;
}

inline uint32_t zigzag(int32_t v) { return static_cast<uint32_t>(v) << 1 ^ static_cast<uint32_t>(v >> 31); }

size_t encode(const std::vector<double>& xy, __m128d origin, __m128d scale, uint8_t* out) {
  uint8_t* p = out;
  int32_t lastX = 0;
  int32_t lastY = 0;
  for (size_t i = 0; i + 1 < xy.size(); i += 2) {
    const __m128i cell = _mm_cvtpd_epi32(_mm_mul_pd(_mm_sub_pd(_mm_loadu_pd(xy.data() + i), origin), scale));
    const int64_t both = _mm_cvtsi128_si64(cell);
    const auto x = static_cast<int32_t>(both);
    const auto y = static_cast<int32_t>(both >> 32);
    p = putVarint(p, zigzag(x - lastX));
    p = putVarint(p, zigzag(y - lastY));
    lastX = x;
    lastY = y;
  }
  return static_cast<size_t>(p - out);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 6) return 2;
  const std::vector<double> xy = readDoubles(argv[1]);
  const size_t vertices = xy.size() / 2;
  if (vertices == 0) return 1;
  const double scale = std::atof(argv[2]);
  const __m128d scales = _mm_set_pd(-scale, scale);
  const __m128d origin = _mm_set_pd(std::atof(argv[4]), std::atof(argv[3]));
  const double budget = std::atof(argv[5]) / 1e3;
  std::vector<uint8_t> out(vertices * 10 + 16);
  size_t bytes = encode(xy, origin, scales, out.data());
  size_t passes = 0;
  const double begin = cpuSeconds();
  double spent = 0;
  do {
    bytes = encode(xy, origin, scales, out.data());
    ++passes;
    spent = cpuSeconds() - begin;
  } while (spent < budget);
  std::printf("{\"nsPerVertex\":%.4f,\"bytesPerVertex\":%.3f}\n", spent * 1e9 / static_cast<double>(passes * vertices),
              static_cast<double>(bytes) / static_cast<double>(vertices));
  return 0;
}
