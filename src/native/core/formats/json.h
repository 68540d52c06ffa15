// Reads JSON (RFC 8259): the options of the encoders, and whether a text is JSON at all.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace graticule {

/** Reads JSON text value by value. Every function returns false at the first invalid character. */
class JsonReader {
 public:
  JsonReader(const char* text, size_t size) : p_(text), end_(text + size) {}

  /** The first byte of the next value or bracket, white space skipped; 0 at the end. */
  char peek();
  /** Takes one punctuation byte when it is next. */
  bool take(char c);
  /** Steps over a value of any kind. */
  bool skip() { return skipValue(0); }
  /** Whether only white space remains. */
  bool atEnd() { return peek() == 0 && p_ == end_; }

  bool readString(std::string& value);
  bool readNumber(double& value);
  bool readBoolean(bool& value);

  /**
   * Walks an object: `member(key)` must read the value and return true. Stops with false at the first failure.
   */
  template <typename Member>
  bool readObject(Member&& member) {
    if (!take('{')) return false;
    if (take('}')) return true;
    do {
      std::string key;
      if (!readString(key) || !take(':') || !member(key)) return false;
    } while (take(','));
    return take('}');
  }

  /** Walks an array: `element()` must read one element and return true. */
  template <typename Element>
  bool readArray(Element&& element) {
    if (!take('[')) return false;
    if (take(']')) return true;
    do {
      if (!element()) return false;
    } while (take(','));
    return take(']');
  }

 private:
  bool skipValue(int depth);
  bool skipMembers(int depth, bool object);
  bool skipString();
  bool skipNumber();
  bool skipDigits();
  bool skipWord(const char* word, size_t size);
  bool readEscape(std::string& value);
  bool readHex(uint32_t& unit);

  const char* p_;
  const char* end_;
};

/** True for one well-formed JSON value of well-formed UTF-8, nested no deeper than 256. */
bool isJson(const char* text, size_t size);

}  // namespace graticule
