// gr_translate(text, from, to): PostgreSQL's translate(), so that one table of letters has the same result in every
// store.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>

#include "connection.h"

namespace graticule::sqlite {
namespace {

/** Takes the first character of UTF-8 text. SQLite does not check its text: a stray byte is a character. */
std::string_view nextCharacter(std::string_view& text) {
  const auto lead = static_cast<uint8_t>(text[0]);
  size_t length = lead < 0xC0 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
  length = std::min(length, text.size());
  const std::string_view character = text.substr(0, length);
  text.remove_prefix(length);
  return character;
}

uint32_t keyOf(std::string_view character) {
  uint32_t key = 0;
  for (const char byte : character) key = key << 8 | static_cast<uint8_t>(byte);
  return key;
}

/**
 * Replacements of the characters of `from`. Characters without a counterpart in `to` are removed. The first of equal
 * characters counts.
 */
class Translation {
 public:
  Translation(std::string_view from, std::string_view to) {
    for (bool& same : sameAscii_) same = true;
    while (!from.empty()) {
      const std::string_view character = nextCharacter(from);
      const std::string_view target = to.empty() ? to : nextCharacter(to);
      if (!targets_.emplace(keyOf(character), target).second) continue;
      if (character.size() == 1) sameAscii_[static_cast<uint8_t>(character[0])] = character == target;
    }
  }

  std::string apply(std::string_view text) const {
    std::string result;
    result.reserve(text.size());
    while (!text.empty()) {
      const std::string_view character = nextCharacter(text);
      if (character.size() == 1 && sameAscii_[static_cast<uint8_t>(character[0])]) {
        result += character;
        continue;
      }
      const auto found = targets_.find(keyOf(character));
      result += found == targets_.end() ? character : std::string_view(found->second);
    }
    return result;
  }

 private:
  std::unordered_map<uint32_t, std::string> targets_;
  bool sameAscii_[256];
};

std::string_view viewOf(sqlite3_value* value) {
  const auto* text = reinterpret_cast<const char*>(sqlite3_value_text(value));
  return text == nullptr ? std::string_view{} : std::string_view(text, static_cast<size_t>(sqlite3_value_bytes(value)));
}

}  // namespace

void translate(sqlite3_context* context, int, sqlite3_value** argv) {
  guarded(context, [&] {
    for (int i = 0; i < 3; i++) {
      if (sqlite3_value_type(argv[i]) == SQLITE_NULL) return;
    }
    const std::string_view text = viewOf(argv[0]);
    const auto answer = [&](const Translation& translation) {
      const std::string result = translation.apply(text);
      sqlite3_result_text(context, result.data(), static_cast<int>(result.size()), SQLITE_TRANSIENT);
    };
    if (const auto* kept = static_cast<const Translation*>(sqlite3_get_auxdata(context, 1))) return answer(*kept);
    auto made = std::make_unique<Translation>(viewOf(argv[1]), viewOf(argv[2]));
    answer(*made);
    // SQLite keeps it for constant arguments only: the table is `from` and `to` together, both written by us.
    sqlite3_set_auxdata(context, 1, made.release(), [](void* old) { delete static_cast<Translation*>(old); });
  });
}

}  // namespace graticule::sqlite
