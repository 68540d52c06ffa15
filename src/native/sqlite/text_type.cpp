// gr_text_type: the type that all texts of a column have.
#include "../core/values/text_types.h"

#include <new>

#include "connection.h"

namespace graticule::sqlite {
namespace {

/** Zeroed by SQLite before the first row. */
struct Group {
  bool started;
  alignas(TextType) unsigned char type[sizeof(TextType)];

  TextType& of() {
    if (!started) new (type) TextType;
    started = true;
    return *std::launder(reinterpret_cast<TextType*>(type));
  }
};

}  // namespace

void textTypeStep(sqlite3_context* context, int, sqlite3_value** argv) {
  if (sqlite3_value_type(argv[0]) == SQLITE_NULL) return;
  auto* group = static_cast<Group*>(sqlite3_aggregate_context(context, sizeof(Group)));
  if (group == nullptr) return sqlite3_result_error_nomem(context);
  const auto* text = reinterpret_cast<const char*>(sqlite3_value_text(argv[0]));
  if (text == nullptr) return sqlite3_result_error_nomem(context);
  group->of().add(text, static_cast<size_t>(sqlite3_value_bytes(argv[0])));
}

void textTypeFinal(sqlite3_context* context) {
  auto* group = static_cast<Group*>(sqlite3_aggregate_context(context, 0));
  const char* name = group == nullptr ? nullptr : group->of().name();
  if (name != nullptr) sqlite3_result_text(context, name, -1, SQLITE_STATIC);
}

}  // namespace graticule::sqlite
