// gr_before(deadline): ends a statement that runs too long. better-sqlite3's SQLite has no progress handler, so the
// statement itself asks, once a row.
#include <chrono>

#include "connection.h"

namespace graticule::sqlite {

void beforeDeadline(sqlite3_context* context, int, sqlite3_value** argv) {
  using namespace std::chrono;
  const auto now = duration_cast<milliseconds>(system_clock::now().time_since_epoch()).count();
  if (static_cast<double>(now) < sqlite3_value_double(argv[0])) return sqlite3_result_int(context, 1);
  failLate(context, "gr_before");
}

}  // namespace graticule::sqlite
