// Functions of two geometries: spatial predicates and distances.
#include "../core/clipping/spatial_predicate.h"
#include "connection.h"

namespace graticule::sqlite {
namespace {

std::unique_ptr<SpatialOperand> newOperand(sqlite3_context* context) {
  Connection& connection = connectionOf(context);
  return std::make_unique<SpatialOperand>(geosOf(connection));
}

/**
 * Both arguments of a call. SQLite keeps the auxiliary data of a constant argument (a parameter, a literal) from row
 * to row. It immediately drops the data of any other argument. The second row shows which argument is constant.
 */
class Operands {
 public:
  Operands(sqlite3_context* context, sqlite3_value** argv) : context_(context) {
    for (int i = 0; i < 2; ++i) {
      side_[i] = static_cast<SpatialOperand*>(sqlite3_get_auxdata(context, i));
      if (side_[i] != nullptr) side_[i]->lasting = known_ = true;
    }
    readable_ = true;
    for (int i = 0; i < 2 && readable_; ++i) {
      if (side_[i] == nullptr) readable_ = read(i, argv[i]);
    }
  }
  Operands(const Operands&) = delete;
  Operands& operator=(const Operands&) = delete;
  ~Operands() {
    if (known_) return;
    const auto drop = [](void* operand) { delete static_cast<SpatialOperand*>(operand); };
    for (int i = 0; i < 2; ++i) {
      if (made_[i] != nullptr) sqlite3_set_auxdata(context_, i, made_[i].release(), drop);
    }
  }

  /** False when an argument is NULL or no geometry. */
  bool readable() const { return readable_; }
  SpatialOperand& a() { return *side_[0]; }
  SpatialOperand& b() { return *side_[1]; }

 private:
  bool read(int i, sqlite3_value* value) {
    size_t size = 0;
    const uint8_t* blob = blobOf(value, size);
    if (blob == nullptr) return false;
    auto operand = newOperand(context_);
    if ((known_ ? operand->read(blob, size) : operand->readCopy(blob, size)) != ReadStatus::Ok) return false;
    side_[i] = operand.get();
    made_[i] = std::move(operand);
    return true;
  }

  sqlite3_context* context_;
  SpatialOperand* side_[2];
  std::unique_ptr<SpatialOperand> made_[2];
  /** One side was kept from an earlier row: the other one is not constant. */
  bool known_ = false;
  bool readable_ = false;
};

void answer(sqlite3_context* context, sqlite3_value** argv, Predicate predicate) {
  guarded(context, [&] {
    Operands operands(context, argv);
    if (!operands.readable()) return;
    const std::optional<bool> holds = evaluate(predicate, operands.a(), operands.b());
    if (holds) sqlite3_result_int(context, *holds);
  });
}

/** Reads the measure of a CRS from its text. If there is no such CRS, the call fails and false is returned. */
bool readMeasure(sqlite3_context* context, sqlite3_value* value) {
  Connection& connection = connectionOf(context);
  const auto* text = reinterpret_cast<const char*>(sqlite3_value_text(value));
  const std::string_view crs = text == nullptr ? std::string_view() : text;
  if (!connection.measuredCrs.empty() && connection.measuredCrs == crs) return true;
  std::string error;
  CrsMeasure measure;
  if (!measureOf(connection.reprojectors.context(), std::string(crs), measure, error)) {
    fail(context, "gr_distance_m", error);
    return false;
  }
  connection.measure = measure;
  connection.measuredCrs = crs;
  return true;
}

std::optional<double> distance(const CrsMeasure& measure, SpatialOperand& a, SpatialOperand& b) {
  if (measure.geographic) return geodesicDistance(a.sphere(measure.unit), b.sphere(measure.unit), measure);
  const std::optional<double> planar = planarDistance(a, b);
  return planar ? std::optional<double>(*planar * measure.unit) : std::nullopt;
}

}  // namespace

void intersects(sqlite3_context* context, int, sqlite3_value** argv) { answer(context, argv, Predicate::Intersects); }
void equals(sqlite3_context* context, int, sqlite3_value** argv) { answer(context, argv, Predicate::Equals); }
void disjoint(sqlite3_context* context, int, sqlite3_value** argv) { answer(context, argv, Predicate::Disjoint); }
void touches(sqlite3_context* context, int, sqlite3_value** argv) { answer(context, argv, Predicate::Touches); }
void within(sqlite3_context* context, int, sqlite3_value** argv) { answer(context, argv, Predicate::Within); }
void overlaps(sqlite3_context* context, int, sqlite3_value** argv) { answer(context, argv, Predicate::Overlaps); }
void crosses(sqlite3_context* context, int, sqlite3_value** argv) { answer(context, argv, Predicate::Crosses); }
void contains(sqlite3_context* context, int, sqlite3_value** argv) { answer(context, argv, Predicate::Contains); }

void distanceMetres(sqlite3_context* context, int, sqlite3_value** argv) {
  guarded(context, [&] {
    if (!readMeasure(context, argv[2])) return;
    Operands operands(context, argv);
    if (!operands.readable()) return;
    const std::optional<double> metres = distance(connectionOf(context).measure, operands.a(), operands.b());
    if (metres) sqlite3_result_double(context, *metres);
  });
}

}  // namespace graticule::sqlite
