// Binary glTF 2.0: one JSON chunk and one binary chunk of buffer views.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "../values/bytes.h"

namespace graticule {

/** Collects the buffer views, and joins them with the JSON of the file. */
class GlbWriter {
 public:
  /** glTF's names of the uses of a view: ARRAY_BUFFER and ELEMENT_ARRAY_BUFFER. */
  enum class Target : uint16_t { None = 0, Vertices = 34962, Indices = 34963 };

  void clear();
  /** Starts a view, aligned to 8 bytes. Write to bytes(), then call endView(). */
  void beginView();
  /** Returns the view's number. `stride` 0: not stated. */
  uint32_t endView(Target target = Target::None, uint32_t stride = 0);
  ByteBuffer& bytes() { return bytes_; }
  /** Copies a number as little-endian bytes. */
  template <typename T>
  void put(T value) {
    bytes_.append(&value, sizeof value);
  }

  /**
   * Writes the file. `json` contains the members of the root object except `buffers` and `bufferViews`, without braces.
   */
  void finish(std::string_view json, ByteBuffer& out);

 private:
  ByteBuffer bytes_;
  ByteBuffer views_;
  uint32_t count_ = 0;
  size_t start_ = 0;
};

void appendText(ByteBuffer& out, std::string_view text);
void appendInteger(ByteBuffer& out, int64_t value);
/** Appends a finite number with the fewest digits that read back as the same double. */
void appendNumber(ByteBuffer& out, double value);

}  // namespace graticule
