// A connection to PostgreSQL with a thread of its own, as JavaScript sees it.
#pragma once

#include "../napi.h"

namespace graticule::addon {

/** The class PostgresConnection: see src/native/postgres.ts. */
napi_value definePostgresConnection(napi_env env);

}  // namespace graticule::addon
