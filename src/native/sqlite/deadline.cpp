// Functions that end statements after a time limit, because better-sqlite3's SQLite does not have a progress handler.
// - gr_before(deadline): the statement itself checks the deadline for each row.
// - gr_end_in(milliseconds): all statements of the connection end then, even if they never reach a row. NULL cancels
//   it.
#include <algorithm>
#include <chrono>

#include "connection.h"

namespace graticule::sqlite {

void beforeDeadline(sqlite3_context* context, int, sqlite3_value** argv) {
  using namespace std::chrono;
  const auto now = duration_cast<milliseconds>(system_clock::now().time_since_epoch()).count();
  if (static_cast<double>(now) < sqlite3_value_double(argv[0])) return sqlite3_result_int(context, 1);
  failLate(context, "gr_before");
}

void endIn(sqlite3_context* context, int, sqlite3_value** argv) {
  guarded(context, [&] {
    Watchdog& watchdog = connectionOf(context).watchdog;
    if (sqlite3_value_type(argv[0]) == SQLITE_NULL) return watchdog.stop();
    const std::chrono::milliseconds time(std::max<sqlite3_int64>(0, sqlite3_value_int64(argv[0])));
    watchdog.start(sqlite3_context_db_handle(context), time);
  });
}

}  // namespace graticule::sqlite
