// One row of a result, column by column.
#pragma once

#include <libpq-fe.h>

#include <string>
#include <vector>

#include "../../core/values/bytes.h"
#include "../../core/values/number.h"
#include "../../core/values/pg_values.h"

namespace graticule::addon {

/** First columns of every row of features. */
constexpr size_t kIdColumn = 0;
constexpr size_t kGeometryColumn = 1;
constexpr size_t kFirstValueColumn = 2;

/** Reads the values of rows one by one. A value is valid until the next value is read. */
class PgRow {
 public:
  void read(const PGresult* result) {
    result_ = result;
    if (!kinds_.empty()) return;
    for (int i = 0; i < PQnfields(result); ++i) kinds_.push_back(kindOfType(PQftype(result, i)));
  }

  size_t columns() const { return kinds_.size(); }

  Value value(size_t column) {
    if (column >= kinds_.size()) return {};
    const int i = static_cast<int>(column);
    const char* bytes = PQgetisnull(result_, 0, i) ? nullptr : PQgetvalue(result_, 0, i);
    return readPgValue(kinds_[column], bytes, static_cast<size_t>(PQgetlength(result_, 0, i)), scratch_);
  }

  /** The bytes of a column as they came; null for NULL. */
  const uint8_t* bytes(size_t column, size_t& size) const {
    const int i = static_cast<int>(column);
    size = 0;
    if (column >= kinds_.size() || PQgetisnull(result_, 0, i)) return nullptr;
    size = static_cast<size_t>(PQgetlength(result_, 0, i));
    return reinterpret_cast<const uint8_t*>(PQgetvalue(result_, 0, i));
  }

  /** Feature id. Integers that a JSON number cannot represent safely are text. */
  Value id() {
    constexpr int64_t kMaxSafe = 9'007'199'254'740'991;
    const Value id = value(kIdColumn);
    if (id.kind != Value::Kind::Integer || (id.integer <= kMaxSafe && id.integer >= -kMaxSafe)) return id;
    scratch_.clear();
    scratch_.commit(putInteger(scratch_.reserve(kMaxNumberSize), id.integer));
    return Value::ofText(reinterpret_cast<const char*>(scratch_.data()), scratch_.size());
  }

  std::string idText() {
    const Value id = value(kIdColumn);
    if (id.kind == Value::Kind::Integer) return std::to_string(id.integer);
    return id.kind == Value::Kind::Text ? std::string(id.bytes, id.size) : std::string();
  }

 private:
  const PGresult* result_ = nullptr;
  std::vector<PgKind> kinds_;
  ByteBuffer scratch_;
};

}  // namespace graticule::addon
