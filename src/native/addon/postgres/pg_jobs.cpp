#include "pg_jobs.h"

#include "../../core/values/value.h"
#include "pg_row.h"

namespace graticule::addon {
namespace {

/** Maximum bytes of one batch of rows, and of a complete small result. */
constexpr size_t kMaxBatchBytes = 16u << 20;
constexpr size_t kMaxAnswerBytes = 64u << 20;

/** Rows on their way to Node's thread. */
class Cells {
 public:
  void add(PgRow& row) {
    columns_ = row.columns();
    for (size_t i = 0; i < columns_; ++i) add(row.value(i));
    ++rows_;
  }
  size_t rows() const { return rows_; }
  size_t bytes() const { return bytes_.size() + cells_.size() * sizeof(Cell); }

  napi_value toArray(napi_env env) const {
    napi_value rows;
    check(napi_create_array_with_length(env, rows_, &rows));
    for (size_t r = 0; r < rows_; ++r) {
      napi_handle_scope scope;
      check(napi_open_handle_scope(env, &scope));
      napi_value row;
      check(napi_create_array_with_length(env, columns_, &row));
      for (size_t c = 0; c < columns_; ++c) {
        check(napi_set_element(env, row, static_cast<uint32_t>(c), toValue(env, cells_[r * columns_ + c])));
      }
      check(napi_set_element(env, rows, static_cast<uint32_t>(r), row));
      check(napi_close_handle_scope(env, scope));
    }
    return rows;
  }

 private:
  struct Cell {
    Value::Kind kind;
    int64_t integer;
    double real;
    size_t offset;
    size_t size;
  };

  void add(const Value& value) {
    cells_.push_back({value.kind, value.integer, value.real, bytes_.size(), value.size});
    const bool borrowed = value.kind == Value::Kind::Text || value.kind == Value::Kind::Blob;
    if (borrowed) bytes_.append(value.bytes, value.size);
  }

  napi_value toValue(napi_env env, const Cell& cell) const {
    constexpr int64_t kMaxSafe = 9'007'199'254'740'991;
    napi_value value;
    switch (cell.kind) {
      case Value::Kind::Null: check(napi_get_null(env, &value)); return value;
      case Value::Kind::Boolean: return toBoolean(env, cell.integer != 0);
      case Value::Kind::Real: return toNumber(env, cell.real);
      case Value::Kind::Integer:
        if (cell.integer <= kMaxSafe && cell.integer >= -kMaxSafe) {
          return toNumber(env, static_cast<double>(cell.integer));
        }
        check(napi_create_bigint_int64(env, cell.integer, &value));
        return value;
      case Value::Kind::Text:
        return toText(env, reinterpret_cast<const char*>(bytes_.data()) + cell.offset, cell.size);
      case Value::Kind::Blob: return toBuffer(env, bytes_.data() + cell.offset, cell.size);
    }
    return nullptr;
  }

  std::vector<Cell> cells_;
  ByteBuffer bytes_;
  size_t columns_ = 0;
  size_t rows_ = 0;
};

napi_value undefined(napi_env env) {
  napi_value value;
  check(napi_get_undefined(env, &value));
  return value;
}

napi_value object(napi_env env) {
  napi_value value;
  check(napi_create_object(env, &value));
  return value;
}

class ConnectJob final : public PgJob {
 public:
  ConnectJob(std::string url, int timeoutMs) : url_(std::move(url)), timeoutMs_(timeoutMs) {}
  void work(PgSession& session) override { session.connection.connect(url_, timeoutMs_); }
  napi_value answer(napi_env env) override { return undefined(env); }

 private:
  std::string url_;
  int timeoutMs_;
};

class QueryJob final : public PgJob {
 public:
  explicit QueryJob(PgStatement statement) : statement_(std::move(statement)) {}
  void work(PgSession& session) override {
    session.connection.send(statement_.sql, statement_.params);
    PgRow row;
    while (const PGresult* result = session.connection.next()) {
      row.read(result);
      cells_.add(row);
      if (cells_.bytes() > kMaxAnswerBytes) throw PgError{"54000", "the answer is too large"};
    }
  }
  napi_value answer(napi_env env) override { return cells_.toArray(env); }

 private:
  PgStatement statement_;
  Cells cells_;
};

class OpenJob final : public PgJob {
 public:
  explicit OpenJob(PgStatement statement) : statement_(std::move(statement)) {}
  void work(PgSession& session) override { session.connection.send(statement_.sql, statement_.params); }
  napi_value answer(napi_env env) override { return undefined(env); }
  bool endsStatement() const override { return false; }

 private:
  PgStatement statement_;
};

class FetchJob final : public PgJob {
 public:
  explicit FetchJob(size_t maxRows) : maxRows_(maxRows) {}
  void work(PgSession& session) override {
    PgRow row;
    while (cells_.rows() < maxRows_ && cells_.bytes() < kMaxBatchBytes) {
      const PGresult* result = session.connection.next();
      done_ = result == nullptr;
      if (done_) return;
      row.read(result);
      cells_.add(row);
    }
  }
  napi_value answer(napi_env env) override {
    napi_value batch = object(env);
    setProperty(env, batch, "rows", cells_.toArray(env));
    setProperty(env, batch, "done", toBoolean(env, done_));
    return batch;
  }
  bool endsStatement() const override { return done_; }

 private:
  size_t maxRows_;
  Cells cells_;
  bool done_ = false;
};

class FinishJob final : public PgJob {
 public:
  void work(PgSession&) override {}
  napi_value answer(napi_env env) override { return undefined(env); }
};

class NotifiedJob final : public PgJob {
 public:
  explicit NotifiedJob(int timeoutMs) : timeoutMs_(timeoutMs) {}
  void work(PgSession& session) override { notified_ = session.connection.waitForNotification(timeoutMs_); }
  napi_value answer(napi_env env) override { return toBoolean(env, notified_); }

 private:
  int timeoutMs_;
  bool notified_ = false;
};

napi_value toKey(napi_env env, const PageKey& key) {
  napi_value values;
  check(napi_create_array_with_length(env, key.values.size(), &values));
  for (uint32_t i = 0; i < key.values.size(); ++i) {
    napi_value value;
    check(napi_get_null(env, &value));
    if (key.values[i]) value = toText(env, *key.values[i]);
    check(napi_set_element(env, values, i, value));
  }
  napi_value result = object(env);
  setProperty(env, result, "values", values);
  setProperty(env, result, "id", toText(env, key.id));
  return result;
}

class PageJob final : public PgJob {
 public:
  PageJob(PgStatement statement, PageOptions options)
      : statement_(std::move(statement)), options_(std::move(options)) {}
  void work(PgSession& session) override {
    session.connection.send(statement_.sql, statement_.params);
    page_ = readPage(session.connection, options_, session.reprojectors);
  }
  napi_value answer(napi_env env) override {
    napi_value outputs;
    check(napi_create_array_with_length(env, page_.outputs.size(), &outputs));
    for (uint32_t i = 0; i < page_.outputs.size(); ++i) {
      const std::string& text = page_.outputs[i];
      napi_value bytes = toBuffer(env, reinterpret_cast<const uint8_t*>(text.data()), text.size());
      check(napi_set_element(env, outputs, i, bytes));
    }
    napi_value page = object(env);
    setProperty(env, page, "outputs", outputs);
    setProperty(env, page, "returned", toNumber(env, static_cast<double>(page_.returned)));
    setProperty(env, page, "more", toBoolean(env, page_.more));
    if (page_.returned == 0) return page;
    setProperty(env, page, "first", toKey(env, page_.first));
    setProperty(env, page, "last", toKey(env, page_.last));
    return page;
  }

 private:
  PgStatement statement_;
  PageOptions options_;
  Page page_;
};

class TileJob final : public PgJob {
 public:
  TileJob(PgStatement statement, TileLayerOptions options)
      : statement_(std::move(statement)), options_(std::move(options)) {}

  void work(PgSession& session) override {
    std::string error;
    auto reprojector = session.reprojectors.find(options_.from, options_.to, error);
    if (reprojector == nullptr) throw PgError{"22023", error};
    session.connection.send(statement_.sql, statement_.params);
    TileLayerEncoder& encoder = session.tileEncoder;
    encoder.begin(options_, std::move(reprojector));
    PgRow row;
    while (const PGresult* result = session.connection.next()) {
      row.read(result);
      addRow(encoder, row);
    }
    size_t size = 0;
    const uint8_t* tile = encoder.finish(size);
    if (size != 0) tile_.assign(reinterpret_cast<const char*>(tile), size);
    features_ = encoder.features();
    dropped_ = encoder.dropped();
    work_ = encoder.work();
    encoder.release();
  }

  napi_value answer(napi_env env) override {
    napi_value layer = object(env);
    setProperty(env, layer, "tile", toBuffer(env, reinterpret_cast<const uint8_t*>(tile_.data()), tile_.size()));
    setProperty(env, layer, "features", toNumber(env, features_));
    setProperty(env, layer, "dropped", toNumber(env, static_cast<double>(dropped_)));
    setProperty(env, layer, "work", toNumber(env, static_cast<double>(work_)));
    return layer;
  }

 private:
  static void addRow(TileLayerEncoder& encoder, PgRow& row) {
    size_t size = 0;
    const uint8_t* blob = row.bytes(kGeometryColumn, size);
    if (!encoder.addGeometry(blob, size)) return;
    for (size_t i = kFirstValueColumn; i < row.columns(); ++i) encoder.tag(i - kFirstValueColumn, row.value(i));
    const Value id = row.value(kIdColumn);
    const bool hasId = id.kind == Value::Kind::Integer && id.integer >= 0;
    const auto tileId = static_cast<uint64_t>(id.integer);
    encoder.endFeature(hasId ? &tileId : nullptr);
  }

  PgStatement statement_;
  TileLayerOptions options_;
  std::string tile_;
  uint32_t features_ = 0;
  uint64_t dropped_ = 0;
  uint64_t work_ = 0;
};

class SceneTileJob final : public PgJob {
 public:
  SceneTileJob(PgStatement statement, SceneTileOptions options)
      : statement_(std::move(statement)), options_(std::move(options)) {}

  void work(PgSession& session) override {
    std::string error;
    auto reprojector = session.reprojectors.find(options_.from, "EPSG:4326", error);
    if (reprojector == nullptr) throw PgError{"22023", error};
    session.connection.send(statement_.sql, statement_.params);
    SceneTileEncoder& encoder = session.sceneEncoder;
    encoder.begin(options_, std::move(reprojector));
    PgRow row;
    while (const PGresult* result = session.connection.next()) {
      row.read(result);
      addRow(encoder, row);
      // The codes of a cancelled statement, and of a result beyond a limit.
      if (encoder.state() == SceneTileEncoder::State::Late) throw PgError{"57014", "out of time"};
      if (encoder.state() == SceneTileEncoder::State::TooLarge) throw PgError{"54000", "the tile is too large"};
    }
    size_t size = 0;
    const uint8_t* file = encoder.finish(size);
    file_.assign(reinterpret_cast<const char*>(file), size);
    encoder.release();
  }

  napi_value answer(napi_env env) override {
    return toBuffer(env, reinterpret_cast<const uint8_t*>(file_.data()), file_.size());
  }

 private:
  static void addRow(SceneTileEncoder& encoder, PgRow& row) {
    size_t size = 0;
    const uint8_t* blob = row.bytes(kGeometryColumn, size);
    if (!encoder.addGeometry(blob, size)) return;
    for (size_t i = kFirstValueColumn; i < row.columns(); ++i) encoder.setValue(i - kFirstValueColumn, row.value(i));
    encoder.endFeature(row.id());
  }

  PgStatement statement_;
  SceneTileOptions options_;
  std::string file_;
};

}  // namespace

std::unique_ptr<PgJob> connectJob(std::string url, int timeoutMs) {
  return std::make_unique<ConnectJob>(std::move(url), timeoutMs);
}
std::unique_ptr<PgJob> queryJob(PgStatement statement) { return std::make_unique<QueryJob>(std::move(statement)); }
std::unique_ptr<PgJob> openJob(PgStatement statement) { return std::make_unique<OpenJob>(std::move(statement)); }
std::unique_ptr<PgJob> fetchJob(size_t maxRows) { return std::make_unique<FetchJob>(maxRows); }
std::unique_ptr<PgJob> finishJob() { return std::make_unique<FinishJob>(); }
std::unique_ptr<PgJob> notifiedJob(int timeoutMs) { return std::make_unique<NotifiedJob>(timeoutMs); }
std::unique_ptr<PgJob> pageJob(PgStatement statement, PageOptions options) {
  return std::make_unique<PageJob>(std::move(statement), std::move(options));
}
std::unique_ptr<PgJob> tileJob(PgStatement statement, TileLayerOptions options) {
  return std::make_unique<TileJob>(std::move(statement), std::move(options));
}
std::unique_ptr<PgJob> sceneTileJob(PgStatement statement, SceneTileOptions options) {
  return std::make_unique<SceneTileJob>(std::move(statement), std::move(options));
}

}  // namespace graticule::addon
