#include "operations.h"

#include <cmath>

#include "reprojector.h"

namespace graticule {
namespace {

std::string textOf(const char* text) { return text == nullptr ? std::string() : std::string(text); }

/** Takes `prefix(…)` off; false when there is none. */
bool unwrap(std::string& text, const std::string& prefix) {
  if (text.compare(0, prefix.size() + 1, prefix + "(") != 0 || text.back() != ')') return false;
  text = text.substr(prefix.size() + 1, text.size() - prefix.size() - 2);
  return true;
}

/** Returns false for a transformation without a code. Conversions, such as map projections, are not steps. */
bool addStep(const PJ* step, std::vector<DatumStep>& steps) {
  if (proj_get_type(step) == PJ_TYPE_CONVERSION) return true;
  DatumStep out;
  out.authority = textOf(proj_get_id_auth_name(step, 0));
  out.code = textOf(proj_get_id_code(step, 0));
  out.name = textOf(proj_get_name(step));
  // PROJ marks the inverse of an operation, and an operation in fewer dimensions, in this way.
  while (unwrap(out.authority, "INVERSE") ? (out.inverse = !out.inverse, true) : unwrap(out.authority, "DERIVED_FROM")) {
  }
  const std::string inverse = "Inverse of ";
  if (out.inverse && out.name.compare(0, inverse.size(), inverse) == 0) out.name = out.name.substr(inverse.size());
  if (out.authority.empty() || out.code.empty()) return false;
  steps.push_back(std::move(out));
  return true;
}

bool readSteps(PJ_CONTEXT* context, const PJ* operation, std::vector<DatumStep>& steps) {
  if (proj_get_type(operation) != PJ_TYPE_CONCATENATED_OPERATION) return addStep(operation, steps);
  const int n = proj_concatoperation_get_step_count(context, operation);
  for (int i = 0; i < n; ++i) {
    const PjHolder step(proj_concatoperation_get_step(context, operation, i));
    if (step.pj == nullptr || !readSteps(context, step.pj, steps)) return false;
  }
  return true;
}

}  // namespace

bool Operations::find(PJ_CONTEXT* context, const std::string& from, const std::string& to, const Box& area,
                      std::string& error) {
  context_ = context;
  const PjHolder source(createCrs(context, from, error));
  if (source.pj == nullptr) return false;
  const PjHolder target(createCrs(context, to, error));
  if (target.pj == nullptr) return false;
  PJ_OPERATION_FACTORY_CONTEXT* factory = proj_create_operation_factory_context(context, nullptr);
  proj_operation_factory_context_set_spatial_criterion(context, factory, PROJ_SPATIAL_CRITERION_PARTIAL_INTERSECTION);
  proj_operation_factory_context_set_grid_availability_use(context, factory,
                                                           PROJ_GRID_AVAILABILITY_DISCARD_OPERATION_IF_MISSING_GRID);
  if (area.valid()) {
    proj_operation_factory_context_set_area_of_interest(context, factory, area.minX, area.minY, area.maxX, area.maxY);
  }
  list_ = proj_create_operations(context, source.pj, target.pj, factory);
  proj_operation_factory_context_destroy(factory);
  const int n = list_ == nullptr ? 0 : proj_list_get_count(list_);
  for (int i = 0; i < n; ++i) {
    const PjHolder operation(proj_list_get(context, list_, i));
    Operation usable{i, {}};
    if (operation.pj == nullptr || proj_coordoperation_has_ballpark_transformation(context, operation.pj) != 0) continue;
    if (readSteps(context, operation.pj, usable.steps)) usable_.push_back(std::move(usable));
  }
  return true;
}

bool Operations::transform(size_t i, double* xy, size_t n) const {
  const PjHolder operation(proj_list_get(context_, list_, usable_[i].index));
  const PjHolder normal(operation.pj == nullptr ? nullptr : proj_normalize_for_visualization(context_, operation.pj));
  if (normal.pj == nullptr) return false;
  if (n > 0) proj_trans_generic(normal.pj, PJ_FWD, xy, 16, n, xy + 1, 16, n, nullptr, 0, 0, nullptr, 0, 0);
  for (double* end = xy + 2 * n; xy != end; xy += 2) {
    if (!std::isfinite(xy[0]) || !std::isfinite(xy[1])) xy[0] = xy[1] = HUGE_VAL;
  }
  return true;
}

}  // namespace graticule
