// Functions of one row: envelopes for the rtree triggers, Hilbert index, boxes, validity, boxes between CRS.
#include <cmath>

#include "../core/geometry/hilbert.h"
#include "../core/clipping/intersects_box.h"
#include "../core/values/number.h"
#include "../core/geometry/wkb.h"
#include "../core/values/instant.h"
#include "connection.h"

namespace graticule::sqlite {
namespace {

/** The envelope of a geometry argument; false, and the result stays NULL, without one. */
bool envelopeOf(sqlite3_context* context, sqlite3_value* value, Box& box) {
  size_t size = 0;
  const uint8_t* blob = blobOf(value, size);
  if (blob == nullptr) return false;
  return readEnvelope(blob, size, connectionOf(context).scratch, box) == ReadStatus::Ok && box.valid();
}

void envelopeMember(sqlite3_context* context, sqlite3_value* value, double Box::*member) {
  guarded(context, [&] {
    Box box;
    if (envelopeOf(context, value, box)) sqlite3_result_double(context, box.*member);
  });
}

bool numberOf(sqlite3_value* value, double& number) {
  const int type = sqlite3_value_type(value);
  number = sqlite3_value_double(value);
  return (type == SQLITE_INTEGER || type == SQLITE_FLOAT) && std::isfinite(number);
}

bool boxOf(sqlite3_value** argv, Box& box) {
  return numberOf(argv[0], box.minX) && numberOf(argv[1], box.minY) && numberOf(argv[2], box.maxX) &&
         numberOf(argv[3], box.maxY);
}

}  // namespace

void minX(sqlite3_context* context, int, sqlite3_value** argv) { envelopeMember(context, argv[0], &Box::minX); }
void maxX(sqlite3_context* context, int, sqlite3_value** argv) { envelopeMember(context, argv[0], &Box::maxX); }
void minY(sqlite3_context* context, int, sqlite3_value** argv) { envelopeMember(context, argv[0], &Box::minY); }
void maxY(sqlite3_context* context, int, sqlite3_value** argv) { envelopeMember(context, argv[0], &Box::maxY); }

void isEmpty(sqlite3_context* context, int, sqlite3_value** argv) {
  guarded(context, [&] {
    size_t size = 0;
    const uint8_t* blob = blobOf(argv[0], size);
    BlobHeader header;
    if (blob == nullptr || readHeader(blob, size, header) != ReadStatus::Ok) return;
    if (header.empty || header.hasEnvelope) return sqlite3_result_int(context, header.empty);
    Geometry& geometry = connectionOf(context).scratch;
    if (readBlob(blob, size, header, geometry) != ReadStatus::Ok) return;
    sqlite3_result_int(context, geometry.empty());
  });
}

void hilbert(sqlite3_context* context, int, sqlite3_value** argv) {
  guarded(context, [&] {
    Box world;
    Box box;
    if (!boxOf(argv + 1, world)) return fail(context, "gr_hilbert", "the box must be four numbers");
    if (!envelopeOf(context, argv[0], box)) return;
    const uint32_t x = hilbertCell((box.minX + box.maxX) / 2, world.minX, world.maxX);
    const uint32_t y = hilbertCell((box.minY + box.maxY) / 2, world.minY, world.maxY);
    sqlite3_result_int64(context, hilbertIndex(x, y));
  });
}

void instant(sqlite3_context* context, int, sqlite3_value** argv) {
  if (sqlite3_value_type(argv[0]) != SQLITE_TEXT) return;
  const auto* text = reinterpret_cast<const char*>(sqlite3_value_text(argv[0]));
  if (text == nullptr) return sqlite3_result_error_nomem(context);
  int64_t microseconds = 0;
  if (!readMicroseconds(text, static_cast<size_t>(sqlite3_value_bytes(argv[0])), microseconds)) return;
  char out[kInstantSize];
  const size_t size = putMicroseconds(out, microseconds);
  if (size > 0) sqlite3_result_text(context, out, static_cast<int>(size), SQLITE_TRANSIENT);
}

void intersectsBox(sqlite3_context* context, int, sqlite3_value** argv) {
  guarded(context, [&] {
    Box box;
    if (!boxOf(argv + 1, box)) return fail(context, "gr_intersects_box", "the box must be four numbers");
    size_t size = 0;
    const uint8_t* blob = blobOf(argv[0], size);
    bool answer = false;
    if (blob == nullptr) return;
    const ReadStatus status = graticule::intersectsBox(blob, size, box, connectionOf(context).scratch, answer);
    if (status == ReadStatus::Ok) sqlite3_result_int(context, answer);
  });
}

void validGeometry(sqlite3_context* context, int, sqlite3_value** argv) {
  guarded(context, [&] {
    if (sqlite3_value_type(argv[0]) == SQLITE_NULL) return;
    size_t size = 0;
    const uint8_t* blob = blobOf(argv[0], size);
    if (blob == nullptr) return sqlite3_result_text(context, "the value is not a blob", -1, SQLITE_STATIC);
    BlobHeader header;
    const ReadStatus status = readBlob(blob, size, header, connectionOf(context).scratch);
    if (status != ReadStatus::Ok) sqlite3_result_text(context, describe(status), -1, SQLITE_STATIC);
  });
}

void geometryLoss(sqlite3_context* context, int, sqlite3_value** argv) {
  constexpr int kNotFinite = 8;
  constexpr int kUnreadable = 16;
  guarded(context, [&] {
    if (sqlite3_value_type(argv[0]) == SQLITE_NULL) return;
    size_t size = 0;
    const uint8_t* blob = blobOf(argv[0], size);
    BlobHeader header;
    Geometry& geometry = connectionOf(context).scratch;
    if (blob == nullptr || readBlob(blob, size, header, geometry) != ReadStatus::Ok)
      return sqlite3_result_int(context, kUnreadable);
    int bits = geometry.lost;
    for (const Sequence& s : geometry.sequences) {
      for (size_t i = 0; i < s.count; ++i) {
        if (!std::isfinite(s.x(i)) || !std::isfinite(s.y(i))) bits |= kNotFinite;
      }
    }
    sqlite3_result_int(context, bits);
  });
}

void transformBox(sqlite3_context* context, int, sqlite3_value** argv) {
  constexpr const char* kFunction = "gr_transform_box";
  guarded(context, [&] {
    Box from;
    Box to;
    std::string error;
    if (!boxOf(argv, from)) return fail(context, kFunction, "the box must be four numbers");
    const auto reprojector = connectionOf(context).reprojectors.find(textOf(argv[4]), textOf(argv[5]), error);
    if (reprojector == nullptr) return fail(context, kFunction, error);
    if (!reprojector->transformBox(from, to)) return fail(context, kFunction, "the box has no image in the target CRS");
    uint8_t text[4 * kMaxNumberSize + 5];
    uint8_t* p = text;
    char separator = '[';
    for (const double v : {to.minX, to.minY, to.maxX, to.maxY}) {
      *p++ = static_cast<uint8_t>(separator);
      p = putShortest(p, v);
      separator = ',';
    }
    *p++ = ']';
    sqlite3_result_text(context, reinterpret_cast<const char*>(text), static_cast<int>(p - text), SQLITE_TRANSIENT);
  });
}

}  // namespace graticule::sqlite
