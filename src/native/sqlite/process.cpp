// Operations on the geometries of the rows of a statement, as processes ask for them.
#include "../core/bytes.h"
#include "../core/plain_blob.h"
#include "../core/processing/geometry_operation.h"
#include "../core/wkb.h"
#include "connection.h"

namespace graticule::sqlite {
namespace {

constexpr const char* kName = "gr_process";

/** What all rows of a statement share: its arguments are constants. */
struct Task {
  Task(ConnectionRef owner, const GeometryOperation& operation, std::shared_ptr<const Reprojector> target)
      : connection(std::move(owner)),
        processor(*geosOf(*connection), operation, target),
        keeps(operation.name == "none" && !operation.strict && target->identity()) {}

  /** The functions of the connection may go before the statement does. */
  ConnectionRef connection;
  GeometryProcessor processor;
  /** Blobs that are plain already are results as they are. */
  bool keeps;
};

/** Null, and the statement fails, when an argument is wrong. */
std::unique_ptr<Task> makeTask(sqlite3_context* context, sqlite3_value** argv) {
  const auto& connection = *static_cast<ConnectionRef*>(sqlite3_user_data(context));
  GeometryOperation operation;
  std::string error;
  if (!parseGeometryOperation(textOf(argv[1]), operation, error)) return fail(context, kName, error), nullptr;
  ReprojectorCache& reprojectors = connection->reprojectors;
  const std::string crs = textOf(argv[2]);
  const auto find = [&](const std::string& from, const std::string& to) { return reprojectors.find(from, to, error); };
  const auto target = find(crs, textOf(argv[3]));
  if (target == nullptr) return fail(context, kName, error), nullptr;
  auto task = std::make_unique<Task>(connection, operation, target);
  if (operation.ground) {
    const auto toLonLat = find(crs, "OGC:CRS84");
    const auto fromLonLat = find("OGC:CRS84", crs);
    if (toLonLat == nullptr || fromLonLat == nullptr) return fail(context, kName, error), nullptr;
    task->processor.onGround(reprojectors, toLonLat, fromLonLat);
  }
  return task;
}

void processRow(sqlite3_context* context, Task& task, sqlite3_value** argv) {
  size_t size = 0;
  const uint8_t* blob = blobOf(argv[0], size);
  if (blob == nullptr) return;
  const int32_t srsId = sqlite3_value_int(argv[4]);
  if (task.keeps && isPlainBlob(blob, size, srsId)) return sqlite3_result_value(context, argv[0]);
  Geometry& geometry = task.connection->scratch;
  BlobHeader header;
  const ReadStatus status = readBlob(blob, size, header, geometry);
  if (status == ReadStatus::Ok && header.empty) return;
  std::string reason;
  ByteBuffer& out = task.connection->blob;
  out.clear();
  if (status != ReadStatus::Ok) {
    reason = describe(status);
  } else if (task.processor.process(geometry, srsId, out, reason)) {
    if (!out.empty()) resultBlob(context, reinterpret_cast<const uint8_t*>(out.data()), out.size());
    return;
  }
  sqlite3_result_text(context, reason.data(), static_cast<int>(reason.size()), SQLITE_TRANSIENT);
}

}  // namespace

void process(sqlite3_context* context, int, sqlite3_value** argv) {
  guarded(context, [&] {
    if (auto* task = static_cast<Task*>(sqlite3_get_auxdata(context, 1))) return processRow(context, *task, argv);
    auto task = makeTask(context, argv);
    if (task == nullptr) return;
    processRow(context, *task, argv);
    sqlite3_set_auxdata(context, 1, task.release(), [](void* old) { delete static_cast<Task*>(old); });
  });
}

void geometryType(sqlite3_context* context, int, sqlite3_value** argv) {
  guarded(context, [&] {
    size_t size = 0;
    const uint8_t* blob = blobOf(argv[0], size);
    BlobHeader header;
    if (blob == nullptr || readHeader(blob, size, header) != ReadStatus::Ok) return;
    const uint8_t* wkb = blob + header.wkbOffset;
    const bool littleEndian = size >= header.wkbOffset + 5 && wkb[0] == 1;
    if (littleEndian) sqlite3_result_int64(context, loadNative<uint32_t>(wkb + 1));
  });
}

}  // namespace graticule::sqlite
