// Process operations on the geometries of a statement's rows.
#include "../core/values/bytes.h"
#include "../core/processing/geometry_operation.h"
#include "../core/geometry/wkb.h"
#include "connection.h"

namespace graticule::sqlite {
namespace {

constexpr const char* kName = "gr_process";

/** State that all rows of a statement share, because its arguments are constants. */
struct Task {
  /** Keeps the data of the connection: SQLite can destroy the functions of a connection before the statement. */
  ConnectionRef connection;
  std::unique_ptr<GeometryProcessor> processor;
};

/** Null, and the statement fails, when an argument is wrong. */
std::unique_ptr<Task> makeTask(sqlite3_context* context, sqlite3_value** argv) {
  const auto& connection = *static_cast<ConnectionRef*>(sqlite3_user_data(context));
  GeometryOperation operation;
  std::string error;
  if (!parseGeometryOperation(textOf(argv[1]), operation, error)) return fail(context, kName, error), nullptr;
  auto processor = GeometryProcessor::make(*geosOf(*connection), connection->reprojectors, operation, textOf(argv[2]),
                                           textOf(argv[3]), error);
  if (processor == nullptr) return fail(context, kName, error), nullptr;
  return std::make_unique<Task>(Task{connection, std::move(processor)});
}

void processRow(sqlite3_context* context, Task& task, sqlite3_value** argv) {
  size_t size = 0;
  const uint8_t* blob = blobOf(argv[0], size);
  ByteBuffer& out = task.connection->blob;
  std::string reason;
  switch (task.processor->processBlob(blob, size, sqlite3_value_int(argv[4]), task.connection->scratch, out, reason)) {
    case GeometryProcessor::Outcome::Same: return sqlite3_result_value(context, argv[0]);
    case GeometryProcessor::Outcome::Nothing: return;
    case GeometryProcessor::Outcome::Blob: return resultBlob(context, out.data(), out.size());
    case GeometryProcessor::Outcome::Failure:
      sqlite3_result_text(context, reason.data(), static_cast<int>(reason.size()), SQLITE_TRANSIENT);
  }
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
