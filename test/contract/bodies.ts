import type { Json } from './documents.js';

/** Bodies out of schemas, the same in each run: as a schema has them, spoilt, and such as no schema has. */

export type Random = () => number;

export const pick = <T>(random: Random, values: readonly T[]): T =>
  values[Math.floor(random() * values.length)]!;

const upTo = (random: Random, most: number) => Math.floor(random() * (most + 1));

const DEEPEST = 5;

/** What texts of a format look like. */
const FORMATS: Record<string, readonly string[]> = {
  'date-time': ['2024-02-29T12:00:00Z', '1999-12-31T23:59:59.5+02:00'],
  date: ['2024-02-29'],
  // Nobody listens there.
  uri: ['http://127.0.0.1:9/a', 'http://www.opengis.net/def/crs/EPSG/0/3857'],
  uuid: ['5f0c1b1e-8a3f-4a0e-9c27-0d5d6f1b2a3c'],
};
const TEXTS = ['a', 'Ünïcödé 🏠', '1', 'countries', 'NAME', 'WebMercatorQuad', 'png', '#00ff00', 'x y'];

/** A value that fits the schema, as far as its words go. */
export function example(schema: Json, random: Random, depth = 0): unknown {
  if (!schema || typeof schema !== 'object') return null;
  if (schema.nullable && random() < 0.1) return null;
  if (schema.enum) return pick(random, schema.enum);
  if ('default' in schema && random() < 0.3) return schema.default;
  const alternatives = schema.oneOf ?? schema.anyOf;
  if (alternatives) return example(pick(random, alternatives), random, depth);
  if (schema.allOf) return Object.assign({}, ...schema.allOf.map((one: Json) => example(one, random, depth)));
  switch (schema.type) {
    case 'object':
      return objectOf(schema, random, depth);
    case 'array':
      return arrayOf(schema, random, depth);
    case 'integer':
    case 'number':
      return numberOf(schema, random);
    case 'boolean':
      return random() < 0.5;
    case 'string':
      return textOf(schema, random);
    default:
      return pick<unknown>(random, [null, 1, 'a', true, {}, []]);
  }
}

function objectOf({ properties = {}, required = [] }: Json, random: Random, depth: number): object {
  const names = Object.keys(properties).filter(
    (name) => required.includes(name) || (depth < DEEPEST && random() < 0.6),
  );
  return Object.fromEntries(names.map((name) => [name, example(properties[name], random, depth + 1)]));
}

function arrayOf({ items = {}, minItems = 0, maxItems = 4 }: Json, random: Random, depth: number): unknown[] {
  const more = depth < DEEPEST ? upTo(random, Math.min(3, maxItems - minItems)) : 0;
  return Array.from({ length: minItems + more }, () => example(items, random, depth + 1));
}

function numberOf({ type, minimum = -10, maximum = minimum + 1000 }: Json, random: Random): number {
  const value = pick(random, [minimum, maximum, minimum + random() * (maximum - minimum)]);
  return type === 'integer' ? Math.round(value) : value;
}

function textOf({ format, minLength = 0, maxLength = 1000 }: Json, random: Random): string {
  const text = pick(random, FORMATS[format] ?? TEXTS);
  return text.padEnd(minLength, 'x').slice(0, maxLength);
}

/** What strangers write where something else is meant. */
const STRANGE: readonly unknown[] = [
  null,
  true,
  0,
  -1,
  1.5,
  1e308,
  -1e308,
  Number.MAX_SAFE_INTEGER,
  2 ** 31,
  '',
  ' ',
  '\u0000',
  '\ud800',
  'a\r\nb: c',
  '../../etc/passwd',
  'file:///etc/passwd',
  "'; DROP TABLE x; --",
  '%s%n{0}',
  'x'.repeat(70_000),
  [],
  {},
  [[[[[[[[]]]]]]]],
  { __proto__: null, constructor: { prototype: {} } },
  [1, 2, 3, 4, 5, 6, 7],
  { type: 'Point', coordinates: [1e308, Number.MAX_VALUE] },
  { type: 'Polygon', coordinates: [] },
];

const strange = (random: Random) => structuredClone(pick(random, STRANGE));

type Place = [holder: Json, key: string | number];

/** The same value with one to three places spoilt. */
export function spoilt(value: unknown, random: Random): unknown {
  const root = { value: structuredClone(value) };
  for (let times = 1 + upTo(random, 2); times > 0; times--) {
    const [holder, key] = pick(random, [...placesOf(root)]);
    const turn = random();
    if (turn < 0.15 && holder !== root) delete holder[key];
    else if (turn < 0.25 && isObject(holder[key]))
      (holder[key] as Json)[pick(random, TEXTS)] = strange(random);
    else if (turn < 0.35) holder[key] = [holder[key], structuredClone(holder[key])];
    else holder[key] = strange(random);
  }
  return root.value;
}

function* placesOf(value: Json): Generator<Place> {
  for (const key of Object.keys(value)) {
    yield [value, key];
    if (isObject(value[key])) yield* placesOf(value[key]);
  }
}

/** A text with a part of it cut out, doubled, or replaced. */
export function cut(text: string, random: Random): string {
  const start = upTo(random, text.length - 1);
  const end = Math.min(text.length, start + 1 + upTo(random, 40));
  const other = pick(random, [
    '',
    text.slice(start, end).repeat(2),
    '<',
    '&',
    '&#0;',
    '\u0000',
    'x'.repeat(500),
    '1e999',
    '-1',
  ]);
  return text.slice(0, start) + other + text.slice(end);
}

const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null;

const bytes = (...values: number[]) => new Uint8Array(values);

/** Bodies that say nothing. */
export const NONSENSE: readonly (string | Uint8Array)[] = [
  '',
  ' ',
  'null',
  '0',
  '"text"',
  '[]',
  '{}',
  '{',
  '{"a":',
  '{"a":1}}',
  '{"a":NaN}',
  '{"a":1e999999}',
  '{"__proto__":{"a":1}}',
  '{"a":1,"a":2}',
  '\ufeff{}',
  '<a/>',
  '<!DOCTYPE a [<!ENTITY b SYSTEM "file:///etc/passwd">]><a>&b;</a>',
  '['.repeat(5000),
  `${'{"a":'.repeat(2000)}1${'}'.repeat(2000)}`,
  `[${'[],'.repeat(20_000)}[]]`,
  bytes(0xff, 0xfe, 0x00),
  bytes(0x7b, 0x22, 0xc3, 0x28, 0x22, 0x3a, 0x31, 0x7d),
  bytes(0x1f, 0x8b, 0x08, 0x00),
];

/** A form with a file and fields; what is no text goes in as JSON. */
export function formOf(fields: Record<string, unknown>, file: { name: string; data: string } | undefined) {
  const boundary = 'graticule-boundary';
  const part = (name: string, rest: string, data: string) =>
    `--${boundary}\r\nContent-Disposition: form-data; name="${name}"${rest}\r\n\r\n${data}\r\n`;
  const texts = Object.entries(fields).map(([name, value]) =>
    part(name.replaceAll(/["\r\n]/g, '_'), '', typeof value === 'string' ? value : JSON.stringify(value)),
  );
  const upload = file ? part('file', `; filename="${file.name}"`, file.data) : '';
  const type = `multipart/form-data; boundary=${boundary}`;
  return { type, body: `${texts.join('')}${upload}--${boundary}--\r\n` };
}
