// Tiles and statistics of a cloud optimized GeoTIFF, computed on another thread.
#include "../../core/tiles/overview.h"
#include "../../core/pixels/sample_statistics.h"
#include "../../core/pixels/tiff_tiles.h"
#include "../job.h"

namespace graticule::addon {
namespace {

constexpr double kMaxSide = 65536;
constexpr uint32_t kMaxTileSide = 4096;
constexpr uint32_t kMaxBands = 1024;

enum class Overviews : uint32_t { kNone, kNearest, kAverage };

class TiffJob : public Job {
 public:
  TiffJob(Samples samples, uint32_t side, Overviews overviews)
      : samples_(std::move(samples)), side_(side), overviews_(overviews) {}

  void run() override {
    for (size_t band = 0; band < samples_.bands.size(); ++band) statistics_.push_back(statisticsOf(samples_, band));
    std::vector<Overview> smaller;
    const Samples* last = &samples_;
    while (overviews_ != Overviews::kNone && (last->width > side_ || last->height > side_)) {
      smaller.push_back(halved(*last, overviews_ == Overviews::kNearest));
      last = &smaller.back().samples;
    }
    const TileCompression compression = tileCompressionFor(samples_, side_);
    // The smallest first, so that its tiles are near the head.
    for (; !smaller.empty(); smaller.pop_back()) writeTiles(smaller.back().samples, side_, compression, out_, tiles_);
    writeTiles(samples_, side_, compression, out_, tiles_);
  }

  napi_value result(napi_env env) override {
    napi_value object;
    check(napi_create_object(env, &object));
    setProperty(env, object, "data", toBuffer(env, out_.data(), out_.size()));
    setProperty(env, object, "offsets", toNumbers(env, tiles_.offsets));
    setProperty(env, object, "sizes", toNumbers(env, tiles_.sizes));
    std::vector<double> numbers;
    for (const auto& [count, min, max, mean, deviation] : statistics_) {
      numbers.insert(numbers.end(), {count, min, max, mean, deviation});
    }
    setProperty(env, object, "statistics", toNumbers(env, numbers));
    return object;
  }

 private:
  template <typename T>
  static napi_value toNumbers(napi_env env, const std::vector<T>& numbers) {
    napi_value buffer;
    napi_value array;
    void* memory = nullptr;
    check(napi_create_arraybuffer(env, numbers.size() * sizeof(T), &memory, &buffer));
    if (!numbers.empty()) std::memcpy(memory, numbers.data(), numbers.size() * sizeof(T));
    constexpr auto kType = sizeof(T) == 4 ? napi_uint32_array : napi_float64_array;
    check(napi_create_typedarray(env, kType, numbers.size(), buffer, 0, &array));
    return array;
  }

  Samples samples_;
  uint32_t side_;
  Overviews overviews_;
  std::vector<SampleStatistics> statistics_;
  ByteBuffer out_;
  TiffTiles tiles_;
};

SampleType typeOf(napi_typedarray_type type) {
  switch (type) {
    case napi_uint8_array:
      return SampleType::kUInt8;
    case napi_uint16_array:
      return SampleType::kUInt16;
    case napi_int16_array:
      return SampleType::kInt16;
    case napi_uint32_array:
      return SampleType::kUInt32;
    case napi_int32_array:
      return SampleType::kInt32;
    case napi_float32_array:
      return SampleType::kFloat32;
    case napi_float64_array:
      return SampleType::kFloat64;
    default:
      throw Failure{"samples of this type cannot be written", true};
  }
}

void addBand(napi_env env, napi_value value, Samples& samples) {
  bool typed = false;
  check(napi_is_typedarray(env, value, &typed));
  if (!typed) throw Failure{"a band must be a typed array", true};
  napi_typedarray_type type;
  size_t length = 0;
  void* data = nullptr;
  check(napi_get_typedarray_info(env, value, &type, &length, &data, nullptr, nullptr));
  const SampleType sampleType = typeOf(type);
  if (!samples.bands.empty() && sampleType != samples.type) throw Failure{"the bands must be of one type", true};
  if (length != size_t{samples.width} * samples.height) throw Failure{"a band must have all pixels", true};
  samples.type = sampleType;
  samples.bands.push_back(data);
}

}  // namespace

/**
 * (bands: typed arrays of one type, width, height, side of a tile, overviews: 0 none, 1 nearest, 2 average, nodata:
 * number or undefined) -> Promise of { data, offsets, sizes, statistics }.
 * - `data`: the tiles of all overviews, smallest overview first, followed by the tiles of the image.
 * - `offsets`, `sizes`: the position and size of each tile in `data`.
 * - `statistics`: count, minimum, maximum, mean and deviation of each band.
 * The bands must not change until it settles.
 */
napi_value encodeTiffTiles(napi_env env, napi_callback_info info) {
  const Arguments<6> arguments(env, info);
  Samples samples;
  samples.width = requireWhole(env, arguments[1], "width", 1, kMaxSide);
  samples.height = requireWhole(env, arguments[2], "height", 1, kMaxSide);
  const uint32_t side = requireWhole(env, arguments[3], "side of a tile", 16, kMaxTileSide);
  // TIFF demands it.
  if (side % 16 != 0) throw Failure{"the side of a tile must be a multiple of 16", true};
  const auto overviews = static_cast<Overviews>(requireWhole(env, arguments[4], "overviews", 0, 2));
  napi_valuetype given;
  check(napi_typeof(env, arguments[5], &given));
  if (given != napi_undefined) samples.nodata = requireNumber(env, arguments[5], "nodata");
  uint32_t count = 0;
  if (napi_get_array_length(env, arguments[0], &count) != napi_ok || count == 0 || count > kMaxBands)
    throw Failure{"the bands must be an array", true};
  for (uint32_t i = 0; i < count; ++i) {
    napi_value band;
    check(napi_get_element(env, arguments[0], i, &band));
    addBand(env, band, samples);
  }
  return start(env, std::make_unique<TiffJob>(std::move(samples), side, overviews), arguments[0]);
}

}  // namespace graticule::addon
