// Jobs of a PostgreSQL connection: each works on the connection's thread and resolves on Node's thread.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "../../core/geometry/reprojector.h"
#include "../../core/scenes/scene_tile.h"
#include "../../core/tiles/tile_layer.h"
#include "../napi.h"
#include "pg_connection.h"
#include "pg_page.h"

namespace graticule::addon {

/** State that belongs to a connection's thread. */
struct PgSession {
  PgConnection connection;
  ReprojectorCache reprojectors;
  TileLayerEncoder tileEncoder;
  SceneTileEncoder sceneEncoder;
};

class PgJob {
 public:
  virtual ~PgJob() = default;
  /** On the connection's thread. Throws PgError. */
  virtual void work(PgSession& session) = 0;
  /** On Node's thread, after work() has returned. */
  virtual napi_value answer(napi_env env) = 0;
  /** False for a job that leaves its statement open for the next one. */
  virtual bool endsStatement() const { return true; }

  napi_deferred deferred = nullptr;
  /** Set when work() threw. */
  std::optional<PgError> error;
};

struct PgStatement {
  std::string sql;
  PgParams params;
};

std::unique_ptr<PgJob> connectJob(std::string url, int timeoutMs);
/** Returns all rows of a small result as an array of arrays. */
std::unique_ptr<PgJob> queryJob(PgStatement statement);
/** Sends a statement whose rows fetchJob() reads. */
std::unique_ptr<PgJob> openJob(PgStatement statement);
/** {rows, done}: at most so many rows of the open statement. */
std::unique_ptr<PgJob> fetchJob(size_t maxRows);
/** Ends the open statement. */
std::unique_ptr<PgJob> finishJob();
/** Whether a notification came in time. */
std::unique_ptr<PgJob> notifiedJob(int timeoutMs);
/** {outputs, returned, more, first, last} */
std::unique_ptr<PgJob> pageJob(PgStatement statement, PageOptions options);
/** {tile, features}; columns are id, geometry and one per attribute. */
std::unique_ptr<PgJob> tileJob(PgStatement statement, TileLayerOptions options);
/** The bytes of a scene tile; columns are the same. */
std::unique_ptr<PgJob> sceneTileJob(PgStatement statement, SceneTileOptions options);

}  // namespace graticule::addon
