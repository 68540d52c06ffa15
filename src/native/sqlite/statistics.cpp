// gr_var_samp, gr_percentile_cont, gr_percentile_disc and gr_bin: aggregates that SQLite lacks.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>
#include <vector>

#include "connection.h"

namespace graticule::sqlite {
namespace {

/** A number as SQLite has it: integers have all their digits. */
struct Number {
  double real;
  sqlite3_int64 integer;
  bool isInteger;
};

Number numberOf(sqlite3_value* value) {
  const bool isInteger = sqlite3_value_type(value) == SQLITE_INTEGER;
  return {sqlite3_value_double(value), isInteger ? sqlite3_value_int64(value) : 0, isInteger};
}

/**
 * Returns the double nearest to `a - b` for integers. Large integers that differ only in their last digits are the
 * same double.
 */
double difference(sqlite3_int64 a, sqlite3_int64 b) {
  const bool isNegative = a < b;
  const auto [most, least] = isNegative ? std::pair{b, a} : std::pair{a, b};
  const auto distance = static_cast<double>(static_cast<sqlite3_uint64>(most) - static_cast<sqlite3_uint64>(least));
  return isNegative ? -distance : distance;
}

double difference(const Number& a, const Number& b) {
  return a.isInteger && b.isInteger ? difference(a.integer, b.integer) : a.real - b.real;
}

/** The order of an integer and a finite double, of all their digits. */
int compare(sqlite3_int64 integer, double real) {
  constexpr double kBeyond = 9223372036854775808.0;
  if (real >= kBeyond) return -1;
  if (real < -kBeyond) return 1;
  const double whole = std::floor(real);
  const auto other = static_cast<sqlite3_int64>(whole);
  if (integer != other) return integer < other ? -1 : 1;
  return real > whole ? -1 : 0;
}

int compare(const Number& a, const Number& b) {
  if (a.isInteger && b.isInteger) return a.integer < b.integer ? -1 : a.integer > b.integer ? 1 : 0;
  if (a.isInteger) return compare(a.integer, b.real);
  if (b.isInteger) return -compare(b.integer, a.real);
  return a.real < b.real ? -1 : a.real > b.real ? 1 : 0;
}

/** Count, mean and squared differences so far (Welford), of the distances from the first value. Zeroed by SQLite before the first row. */
struct Spread {
  Number first;
  double count;
  double mean;
  double squares;
};

bool isNumber(sqlite3_value* value) {
  const int type = sqlite3_value_type(value);
  return (type == SQLITE_INTEGER || type == SQLITE_FLOAT) && std::isfinite(sqlite3_value_double(value));
}

/** Maximum number of values in the memory of a connection's percentiles: 256 MB. */
constexpr size_t kMaxValues = size_t{1} << 25;

/** Values as integers until one is not an integer; from then on all are doubles. */
struct Values {
  std::vector<sqlite3_int64> integers;
  std::vector<double> numbers;
  double fraction = 0;
  bool descending = false;

  size_t size() const { return integers.size() + numbers.size(); }

  void add(const Number& number) {
    if (number.isInteger && numbers.empty()) return integers.push_back(number.integer);
    if (!integers.empty()) {
      numbers.assign(integers.begin(), integers.end());
      integers = {};
    }
    numbers.push_back(number.real);
  }
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
      group->values = new Values{{}, {}, fraction, sqlite3_value_int(argv[2]) != 0};
    }
    size_t& held = connectionOf(context).heldValues;
    if (held >= kMaxValues) {
      group->failed = true;
      fail(context, function, "too many values");
      return sqlite3_result_error_code(context, SQLITE_TOOBIG);
    }
    group->values->add(numberOf(argv[0]));
    ++held;
  });
}

/** The number at a place of the order, which the values are partly brought into. */
template <typename T>
T at(std::vector<T>& numbers, size_t place) {
  const auto nth = numbers.begin() + static_cast<std::ptrdiff_t>(place);
  std::nth_element(numbers.begin(), nth, numbers.end());
  return *nth;
}

/**
 * Returns the value at this fraction of the way from the first to the last value, interpolated between its
 * neighbours.
 */
template <typename T>
double continuous(std::vector<T>& numbers, double fraction) {
  const double place = fraction * static_cast<double>(numbers.size() - 1);
  const auto below = static_cast<size_t>(std::floor(place));
  const T low = at(numbers, below);
  const double part = place - static_cast<double>(below);
  if (part == 0) return static_cast<double>(low);
  const T high = *std::min_element(numbers.begin() + static_cast<std::ptrdiff_t>(below) + 1, numbers.end());
  if constexpr (std::is_integral_v<T>) return static_cast<double>(low) + part * difference(high, low);
  return low + part * (high - low);
}

/** The first value that at least that fraction of all are at or before. */
template <typename T>
T discrete(std::vector<T>& numbers, double fraction, bool descending) {
  const size_t count = numbers.size();
  const double share = std::ceil(fraction * static_cast<double>(count));
  const size_t place = share < 1 ? 0 : std::min(count, static_cast<size_t>(share)) - 1;
  return at(numbers, descending ? count - 1 - place : place);
}

/** Calls `answer` with the values of a group, if it has some. */
template <typename Answer>
void percentileFinal(sqlite3_context* context, Answer&& answer) {
  guarded(context, [&] {
    auto* group = static_cast<Group*>(sqlite3_aggregate_context(context, 0));
    if (group == nullptr || group->values == nullptr) return;
    const std::unique_ptr<Values> values(group->values);
    group->values = nullptr;
    connectionOf(context).heldValues -= values->size();
    if (!group->failed && values->size() > 0) answer(*values);
  });
}

}  // namespace

void varianceStep(sqlite3_context* context, int, sqlite3_value** argv) {
  if (!isNumber(argv[0])) return;
  auto* spread = static_cast<Spread*>(sqlite3_aggregate_context(context, sizeof(Spread)));
  if (spread == nullptr) return sqlite3_result_error_nomem(context);
  const Number number = numberOf(argv[0]);
  if (spread->count == 0) spread->first = number;
  const double value = difference(number, spread->first);
  const double delta = value - spread->mean;
  spread->count += 1;
  spread->mean += delta / spread->count;
  spread->squares += delta * (value - spread->mean);
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
  percentileFinal(context, [context](Values& values) {
    const double fraction = values.descending ? 1 - values.fraction : values.fraction;
    sqlite3_result_double(context, values.integers.empty() ? continuous(values.numbers, fraction)
                                                           : continuous(values.integers, fraction));
  });
}

void percentileDiscStep(sqlite3_context* context, int, sqlite3_value** argv) {
  percentileStep(context, "gr_percentile_disc", argv);
}
void percentileDiscFinal(sqlite3_context* context) {
  percentileFinal(context, [context](Values& values) {
    const auto [fraction, descending] = std::pair{values.fraction, values.descending};
    if (values.integers.empty()) sqlite3_result_double(context, discrete(values.numbers, fraction, descending));
    else sqlite3_result_int64(context, discrete(values.integers, fraction, descending));
  });
}

/** Limits in a blob: doubles, or 64-bit integers. */
void bin(sqlite3_context* context, int, sqlite3_value** argv) {
  if (!isNumber(argv[0]) || sqlite3_value_type(argv[1]) != SQLITE_BLOB) return;
  const auto* bytes = static_cast<const unsigned char*>(sqlite3_value_blob(argv[1]));
  const bool areIntegers = sqlite3_value_int(argv[2]) != 0;
  constexpr auto kSize = static_cast<sqlite3_int64>(sizeof(double));
  const auto limits = static_cast<sqlite3_int64>(sqlite3_value_bytes(argv[1])) / kSize;
  if (limits < 2) return;
  const Number value = numberOf(argv[0]);
  // The blob can be unaligned, so numbers are copied from it.
  const auto order = [&](sqlite3_int64 i) {
    Number limit{0, 0, areIntegers};
    std::memcpy(areIntegers ? static_cast<void*>(&limit.integer) : &limit.real, bytes + i * kSize, sizeof(double));
    return compare(value, limit);
  };
  if (order(0) < 0 || order(limits - 1) > 0) return;
  sqlite3_int64 low = 0;
  for (sqlite3_int64 high = limits - 1; high - low > 1;) {
    const sqlite3_int64 middle = low + (high - low) / 2;
    (order(middle) >= 0 ? low : high) = middle;
  }
  sqlite3_result_int64(context, low);
}

}  // namespace graticule::sqlite
