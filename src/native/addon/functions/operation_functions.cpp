// Coordinate operations between two CRS, by their codes.
#include "operation_functions.h"

#include "../../core/geometry/operations.h"
#include "../arrays.h"

namespace graticule::addon {
namespace {

napi_value toStep(napi_env env, const DatumStep& step) {
  napi_value object;
  check(napi_create_object(env, &object));
  setProperty(env, object, "authority", toText(env, step.authority));
  setProperty(env, object, "code", toText(env, step.code));
  setProperty(env, object, "name", toText(env, step.name));
  setProperty(env, object, "isInverse", toBoolean(env, step.inverse));
  return object;
}

}  // namespace

/** (from, to, area: Float64Array of west, south, east, north, or of none) -> steps of each, the best first */
napi_value findOperations(napi_env env, napi_callback_info info) {
  const Arguments<3> arguments(env, info);
  const Elements<double> sides = requireDoubles(env, arguments[2], "area");
  Box area;
  if (sides.size == 4) area = {sides.data[0], sides.data[1], sides.data[2], sides.data[3]};
  Operations operations;
  std::string error;
  PJ_CONTEXT* context = environmentOf(env).reprojectors.context();
  const std::string from = requireText(env, arguments[0], "from");
  if (!operations.find(context, from, requireText(env, arguments[1], "to"), area, error)) throw Failure{error, false};
  napi_value list;
  check(napi_create_array_with_length(env, operations.size(), &list));
  for (uint32_t i = 0; i < operations.size(); ++i) {
    napi_value steps;
    check(napi_create_array_with_length(env, operations.steps(i).size(), &steps));
    uint32_t n = 0;
    for (const DatumStep& step : operations.steps(i)) check(napi_set_element(env, steps, n++, toStep(env, step)));
    check(napi_set_element(env, list, i, steps));
  }
  return list;
}

/** (points: Float64Array of x,y pairs, from, to, place among the operations that are found anywhere) */
napi_value transformByOperation(napi_env env, napi_callback_info info) {
  const Arguments<4> arguments(env, info);
  const Elements<double> points = requireDoubles(env, arguments[0], "points");
  if (points.size % 2 != 0) throw Failure{"points must be a Float64Array of x,y pairs", true};
  Operations operations;
  std::string error;
  PJ_CONTEXT* context = environmentOf(env).reprojectors.context();
  const std::string from = requireText(env, arguments[1], "from");
  if (!operations.find(context, from, requireText(env, arguments[2], "to"), Box{}, error)) throw Failure{error, false};
  if (operations.size() == 0) throw Failure{"there is no operation", false};
  const uint32_t place = requireWhole(env, arguments[3], "place", 0, static_cast<double>(operations.size() - 1));
  if (!operations.transform(place, points.data, points.size / 2)) throw Failure{"the operation cannot be done", false};
  return nullptr;
}

}  // namespace graticule::addon
