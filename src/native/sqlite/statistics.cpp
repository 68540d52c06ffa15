// gr_var_samp, gr_percentile_cont, gr_percentile_disc and gr_bin: what SQLite does not compute.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <new>
#include <vector>

#include "connection.h"

namespace graticule::sqlite {
namespace {

/** Count, mean and squared differences so far (Welford). Zeroed by SQLite before the first row. */
struct Spread {
  double count;
  double mean;
  double squares;
};

bool isNumber(sqlite3_value* value) {
  const int type = sqlite3_value_type(value);
  return (type == SQLITE_INTEGER || type == SQLITE_FLOAT) && std::isfinite(sqlite3_value_double(value));
}

/** Values that the percentiles of a connection may hold at a time: 256 MB. */
constexpr size_t kMaxValues = size_t{1} << 25;

struct Values {
  std::vector<double> numbers;
  double fraction = 0;
  bool descending = false;
};

/** Zeroed by SQLite before the first row. */
struct Group {
  Values* values;
  bool failed;
};

void percentileStep(sqlite3_context* context, const char* function, sqlite3_value** argv) {
  if (!isNumber(argv[0])) return;
  guarded(context, [&] {
    auto* group = static_cast<Group*>(sqlite3_aggregate_context(context, sizeof(Group)));
    if (group == nullptr) throw std::bad_alloc();
    if (group->failed) return;
    if (group->values == nullptr) {
      const double fraction = sqlite3_value_double(argv[1]);
      if (!(fraction >= 0 && fraction <= 1)) {
        group->failed = true;
        return fail(context, function, "the fraction must be a number from 0 to 1");
      }
      group->values = new Values{{}, fraction, sqlite3_value_int(argv[2]) != 0};
    }
    size_t& held = connectionOf(context).heldValues;
    if (held >= kMaxValues) {
      group->failed = true;
      fail(context, function, "too many values");
      return sqlite3_result_error_code(context, SQLITE_TOOBIG);
    }
    group->values->numbers.push_back(sqlite3_value_double(argv[0]));
    ++held;
  });
}

/** The number at a place of the order, which the values are partly brought into. */
double at(std::vector<double>& numbers, size_t place) {
  const auto nth = numbers.begin() + static_cast<std::ptrdiff_t>(place);
  std::nth_element(numbers.begin(), nth, numbers.end());
  return *nth;
}

/** The value at the fraction of the way from the first to the last, between its neighbours as far as it lies there. */
double continuous(std::vector<double>& numbers, double fraction) {
  const double place = fraction * static_cast<double>(numbers.size() - 1);
  const auto below = static_cast<size_t>(std::floor(place));
  const double low = at(numbers, below);
  const double part = place - static_cast<double>(below);
  if (part == 0) return low;
  const double high = *std::min_element(numbers.begin() + static_cast<std::ptrdiff_t>(below) + 1, numbers.end());
  return low + part * (high - low);
}

/** The first value that at least that fraction of all are at or before. */
double discrete(std::vector<double>& numbers, double fraction, bool descending) {
  const size_t count = numbers.size();
  const double share = std::ceil(fraction * static_cast<double>(count));
  const size_t place = share < 1 ? 0 : std::min(count, static_cast<size_t>(share)) - 1;
  return at(numbers, descending ? count - 1 - place : place);
}

template <typename Of>
void percentileFinal(sqlite3_context* context, Of&& of) {
  guarded(context, [&] {
    auto* group = static_cast<Group*>(sqlite3_aggregate_context(context, 0));
    if (group == nullptr || group->values == nullptr) return;
    const std::unique_ptr<Values> values(group->values);
    group->values = nullptr;
    connectionOf(context).heldValues -= values->numbers.size();
    if (!group->failed && !values->numbers.empty()) sqlite3_result_double(context, of(*values));
  });
}

}  // namespace

void varianceStep(sqlite3_context* context, int, sqlite3_value** argv) {
  if (!isNumber(argv[0])) return;
  auto* spread = static_cast<Spread*>(sqlite3_aggregate_context(context, sizeof(Spread)));
  if (spread == nullptr) return sqlite3_result_error_nomem(context);
  const double value = sqlite3_value_double(argv[0]);
  const double difference = value - spread->mean;
  spread->count += 1;
  spread->mean += difference / spread->count;
  spread->squares += difference * (value - spread->mean);
}

void varianceFinal(sqlite3_context* context) {
  const auto* spread = static_cast<Spread*>(sqlite3_aggregate_context(context, 0));
  if (spread == nullptr || spread->count < 2) return;
  sqlite3_result_double(context, spread->squares / (spread->count - 1));
}

void percentileContStep(sqlite3_context* context, int, sqlite3_value** argv) {
  percentileStep(context, "gr_percentile_cont", argv);
}
void percentileContFinal(sqlite3_context* context) {
  percentileFinal(context, [](Values& values) {
    return continuous(values.numbers, values.descending ? 1 - values.fraction : values.fraction);
  });
}

void percentileDiscStep(sqlite3_context* context, int, sqlite3_value** argv) {
  percentileStep(context, "gr_percentile_disc", argv);
}
void percentileDiscFinal(sqlite3_context* context) {
  percentileFinal(context,
                  [](Values& values) { return discrete(values.numbers, values.fraction, values.descending); });
}

void bin(sqlite3_context* context, int, sqlite3_value** argv) {
  if (!isNumber(argv[0]) || sqlite3_value_type(argv[1]) != SQLITE_BLOB) return;
  const auto* bytes = static_cast<const unsigned char*>(sqlite3_value_blob(argv[1]));
  const auto limits = static_cast<sqlite3_int64>(sqlite3_value_bytes(argv[1])) / static_cast<sqlite3_int64>(sizeof(double));
  if (limits < 2) return;
  // The blob may lie anywhere: a double is copied out of it.
  const auto limit = [bytes](sqlite3_int64 i) {
    double number;
    std::memcpy(&number, bytes + i * static_cast<sqlite3_int64>(sizeof(double)), sizeof(double));
    return number;
  };
  const double value = sqlite3_value_double(argv[0]);
  if (!(value >= limit(0) && value <= limit(limits - 1))) return;
  sqlite3_int64 low = 0;
  for (sqlite3_int64 high = limits - 1; high - low > 1;) {
    const sqlite3_int64 middle = low + (high - low) / 2;
    (limit(middle) <= value ? low : high) = middle;
  }
  sqlite3_result_int64(context, low);
}

}  // namespace graticule::sqlite
