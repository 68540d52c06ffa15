// gr_generalise, gr_importance and gr_cell: functions that create the overviews of a table.
#include <algorithm>
#include <cmath>

#include "../core/geometry/wkb.h"
#include "../core/geometry/wkb_writer.h"
#include "connection.h"

namespace graticule::sqlite {
namespace {

constexpr int kCellBits = 24;

bool readGeometry(sqlite3_context* context, sqlite3_value* value, BlobHeader& header) {
  size_t size = 0;
  const uint8_t* blob = blobOf(value, size);
  Geometry& geometry = connectionOf(context).scratch;
  return blob != nullptr && readBlob(blob, size, header, geometry) == ReadStatus::Ok && !geometry.empty();
}

int64_t cellOf(double v, double low, double side) {
  constexpr double kCells = int64_t{1} << kCellBits;
  return static_cast<int64_t>(std::clamp(std::floor((v - low) / side * kCells), 0.0, kCells - 1));
}

}  // namespace

void generalise(sqlite3_context* context, int, sqlite3_value** argv) {
  guarded(context, [&] {
    BlobHeader header;
    const double resolution = sqlite3_value_double(argv[1]);
    if (!(resolution > 0)) return fail(context, "gr_generalise", "the resolution must be positive");
    if (!readGeometry(context, argv[0], header)) return;
    Connection& connection = connectionOf(context);
    const Geometry& coarse = connection.generaliser.generalise(connection.scratch, resolution);
    if (coarse.nodes.empty()) return;
    ByteBuffer blob;
    writeGeoPackageBlob(coarse, header.srsId, blob);
    resultBlob(context, blob.data(), blob.size());
  });
}

void importance(sqlite3_context* context, int, sqlite3_value** argv) {
  guarded(context, [&] {
    BlobHeader header;
    if (!readGeometry(context, argv[0], header)) return;
    const Geometry& geometry = connectionOf(context).scratch;
    const auto first = std::find_if(geometry.sequences.begin(), geometry.sequences.end(),
                                    [](const Sequence& s) { return s.count != 0; });
    sqlite3_result_int64(context, static_cast<int64_t>(importanceOf(measureOf(geometry), hashOfPosition(*first))));
  });
}

void cell(sqlite3_context* context, int, sqlite3_value** argv) {
  guarded(context, [&] {
    size_t size = 0;
    Box box;
    const uint8_t* blob = blobOf(argv[0], size);
    const double side = sqlite3_value_double(argv[3]);
    if (!(side > 0)) return fail(context, "gr_cell", "the side must be positive");
    if (blob == nullptr || readEnvelope(blob, size, connectionOf(context).scratch, box) != ReadStatus::Ok) return;
    const double x = (box.minX + box.maxX) / 2;
    const double y = (box.minY + box.maxY) / 2;
    if (!box.valid() || !std::isfinite(x) || !std::isfinite(y)) return;
    const int64_t column = cellOf(x, sqlite3_value_double(argv[1]), side);
    sqlite3_result_int64(context, column << kCellBits | cellOf(y, sqlite3_value_double(argv[2]), side));
  });
}

}  // namespace graticule::sqlite
