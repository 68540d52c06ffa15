#include "json.h"

#include <charconv>
#include <cmath>
#include <cstring>

#include "../values/text.h"

namespace graticule {
namespace {

constexpr int kMaxDepth = 256;

bool isDigit(char c) { return c >= '0' && c <= '9'; }

void appendUtf8(std::string& out, uint32_t code) {
  if (code < 0x80) {
    out.push_back(static_cast<char>(code));
    return;
  }
  if (code < 0x800) {
    out.push_back(static_cast<char>(0xC0 | code >> 6));
  } else {
    if (code < 0x10000) {
      out.push_back(static_cast<char>(0xE0 | code >> 12));
    } else {
      out.push_back(static_cast<char>(0xF0 | code >> 18));
      out.push_back(static_cast<char>(0x80 | (code >> 12 & 63)));
    }
    out.push_back(static_cast<char>(0x80 | (code >> 6 & 63)));
  }
  out.push_back(static_cast<char>(0x80 | (code & 63)));
}

}  // namespace

char JsonReader::peek() {
  while (p_ != end_ && (*p_ == ' ' || *p_ == '\n' || *p_ == '\r' || *p_ == '\t')) ++p_;
  return p_ == end_ ? '\0' : *p_;
}

bool JsonReader::take(char c) {
  if (peek() != c || p_ == end_) return false;
  ++p_;
  return true;
}

bool JsonReader::skipValue(int depth) {
  switch (peek()) {
    case '{': return skipMembers(depth, true);
    case '[': return skipMembers(depth, false);
    case '"': return skipString();
    case 't': return skipWord("true", 4);
    case 'f': return skipWord("false", 5);
    case 'n': return skipWord("null", 4);
    default: return skipNumber();
  }
}

bool JsonReader::skipMembers(int depth, bool object) {
  if (depth >= kMaxDepth) return false;
  const char close = object ? '}' : ']';
  ++p_;
  if (take(close)) return true;
  do {
    if (object && (peek() != '"' || !skipString() || !take(':'))) return false;
    if (!skipValue(depth + 1)) return false;
  } while (take(','));
  return take(close);
}

bool JsonReader::skipWord(const char* word, size_t size) {
  if (static_cast<size_t>(end_ - p_) < size || std::memcmp(p_, word, size) != 0) return false;
  p_ += size;
  return true;
}

bool JsonReader::skipString() {
  ++p_;
  while (p_ != end_) {
    const char c = *p_;
    if (c == '"') {
      ++p_;
      return true;
    }
    if (c == '\\') {
      std::string ignored;
      if (!readEscape(ignored)) return false;
      continue;
    }
    if (static_cast<uint8_t>(c) < 0x20) return false;
    const int length = utf8Length(reinterpret_cast<const uint8_t*>(p_), reinterpret_cast<const uint8_t*>(end_));
    if (length == 0) return false;
    p_ += length;
  }
  return false;
}

bool JsonReader::skipDigits() {
  if (p_ == end_ || !isDigit(*p_)) return false;
  while (p_ != end_ && isDigit(*p_)) ++p_;
  return true;
}

bool JsonReader::skipNumber() {
  if (p_ != end_ && *p_ == '-') ++p_;
  if (p_ != end_ && *p_ == '0') {
    ++p_;
  } else if (!skipDigits()) {
    return false;
  }
  if (p_ != end_ && *p_ == '.') {
    ++p_;
    if (!skipDigits()) return false;
  }
  if (p_ != end_ && (*p_ == 'e' || *p_ == 'E')) {
    ++p_;
    if (p_ != end_ && (*p_ == '+' || *p_ == '-')) ++p_;
    if (!skipDigits()) return false;
  }
  return true;
}

bool JsonReader::readHex(uint32_t& unit) {
  if (end_ - p_ < 4) return false;
  unit = 0;
  for (int i = 0; i < 4; ++i, ++p_) {
    const char c = *p_;
    const int digit = isDigit(c)              ? c - '0'
                      : c >= 'a' && c <= 'f' ? c - 'a' + 10
                      : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                             : -1;
    if (digit < 0) return false;
    unit = unit << 4 | static_cast<uint32_t>(digit);
  }
  return true;
}

bool JsonReader::readEscape(std::string& value) {
  ++p_;
  if (p_ == end_) return false;
  const char c = *p_++;
  switch (c) {
    case '"':
    case '\\':
    case '/': value.push_back(c); return true;
    case 'b': value.push_back('\b'); return true;
    case 'f': value.push_back('\f'); return true;
    case 'n': value.push_back('\n'); return true;
    case 'r': value.push_back('\r'); return true;
    case 't': value.push_back('\t'); return true;
    case 'u': break;
    default: return false;
  }
  uint32_t code = 0;
  if (!readHex(code)) return false;
  if (code >= 0xD800 && code < 0xDC00 && end_ - p_ >= 6 && p_[0] == '\\' && p_[1] == 'u') {
    const char* before = p_;
    p_ += 2;
    uint32_t low = 0;
    if (!readHex(low)) return false;
    if (low >= 0xDC00 && low < 0xE000) {
      code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
    } else {
      p_ = before;
    }
  }
  // JSON may spell half a surrogate pair, UTF-8 can not.
  appendUtf8(value, code >= 0xD800 && code < 0xE000 ? 0xFFFD : code);
  return true;
}

bool JsonReader::readString(std::string& value) {
  value.clear();
  if (peek() != '"') return false;
  const char* p = p_;
  if (JsonReader copy = *this; !copy.skipString()) return false;
  ++p_;
  for (p = p_; *p_ != '"';) {
    if (*p_ != '\\') {
      ++p_;
      continue;
    }
    value.append(p, p_);
    if (!readEscape(value)) return false;
    p = p_;
  }
  value.append(p, p_);
  ++p_;
  return true;
}

bool JsonReader::readNumber(double& value) {
  peek();
  const char* begin = p_;
  if (!skipNumber()) return false;
  const auto result = std::from_chars(begin, p_, value);
  return result.ec == std::errc() && result.ptr == p_ && std::isfinite(value);
}

bool JsonReader::readBoolean(bool& value) {
  value = peek() == 't';
  return value ? skipWord("true", 4) : skipWord("false", 5);
}

bool isJson(const char* text, size_t size) {
  JsonReader reader(text, size);
  return reader.skip() && reader.atEnd();
}

}  // namespace graticule
