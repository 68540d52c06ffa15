// Runs the fuzz target without libFuzzer: seeds, a deterministic mutator, a time limit. Usage: driver [seconds] [seed]
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace {

using Bytes = std::vector<uint8_t>;

/** xorshift64*: the same run for the same seed everywhere. */
struct Random {
  uint64_t state;
  uint64_t next() {
    state ^= state >> 12;
    state ^= state << 25;
    state ^= state >> 27;
    return state * 0x2545F4914F6CDD1Dull;
  }
  size_t below(size_t n) { return n == 0 ? 0 : static_cast<size_t>(next() % n); }
};

class BlobBuilder {
 public:
  explicit BlobBuilder(bool bigEndian) : bigEndian_(bigEndian) {}

  BlobBuilder& head(uint32_t type) {
    bytes.push_back(bigEndian_ ? 0 : 1);
    return u32(type);
  }
  BlobBuilder& u32(uint32_t v) { return put(bigEndian_ ? __builtin_bswap32(v) : v); }
  BlobBuilder& number(double d) {
    uint64_t v;
    std::memcpy(&v, &d, 8);
    return put(bigEndian_ ? __builtin_bswap64(v) : v);
  }
  BlobBuilder& ring(uint32_t dimensions, std::initializer_list<double> xy) {
    u32(static_cast<uint32_t>(xy.size() / 2));
    const double* p = xy.begin();
    for (size_t i = 0; i < xy.size(); i += 2) {
      number(p[i]).number(p[i + 1]);
      for (uint32_t d = 2; d < dimensions; ++d) number(static_cast<double>(i));
    }
    return *this;
  }

  Bytes bytes;

 private:
  template <typename T>
  BlobBuilder& put(T v) {
    const auto* p = reinterpret_cast<const uint8_t*>(&v);
    bytes.insert(bytes.end(), p, p + sizeof v);
    return *this;
  }
  bool bigEndian_;
};

Bytes geoPackage(const Bytes& wkb) {
  Bytes blob = {'G', 'P', 0, 3, 0xE6, 0x10, 0, 0};
  for (const double v : {-10.0, 30.0, -10.0, 30.0}) {
    const auto* p = reinterpret_cast<const uint8_t*>(&v);
    blob.insert(blob.end(), p, p + 8);
  }
  blob.insert(blob.end(), wkb.begin(), wkb.end());
  return blob;
}

std::vector<Bytes> seeds() {
  std::vector<Bytes> all;
  for (const bool big : {false, true}) {
    for (const uint32_t dimension : {0u, 1u, 2u, 3u}) {
      const uint32_t z = dimension * 1000;
      const uint32_t n = dimension == 0 ? 2 : dimension == 3 ? 4 : 3;
      const auto polygon = [&](BlobBuilder& b) {
        b.head(z + 3).u32(2);
        b.ring(n, {-10, -10, 30, -8, 20, 5, 30, 30, -10, 30, -10, -10});
        b.ring(n, {1, 1, 1, 4, 5, 9, 4, 1, 1, 1});
      };
      BlobBuilder point(big), line(big), multi(big), collection(big);
      point.head(z + 1);
      for (uint32_t i = 0; i < n; ++i) point.number(3.25);
      line.head(z + 2).ring(n, {-5, 5, 5, 5, 15, 5, 15, -5, 5, -5, 5, 15});
      multi.head(z + 6).u32(2);
      polygon(multi);
      polygon(multi);
      collection.head(z + 7).u32(3).head(z + 7).u32(1);
      polygon(collection);
      collection.head(z + 2).ring(n, {0, 0, 9, 9, 9, 0});
      collection.head(z + 4).u32(1).head(z + 1);
      for (uint32_t i = 0; i < n; ++i) collection.number(7);
      const auto arcs = [&](BlobBuilder& b) { b.head(z + 8).ring(n, {-10, 0, 0, 10, 10, 0, 15, -5, 20, 0}); };
      BlobBuilder curves(big), surfaces(big), tin(big);
      curves.head(z + 11).u32(3);
      arcs(curves);
      curves.head(z + 2).ring(n, {0, 0, 9, 9});
      curves.head(z + 9).u32(2);
      arcs(curves);
      curves.head(z + 2).ring(n, {20, 0, 5, 5});
      surfaces.head(z + 12).u32(2);
      polygon(surfaces);
      surfaces.head(z + 10).u32(2).head(z + 8).ring(n, {-10, 0, 10, 0, -10, 0});
      surfaces.head(z + 2).ring(n, {0, 0, 1, 1, 1, 0, 0, 0});
      tin.head(z + 16).u32(1).head(z + 17).u32(1).ring(n, {0, 0, 9, 0, 9, 9, 0, 0});
      for (const auto* b : {&point, &line, &multi, &collection, &curves, &surfaces, &tin}) {
        all.push_back(b->bytes);
        all.push_back(geoPackage(b->bytes));
      }
    }
  }
  BlobBuilder ewkb(false);
  ewkb.head(0x80000001u | 0x20000000u).u32(4326).number(1).number(2).number(3);
  all.push_back(ewkb.bytes);
  for (const char* text : {R"({"layer":"a","fields":["x",{"name":"y","type":"json"}],"from":"EPSG:4326","to":"EPSG:3857",)"
                           R"("bbox":[0,0,1.5e1,-2],"extent":4096,"simplify":0.5,"swap":true,"precision":7})",
                           R"([1,-0.5e-7,"\ud83d\ude00\n\u0000",{"a":null,"b":[true,false]}])"}) {
    all.emplace_back(text, text + std::strlen(text));
  }
  return all;
}

void mutate(Bytes& b, const std::vector<Bytes>& corpus, Random& random) {
  for (size_t rounds = 1 + random.below(4); rounds > 0; --rounds) {
    const size_t at = random.below(b.size());
    switch (random.below(8)) {
      case 0: b[at] ^= static_cast<uint8_t>(1u << random.below(8)); break;
      case 1: b[at] = static_cast<uint8_t>(random.next()); break;
      case 2: b.resize(1 + at); break;
      case 3: b.insert(b.begin() + static_cast<long>(at), static_cast<uint8_t>(random.next())); break;
      case 4: {
        constexpr uint32_t kCounts[] = {0, 1, 3, 0x7fffffff, 0x80000000, 0xffffffff, 0x10000000, 0x0fffffff};
        const uint32_t v = kCounts[random.below(8)];
        if (b.size() - at >= 4) std::memcpy(&b[at], &v, 4);
        break;
      }
      case 5: {
        constexpr double kNumbers[] = {0, -0.0, 1e308, -1e308, 1e-320, 20037508.342789244, 4096.5, 1e15};
        const double v = kNumbers[random.below(8)];
        if (b.size() - at >= 8) std::memcpy(&b[at], &v, 8);
        break;
      }
      case 6: {
        const uint64_t v = random.below(2) == 0 ? 0x7ff8000000000000ull : 0x7ff0000000000000ull;
        if (b.size() - at >= 8) std::memcpy(&b[at], &v, 8);
        break;
      }
      default: {
        const Bytes& other = corpus[random.below(corpus.size())];
        const size_t from = random.below(other.size());
        b.resize(at + 1);
        b.insert(b.end(), other.begin() + static_cast<long>(from), other.end());
      }
    }
  }
}

/** The input in work. Written to `crash.bin` when the target aborts (sanitizers: abort_on_error=1). */
const Bytes* current = nullptr;

void saveInput(int) {
  if (std::FILE* file = std::fopen("crash.bin", "wb")) {
    std::fwrite(current->data(), 1, current->size(), file);
    std::fclose(file);
  }
  std::_Exit(1);
}

}  // namespace

int main(int argc, char** argv) {
  const double seconds = argc > 1 ? std::atof(argv[1]) : 10;
  Random random{argc > 2 ? std::strtoull(argv[2], nullptr, 10) | 1 : 1};
  const std::vector<Bytes> corpus = seeds();
  const auto start = std::chrono::steady_clock::now();
  uint64_t runs = 0;
  std::signal(SIGABRT, saveInput);
  for (;; ++runs) {
    if ((runs & 255) == 0) {
      const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start;
      if (spent.count() > seconds) break;
    }
    Bytes input = corpus[random.below(corpus.size())];
    if (runs >= corpus.size()) mutate(input, corpus, random);
    input.insert(input.begin(), static_cast<uint8_t>(random.next()));
    current = &input;
    // An exact heap block, so that a sanitizer sees the first byte read past it.
    const std::unique_ptr<uint8_t[]> block(new uint8_t[input.size()]);
    std::memcpy(block.get(), input.data(), input.size());
    LLVMFuzzerTestOneInput(block.get(), input.size());
  }
  std::printf("%llu inputs, no failure\n", static_cast<unsigned long long>(runs));
  return 0;
}
