// LayerEncoder: encodes a vector tile layer from rows in JavaScript.
#include <cmath>

#include "../core/formats/options.h"
#include "napi.h"

namespace graticule::addon {
namespace {

/** Cells of a row before its attribute values: id, geometry. */
constexpr uint32_t kFirstValue = 2;

struct Encoder {
  TileLayerEncoder layer;
  size_t columns = 0;
  /** Text of the current value. */
  std::string text;
};

Encoder& encoderOf(napi_env env, napi_value self) {
  void* data = nullptr;
  if (napi_unwrap(env, self, &data) != napi_ok) throw Failure{"this is not a LayerEncoder", true};
  return *static_cast<Encoder*>(data);
}

napi_value construct(napi_env env, napi_callback_info info) {
  const Arguments<1> arguments(env, info);
  napi_value target = nullptr;
  check(napi_get_new_target(env, info, &target));
  if (target == nullptr) throw Failure{"LayerEncoder must be called with new", true};
  TileLayerOptions options;
  std::string error;
  if (!parseTileOptions(requireText(env, arguments[0], "options"), options, error)) throw Failure{error, true};
  auto reprojector = environmentOf(env).reprojectors.find(options.from, options.to, error);
  if (reprojector == nullptr) throw Failure{error, false};
  auto encoder = std::make_unique<Encoder>();
  encoder->columns = options.columns.size();
  encoder->layer.begin(options, std::move(reprojector));
  const auto destroy = [](napi_env, void* data, void*) { delete static_cast<Encoder*>(data); };
  check(napi_wrap(env, arguments.self, encoder.get(), destroy, nullptr, nullptr));
  encoder.release();
  return arguments.self;
}

Value ofNumber(double number) {
  constexpr double kMaxSafe = 9007199254740991.0;
  const bool integer = number == std::trunc(number) && std::fabs(number) <= kMaxSafe;
  return integer && !(number == 0 && std::signbit(number)) ? Value::ofInteger(static_cast<int64_t>(number))
                                                           : Value::ofReal(number);
}

/** Calls toISOString(), so that a date reads in a tile as it does in GeoJSON. */
Value ofObject(napi_env env, napi_value object, std::string& text) {
  bool date = false;
  check(napi_is_date(env, object, &date));
  double time = 0;
  if (!date || napi_get_date_value(env, object, &time) != napi_ok || !std::isfinite(time)) return {};
  napi_value method;
  napi_value result;
  check(napi_get_named_property(env, object, "toISOString", &method));
  check(napi_call_function(env, object, method, 0, nullptr, &result));
  return readText(env, result, text) ? Value::ofText(text.data(), text.size()) : Value{};
}

Value valueOf(napi_env env, napi_value v, std::string& text) {
  napi_valuetype type;
  check(napi_typeof(env, v, &type));
  switch (type) {
    case napi_number: {
      double number = 0;
      check(napi_get_value_double(env, v, &number));
      return ofNumber(number);
    }
    case napi_boolean: {
      bool boolean = false;
      check(napi_get_value_bool(env, v, &boolean));
      return Value::ofBoolean(boolean);
    }
    case napi_string: return readText(env, v, text) ? Value::ofText(text.data(), text.size()) : Value{};
    case napi_bigint: {
      int64_t integer = 0;
      bool lossless = false;
      check(napi_get_value_bigint_int64(env, v, &integer, &lossless));
      return lossless ? Value::ofInteger(integer) : Value{};
    }
    case napi_object: return ofObject(env, v, text);
    default: return {};
  }
}

bool addRow(napi_env env, Encoder& encoder, napi_value row) {
  uint32_t cells = 0;
  if (napi_get_array_length(env, row, &cells) != napi_ok || cells != encoder.columns + kFirstValue) {
    throw Failure{"a row must be an array of id, geometry and " + std::to_string(encoder.columns) + " values", true};
  }
  napi_value cell;
  check(napi_get_element(env, row, 1, &cell));
  const uint8_t* blob = nullptr;
  size_t size = 0;
  if (!bytesOf(env, cell, blob, size) || !encoder.layer.addGeometry(blob, size)) return false;
  for (uint32_t i = kFirstValue; i < cells; ++i) {
    check(napi_get_element(env, row, i, &cell));
    encoder.layer.tag(i - kFirstValue, valueOf(env, cell, encoder.text));
  }
  check(napi_get_element(env, row, 0, &cell));
  const Value id = valueOf(env, cell, encoder.text);
  const bool hasId = id.kind == Value::Kind::Integer && id.integer >= 0;
  const auto tileId = static_cast<uint64_t>(id.integer);
  encoder.layer.endFeature(hasId ? &tileId : nullptr);
  return true;
}

napi_value add(napi_env env, napi_callback_info info) {
  const Arguments<1> arguments(env, info);
  Encoder& encoder = encoderOf(env, arguments.self);
  uint32_t rows = 0;
  if (napi_get_array_length(env, arguments[0], &rows) != napi_ok) throw Failure{"rows must be an array", true};
  uint32_t added = 0;
  for (uint32_t i = 0; i < rows; ++i) {
    // A scope per row: a batch of thousands must not pile up handles.
    napi_handle_scope scope;
    check(napi_open_handle_scope(env, &scope));
    struct Close {
      napi_env env;
      napi_handle_scope scope;
      ~Close() { napi_close_handle_scope(env, scope); }
    } close{env, scope};
    napi_value row;
    check(napi_get_element(env, arguments[0], i, &row));
    added += addRow(env, encoder, row);
  }
  return toNumber(env, added);
}

napi_value finish(napi_env env, napi_callback_info info) {
  const Arguments<1> arguments(env, info);
  size_t size = 0;
  const uint8_t* tile = encoderOf(env, arguments.self).layer.finish(size);
  return toBuffer(env, tile, size);
}

napi_value features(napi_env env, napi_callback_info info) {
  const Arguments<1> arguments(env, info);
  return toNumber(env, encoderOf(env, arguments.self).layer.features());
}

napi_value dropped(napi_env env, napi_callback_info info) {
  const Arguments<1> arguments(env, info);
  return toNumber(env, static_cast<double>(encoderOf(env, arguments.self).layer.dropped()));
}

}  // namespace

napi_value defineLayerEncoder(napi_env env) {
  const napi_property_descriptor members[] = {
      {"add", nullptr, guarded<add>, nullptr, nullptr, nullptr, napi_default_method, nullptr},
      {"finish", nullptr, guarded<finish>, nullptr, nullptr, nullptr, napi_default_method, nullptr},
      {"features", nullptr, nullptr, guarded<features>, nullptr, nullptr, napi_default, nullptr},
      {"dropped", nullptr, nullptr, guarded<dropped>, nullptr, nullptr, napi_default, nullptr},
  };
  napi_value constructor;
  check(napi_define_class(env, "LayerEncoder", NAPI_AUTO_LENGTH, guarded<construct>, nullptr, std::size(members),
                          members, &constructor));
  return constructor;
}

}  // namespace graticule::addon
