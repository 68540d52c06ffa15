// Pixel functions of GDAL's derived bands, for gdal-async to register: those in JavaScript need the main thread.
#include <charconv>
#include <cstring>
#include <string_view>

#include "../../core/values/merge_values.h"
#include "../napi.h"

namespace graticule::addon {
namespace {

constexpr int kNone = 0;
constexpr int kFailure = 3;

/** GDALDerivedPixelFuncWithArgs, whose enumerations are integers here: GDAL itself is not linked. */
using PixelFunction = int (*)(void** sources, int count, void* target, int width, int height, int sourceType,
                              int targetType, int pixelSpace, int lineSpace, const char* const* arguments);

/** Description of a pixel function, as gdal-async expects it (node_gdal.h). */
struct Description {
  uint64_t magic;
  PixelFunction function;
  const char* metadata;
};
constexpr uint64_t kMagic = 0xC0DEDF0BEEF;

/** GDALDataType. */
bool typeOf(int type, SampleType& out) {
  constexpr SampleType kTypes[] = {SampleType::kUInt8,  SampleType::kUInt16,  SampleType::kInt16,  SampleType::kUInt32,
                                   SampleType::kInt32, SampleType::kFloat32, SampleType::kFloat64};
  if (type < 1 || type > 7) return false;
  out = kTypes[type - 1];
  return true;
}

/** `name=value` of a list that ends with null. */
bool numberOf(const char* const* arguments, std::string_view name, double& out) {
  for (; arguments != nullptr && *arguments != nullptr; ++arguments) {
    const std::string_view argument = *arguments;
    if (argument.size() <= name.size() || argument.substr(0, name.size()) != name || argument[name.size()] != '=') continue;
    const std::string_view value = argument.substr(name.size() + 1);
    return std::from_chars(value.data(), value.data() + value.size(), out).ec == std::errc{};
  }
  return false;
}

template <Merge merge>
int mergePixels(void** sources, int count, void* target, int width, int height, int sourceType, int targetType,
                int pixelSpace, int lineSpace, const char* const* arguments) {
  SampleType from{};
  MergeTarget to{static_cast<uint8_t*>(target), {}, pixelSpace, lineSpace};
  double noData = 0;
  double absent = 0;
  double isWhole = 0;
  if (!typeOf(sourceType, from) || !typeOf(targetType, to.type)) return kFailure;
  if (!numberOf(arguments, "noData", noData) || !numberOf(arguments, "isWhole", isWhole)) return kFailure;
  if (!numberOf(arguments, "absent", absent)) return kFailure;
  try {
    const std::vector<const void*> values(sources, sources + count);
    mergeValues({merge, noData, absent, isWhole != 0}, values, from, static_cast<size_t>(width), static_cast<size_t>(height), to);
    return kNone;
  } catch (...) {
    return kFailure;
  }
}

PixelFunction functionOf(const std::string& name) {
  if (name == "average") return mergePixels<Merge::kAverage>;
  if (name == "max") return mergePixels<Merge::kMax>;
  if (name == "min") return mergePixels<Merge::kMin>;
  if (name == "median") return mergePixels<Merge::kMedian>;
  if (name == "standard-deviation") return mergePixels<Merge::kStandardDeviation>;
  if (name == "count") return mergePixels<Merge::kCount>;
  throw Failure{"there is no such merge", true};
}

}  // namespace

/** (merge: a name of `Merge`) -> Uint8Array that gdal.addPixelFunc takes. */
napi_value mergeFunction(napi_env env, napi_callback_info info) {
  const Arguments<1> arguments(env, info);
  const Description description{kMagic, functionOf(requireText(env, arguments[0], "merge")), nullptr};
  napi_value buffer;
  napi_value array;
  void* memory = nullptr;
  check(napi_create_arraybuffer(env, sizeof description, &memory, &buffer));
  std::memcpy(memory, &description, sizeof description);
  check(napi_create_typedarray(env, napi_uint8_array, sizeof description, buffer, 0, &array));
  return array;
}

}  // namespace graticule::addon
