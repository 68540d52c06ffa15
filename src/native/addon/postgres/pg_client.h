// JavaScript class for a PostgreSQL connection with its own thread.
#pragma once

#include "../napi.h"

namespace graticule::addon {

/** The class PostgresConnection: see src/native/postgres.ts. */
napi_value definePostgresConnection(napi_env env);

}  // namespace graticule::addon
