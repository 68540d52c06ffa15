// Benchmark of the vector tile encoder on one core with complete polygon layers, from blobs to bytes.
// bench/tile-clip.bench.ts compiles it with the core of two commits.
// Usage: polygon_rate FILE MILLISECONDS [TILES]
// FILE contains tiles: minx, miny, maxx, maxy (native doubles), the number of blobs (native uint32), then each blob
// after its size (native uint32). Blobs and boxes are in EPSG:3857. Prints the minimum and the median of the
// nanoseconds of CPU per pass over all tiles. The tiles are written to TILES, each after its size (native uint32).
#include <time.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "../core/tiles/tile_layer.h"

namespace {

double cpuSeconds() {
  timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

std::string readFile(const char* path) {
  std::string bytes;
  FILE* file = std::fopen(path, "rb");
  if (file == nullptr) return bytes;
  char block[1 << 16];
  while (const size_t n = std::fread(block, 1, sizeof block, file)) bytes.append(block, n);
  std::fclose(file);
  return bytes;
}

template <typename T>
T take(const char*& p) {
  T value;
  std::memcpy(&value, p, sizeof value);
  p += sizeof value;
  return value;
}

struct Tile {
  graticule::Box box;
  std::vector<std::pair<const uint8_t*, size_t>> blobs;
};

std::vector<Tile> readTiles(const std::string& bytes) {
  std::vector<Tile> tiles;
  for (const char *p = bytes.data(), *end = p + bytes.size(); p != end;) {
    Tile tile;
    tile.box = take<graticule::Box>(p);
    for (auto n = take<uint32_t>(p); n > 0; --n) {
      const auto size = take<uint32_t>(p);
      tile.blobs.emplace_back(reinterpret_cast<const uint8_t*>(p), size);
      p += size;
    }
    tiles.push_back(std::move(tile));
  }
  return tiles;
}

/** All tiles once. */
void encode(graticule::TileLayerEncoder& encoder, const std::vector<Tile>& tiles, FILE* out) {
  graticule::TileLayerOptions options;
  options.name = "polygons";
  options.simplify = 0.5;
  for (const Tile& tile : tiles) {
    options.bbox = tile.box;
    encoder.begin(options, nullptr);
    for (const auto& [blob, size] : tile.blobs) {
      if (encoder.addGeometry(blob, size)) encoder.endFeature(nullptr);
    }
    size_t size = 0;
    const uint8_t* bytes = encoder.finish(size);
    if (out == nullptr) continue;
    const auto count = static_cast<uint32_t>(size);
    std::fwrite(&count, sizeof count, 1, out);
    std::fwrite(bytes, 1, size, out);
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  const std::string bytes = readFile(argv[1]);
  const std::vector<Tile> tiles = readTiles(bytes);
  if (tiles.empty()) return 1;
  graticule::TileLayerEncoder encoder;
  FILE* out = argc > 3 ? std::fopen(argv[3], "wb") : nullptr;
  encode(encoder, tiles, out);
  if (out != nullptr) std::fclose(out);
  const double end = cpuSeconds() + std::atof(argv[2]) / 1e3;
  std::vector<double> passes;
  do {
    const double begin = cpuSeconds();
    encode(encoder, tiles, nullptr);
    passes.push_back(cpuSeconds() - begin);
  } while (cpuSeconds() < end);
  std::sort(passes.begin(), passes.end());
  std::printf("{\"leastNs\":%.0f,\"medianNs\":%.0f}\n", passes.front() * 1e9, passes[passes.size() / 2] * 1e9);
  return 0;
}
