// Text on its way out: UTF-8 that may be broken, JSON strings, base64.
#pragma once

#include <cstddef>
#include <cstdint>

#include "bytes.h"

namespace graticule {

/** Length of the well-formed UTF-8 sequence at `p` (1 to 4), or 0 when the bytes there are none (RFC 3629). */
int utf8Length(const uint8_t* p, const uint8_t* end);

bool isUtf8(const char* text, size_t size);

/** Size of the text once each broken byte has become U+FFFD. */
size_t sanitisedSize(const char* text, size_t size);
/** Appends the text, each broken byte replaced by U+FFFD. */
void appendSanitised(ByteBuffer& out, const char* text, size_t size);

/** Appends a JSON string with its quotes; broken UTF-8 becomes U+FFFD. */
void appendJsonString(ByteBuffer& out, const char* text, size_t size);

/** Appends the bytes in base64 (RFC 4648, clause 4, padded). */
void appendBase64(ByteBuffer& out, const uint8_t* bytes, size_t size);

/** Appends a JSON string that contains the bytes in base64 (RFC 4648, clause 4, padded). */
void appendBase64String(ByteBuffer& out, const uint8_t* bytes, size_t size);

/**
 * Appends text for XML 1.0, for elements and for attributes in double quotes. Characters that XML does not allow are
 * removed; broken UTF-8 becomes U+FFFD.
 */
void appendXmlText(ByteBuffer& out, const char* text, size_t size);

/**
 * Appends text as the rest of an XML name. Letters, digits, `-`, `.` and `_` of ASCII remain, and all else becomes
 * `_xHHHH_`. A `_` before `x` is also converted, so that different texts have different names.
 */
void appendXmlId(ByteBuffer& out, const char* text, size_t size);

}  // namespace graticule
