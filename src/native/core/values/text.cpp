#include "text.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace graticule {
namespace {

constexpr char kReplacement[] = "\xEF\xBF\xBD";

const uint8_t* asBytes(const char* text) { return reinterpret_cast<const uint8_t*>(text); }

bool continuation(uint8_t byte) { return (byte & 0xC0) == 0x80; }

bool needsEscape(uint8_t byte) { return byte < 0x20 || byte == '"' || byte == '\\'; }

/** Returns the position after the last byte from `p` that a JSON string can contain unchanged. */
const uint8_t* skipPlain(const uint8_t* p, const uint8_t* end) {
#if defined(__SSE2__)
  const __m128i space = _mm_set1_epi8(0x20);
  const __m128i quote = _mm_set1_epi8('"');
  const __m128i backslash = _mm_set1_epi8('\\');
  for (; end - p >= 16; p += 16) {
    const __m128i block = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
    // Signed: control characters and every byte of a multi-byte sequence are below a space.
    const __m128i special = _mm_or_si128(_mm_cmplt_epi8(block, space),
                                         _mm_or_si128(_mm_cmpeq_epi8(block, quote), _mm_cmpeq_epi8(block, backslash)));
    const int mask = _mm_movemask_epi8(special);
    if (mask != 0) return p + __builtin_ctz(static_cast<unsigned>(mask));
  }
#endif
  while (p != end && *p < 0x80 && !needsEscape(*p)) ++p;
  return p;
}

/** Writes an escape; at most 6 bytes. */
uint8_t* putEscape(uint8_t* out, uint8_t byte) {
  *out++ = '\\';
  switch (byte) {
    case '"':
    case '\\': *out++ = byte; return out;
    case '\b': *out++ = 'b'; return out;
    case '\f': *out++ = 'f'; return out;
    case '\n': *out++ = 'n'; return out;
    case '\r': *out++ = 'r'; return out;
    case '\t': *out++ = 't'; return out;
    default: break;
  }
  constexpr char kHex[] = "0123456789abcdef";
  std::memcpy(out, "u00", 3);
  out[3] = static_cast<uint8_t>(kHex[byte >> 4]);
  out[4] = static_cast<uint8_t>(kHex[byte & 15]);
  return out + 5;
}

/**
 * Returns the replacement of a character in XML. Null: the character itself. Empty for characters that XML 1.0 does
 * not allow.
 */
const char* xmlEntity(uint8_t byte) {
  switch (byte) {
    case '&': return "&amp;";
    case '<': return "&lt;";
    case '>': return "&gt;";
    case '"': return "&quot;";
    case '\r': return "&#13;";
    case '\n':
    case '\t': return nullptr;
    default: return byte < 0x20 ? "" : nullptr;
  }
}

/** The code point of a well-formed sequence. */
uint32_t codePoint(const uint8_t* p, int length) {
  if (length == 1) return p[0];
  uint32_t code = p[0] & (0x7Fu >> length);
  for (int i = 1; i < length; ++i) code = code << 6 | (p[i] & 0x3Fu);
  return code;
}

bool isIdCharacter(uint32_t code) {
  return (code >= 'A' && code <= 'Z') || (code >= 'a' && code <= 'z') || (code >= '0' && code <= '9') || code == '-' ||
         code == '.';
}

}  // namespace

int utf8Length(const uint8_t* p, const uint8_t* end) {
  const uint8_t lead = p[0];
  const auto left = end - p;
  if (lead < 0x80) return 1;
  if (lead < 0xC2 || lead > 0xF4) return 0;
  if (left < 2 || !continuation(p[1])) return 0;
  if (lead < 0xE0) return 2;
  if (left < 3 || !continuation(p[2])) return 0;
  if (lead < 0xF0) {
    // No overlong forms, no surrogates.
    if ((lead == 0xE0 && p[1] < 0xA0) || (lead == 0xED && p[1] > 0x9F)) return 0;
    return 3;
  }
  if (left < 4 || !continuation(p[3])) return 0;
  if ((lead == 0xF0 && p[1] < 0x90) || (lead == 0xF4 && p[1] > 0x8F)) return 0;
  return 4;
}

bool isUtf8(const char* text, size_t size) {
  const uint8_t* p = asBytes(text);
  for (const uint8_t* end = p + size; p != end;) {
    const int length = utf8Length(p, end);
    if (length == 0) return false;
    p += length;
  }
  return true;
}

size_t sanitisedSize(const char* text, size_t size) {
  size_t total = 0;
  const uint8_t* p = asBytes(text);
  for (const uint8_t* end = p + size; p != end;) {
    const int length = utf8Length(p, end);
    total += length == 0 ? 3 : static_cast<size_t>(length);
    p += length == 0 ? 1 : length;
  }
  return total;
}

void appendSanitised(ByteBuffer& out, const char* text, size_t size) {
  if (isUtf8(text, size)) {
    out.append(text, size);
    return;
  }
  uint8_t* w = out.reserve(size * 3);
  const uint8_t* p = asBytes(text);
  for (const uint8_t* end = p + size; p != end;) {
    const int length = utf8Length(p, end);
    if (length == 0) {
      std::memcpy(w, kReplacement, 3);
      w += 3;
      ++p;
    } else {
      std::memcpy(w, p, static_cast<size_t>(length));
      w += length;
      p += length;
    }
  }
  out.commit(w);
}

void appendJsonString(ByteBuffer& out, const char* text, size_t size) {
  // At most six bytes result from one.
  uint8_t* w = out.reserve(size * 6 + 2);
  *w++ = '"';
  const uint8_t* p = asBytes(text);
  const uint8_t* end = p + size;
  while (p != end) {
    const uint8_t* plain = skipPlain(p, end);
    std::memcpy(w, p, static_cast<size_t>(plain - p));
    w += plain - p;
    p = plain;
    if (p == end) break;
    if (needsEscape(*p)) {
      w = putEscape(w, *p++);
      continue;
    }
    const int length = utf8Length(p, end);
    std::memcpy(w, length == 0 ? asBytes(kReplacement) : p, static_cast<size_t>(length == 0 ? 3 : length));
    w += length == 0 ? 3 : length;
    p += length == 0 ? 1 : length;
  }
  *w++ = '"';
  out.commit(w);
}

void appendBase64(ByteBuffer& out, const uint8_t* bytes, size_t size) {
  constexpr char kAlphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  const auto digit = [&](uint32_t six) { return static_cast<uint8_t>(kAlphabet[six & 63]); };
  uint8_t* w = out.reserve((size + 2) / 3 * 4);
  size_t i = 0;
  for (; i + 3 <= size; i += 3, w += 4) {
    const uint32_t v = uint32_t{bytes[i]} << 16 | uint32_t{bytes[i + 1]} << 8 | bytes[i + 2];
    w[0] = digit(v >> 18);
    w[1] = digit(v >> 12);
    w[2] = digit(v >> 6);
    w[3] = digit(v);
  }
  if (i < size) {
    const bool two = size - i == 2;
    const uint32_t v = uint32_t{bytes[i]} << 16 | (two ? uint32_t{bytes[i + 1]} << 8 : 0);
    w[0] = digit(v >> 18);
    w[1] = digit(v >> 12);
    w[2] = two ? digit(v >> 6) : '=';
    w[3] = '=';
    w += 4;
  }
  out.commit(w);
}

void appendBase64String(ByteBuffer& out, const uint8_t* bytes, size_t size) {
  out.push('"');
  appendBase64(out, bytes, size);
  out.push('"');
}

void appendXmlText(ByteBuffer& out, const char* text, size_t size) {
  // At most six bytes result from one.
  uint8_t* w = out.reserve(size * 6);
  const uint8_t* p = asBytes(text);
  for (const uint8_t* end = p + size; p != end;) {
    if (const char* entity = xmlEntity(*p); entity != nullptr) {
      const size_t length = std::strlen(entity);
      std::memcpy(w, entity, length);
      w += length;
      ++p;
      continue;
    }
    const int length = utf8Length(p, end);
    if (length == 0) {
      std::memcpy(w, kReplacement, 3);
      w += 3;
      ++p;
      continue;
    }
    // U+FFFE and U+FFFF are not characters.
    const bool character = length != 3 || p[0] != 0xEF || p[1] != 0xBF || p[2] < 0xBE;
    if (character) w = std::copy(p, p + length, w);
    p += length;
  }
  out.commit(w);
}

void appendXmlId(ByteBuffer& out, const char* text, size_t size) {
  // Eight bytes come from one, ten from four.
  uint8_t* w = out.reserve(size * 8);
  const uint8_t* p = asBytes(text);
  for (const uint8_t* end = p + size; p != end;) {
    const int length = utf8Length(p, end);
    const uint32_t code = length == 0 ? 0xFFFD : codePoint(p, length);
    const bool escape = code == '_' ? end - p > 1 && p[1] == 'x' : !isIdCharacter(code);
    if (escape) {
      w += std::snprintf(reinterpret_cast<char*>(w), 12, code > 0xFFFF ? "_x%06X_" : "_x%04X_", code);
    } else {
      *w++ = static_cast<uint8_t>(code);
    }
    p += length == 0 ? 1 : length;
  }
  out.commit(w);
}

}  // namespace graticule
