import { listNames } from '../errors/near-names.js';

/** Types, formats and patterns of JSON Schema in words. */

/** The values of a pattern in words; the pattern itself for one without words. */
export function describePattern(pattern: string): string {
  return PATTERN_WORDS[pattern] ?? `a string of the form ${pattern}`;
}

const TYPES: Readonly<Record<string, string>> = {
  string: 'a string',
  number: 'a number',
  integer: 'an integer',
  boolean: 'true or false',
  object: 'an object',
  array: 'an array',
  null: 'null',
};

export function describeTypes(types: string | readonly string[]): string {
  return listNames([types].flat().map((type) => TYPES[type] ?? type));
}

/** `must be one of 'a', 'b' or null`. */
export function describeChoice(values: readonly unknown[]): string {
  const shown = values.map((value) => (typeof value === 'string' ? `'${value}'` : JSON.stringify(value)));
  return shown.length === 1 ? `must be ${shown[0]}` : `must be one of ${listNames(shown)}`;
}

export const FORMAT_WORDS: Readonly<Record<string, string>> = {
  'date-time': "a date-time with an offset, for example '2026-01-31T12:00:00Z'",
  date: "a date, for example '2026-01-31'",
  time: "a time, for example '12:00:00Z'",
  uri: "a URL, for example 'https://example.com/path'",
  'uri-reference': "a URL or a path, for example '/path'",
  url: "a URL, for example 'https://example.com/path'",
  email: "an e-mail address, for example 'name@example.com'",
  uuid: "a UUID, for example '2f1c7a4e-0d6b-4c2a-9a55-3f0b6c1d2e3f'",
  hostname: "a host name, for example 'example.com'",
  ipv4: "an IPv4 address, for example '192.0.2.1'",
  ipv6: "an IPv6 address, for example '2001:db8::1'",
  byte: 'Base64',
  regex: 'a regular expression',
  int32: 'an integer from -2147483648 to 2147483647',
  int64: 'an integer from -9223372036854775808 to 9223372036854775807',
  network: "an IP address or a network, for example '10.0.0.0/8'",
  'public-url':
    "an http or https URL without user, query and fragment, for example 'https://maps.example.org/base'",
  'storage-url': "the URL of a bucket, for example 's3://bucket/prefix'",
  'state-url': "the URL of a PostgreSQL database, for example 'postgresql://user@host/database'",
  basemap: 'none, bundled, or the URL of a style or of tiles',
};

const DOTTED = 'letters, digits, underscores, dots and hyphens';

/** Description of the strings that match each pattern of the schemas. */
export const PATTERN_WORDS: Readonly<Record<string, string>> = {
  '^[\\w.-]{1,100}$': `1 to 100 ${DOTTED}`,
  '^[\\w.-]{1,64}$': `1 to 64 ${DOTTED}`,
  '^[\\w.@+-]{1,100}$': '1 to 100 letters, digits and the characters _ . @ + -',
  '^[A-Za-z0-9][\\w.-]*$': `${DOTTED} that start with a letter or a digit`,
  '^[A-Za-z0-9][\\w.-]{0,127}$': `1 to 128 ${DOTTED} that start with a letter or a digit`,
  '^[A-Za-z0-9][A-Za-z0-9._:-]*$':
    'letters, digits and the characters . _ : - that start with a letter or a digit',
  '^[A-Za-z_][\\w-]{0,63}$':
    '1 to 64 letters, digits, underscores and hyphens that start with a letter or an underscore',
  '^[A-Za-z0-9_]*$': 'letters, digits and underscores',
  '^[a-z_][a-z0-9_]*$':
    'lower-case letters, digits and underscores that start with a letter or an underscore',
  '^[a-z0-9-]{1,40}$': '1 to 40 lower-case letters, digits and hyphens',
  '^[^\\p{Cc}]+$': 'a string without control characters',
  '^[^\\p{Cc}]*[^\\s\\p{Cc}][^\\p{Cc}]*$': 'a string with visible characters and without control characters',
  '^[^\\s\\p{Cc}]+$': 'a string without spaces and control characters',
  '^[a-z0-9]+(-[a-z0-9]+)*$': 'words of lower-case letters and digits, joined by hyphens',
  '^(\\d{1,5})([mhd])$': "a number of minutes, hours or days, for example '30m', '24h' or '7d'",
  '^[0-9a-f]{64}$': '64 hexadecimal digits in lower case',
  '^[^\\u0000]*$': 'a string without NUL characters',
  '^[!-~]{1,200}$': '1 to 200 printable ASCII characters without spaces',
  '^[A-Z]{1,16}$': "an HTTP method in capitals, for example 'POST'",
  '^/[\\w/.-]+$': "a path that starts with a slash, for example '/metrics'",
  '^https?://.+': "an http or https URL, for example 'https://example.com/path'",
  '^[hH][tT][tT][pP][sS]?://[^\\s"<>]+$': "an http or https URL, for example 'https://example.com/path'",
  '^(env|file):.+$': "a reference that starts with 'env:' or 'file:'",
  '^$|^[\\w-]+: ?[\\x20-\\x7e]+$': "a header line, for example 'Authorization: Bearer abc', or empty",
  '^(.{16,})?$': 'at least 16 characters, or empty',
  '^[\\w-]*$': 'letters, digits, underscores and hyphens',
  '^[\\x21\\x23-\\x5B\\x5D-\\x7E]{1,100}$':
    '1 to 100 printable ASCII characters without spaces, quotes and backslashes',
  '^\\d{4}-\\d{2}-\\d{2}([T ]\\d{2}:\\d{2}(:\\d{2}([.,]\\d+)?)?(Z|z|[+-]\\d{2}(:?\\d{2})?)?)?$':
    "a date or a time, for example '2026-01-31' or '2026-01-31T12:00:00Z'",
  '^sha256:[0-9a-f]{64}$': "'sha256:' and 64 hexadecimal digits in lower case",
};
