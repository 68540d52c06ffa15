import { html, type Markup } from '../../../core/values/html.js';
import { stringifyExactly } from '../../../core/values/json.js';
import { formatCount } from '../values.js';
import type { ApiSchema } from './documents.js';

/** Levels of nested members that a page shows, members on a page, and values of a list of allowed values. */
const MAX_DEPTH = 6;
const MAX_MEMBERS = 400;
const MAX_VALUES = 24;

/** Text of the type of a value with its limits: `integer from 1 to 10,000`. */
function describeType(schema: ApiSchema): string {
  const { $ref, enum: values, items, anyOf, oneOf } = schema;
  if ($ref) return $ref.split('/').at(-1)!;
  if (values) return values.length === 1 ? formatValue(values[0]) : 'one of';
  const alternatives = anyOf ?? oneOf;
  if (alternatives) return [...new Set(alternatives.map(describeType))].join(' or ');
  const limits = [...describeLimits(schema)].join(', ');
  const name = items?.type
    ? `array of ${describeType(items)}`
    : `${schema.type ?? (schema.minItems === undefined ? 'any value' : 'array')}${schema.format ? ` (${schema.format})` : ''}`;
  return `${name}${limits && ` ${limits}`}${schema.nullable ? ' or null' : ''}`;
}

function* describeLimits(schema: ApiSchema): Generator<string> {
  const { minimum, maximum, minLength, maxLength, minItems, maxItems } = schema;
  if (minimum !== undefined && maximum !== undefined && !schema.exclusiveMinimum && !schema.exclusiveMaximum)
    yield `from ${formatNumber(minimum)} to ${formatNumber(maximum)}`;
  else {
    if (minimum !== undefined)
      yield `${schema.exclusiveMinimum ? 'above' : 'of at least'} ${formatNumber(minimum)}`;
    if (maximum !== undefined)
      yield `${schema.exclusiveMaximum ? 'below' : 'of at most'} ${formatNumber(maximum)}`;
  }
  if (maxLength !== undefined)
    yield minLength !== undefined && minLength > 1
      ? `of ${formatCount(minLength)} to ${formatCount(maxLength)} characters`
      : `of at most ${formatCount(maxLength)} characters`;
  if (maxItems !== undefined)
    yield minItems !== undefined && minItems > 0
      ? `with ${minItems === maxItems ? '' : `${formatCount(minItems)} to `}${formatCount(maxItems)} values`
      : `with at most ${formatCount(maxItems)} values`;
}

const formatNumber = (value: number) =>
  Number.isInteger(value) && Math.abs(value) <= 1e12 ? formatCount(value) : String(value);

function formatValue(value: unknown): string {
  return typeof value === 'string' ? value : stringifyExactly(value);
}

/** Type, allowed values and default of a value. */
export function renderType(schema: ApiSchema): Markup {
  const alternatives = schema.anyOf ?? schema.oneOf ?? [];
  const values = schema.enum ?? schema.items?.enum ?? alternatives.find((one) => one.enum)?.enum;
  const list = values && values.length > 1 ? renderValues(values) : undefined;
  const usual =
    schema.default === undefined
      ? undefined
      : html`<br><span class="muted">Default:</span> <code>${formatValue(schema.default)}</code>`;
  return html`<span class="api-type">${describeType(schema)}</span>${list}${usual}`;
}

function renderValues(values: readonly unknown[]): Markup {
  const shown = values.slice(0, MAX_VALUES).map((value) => html` <code>${formatValue(value)}</code>`);
  const rest = values.length - shown.length;
  return html` ${shown}${rest > 0 ? ` and ${formatCount(rest)} more` : undefined}`;
}

/** Text of a description, with code between backticks. */
export function renderText(text: string | undefined): Markup[] {
  const parts = (text ?? '').split('`');
  return parts.map((part, i) => (i % 2 === 1 ? html`<code>${part}</code>` : html`${part}`));
}

/** Members of the values of a schema, nested members folded. Undefined for a value without members. */
export function renderMembers(schema: ApiSchema): Markup | undefined {
  return new Members().of(schema, 0);
}

class Members {
  #left = MAX_MEMBERS;

  of(schema: ApiSchema, depth: number): Markup | undefined {
    if (depth >= MAX_DEPTH || this.#left <= 0) return undefined;
    const { properties, required = [], items, additionalProperties: others } = schema;
    if (items) return this.of(items, depth);
    const alternatives = schema.anyOf ?? schema.oneOf ?? schema.allOf;
    if (alternatives) return this.#alternatives(alternatives, depth);
    const names = Object.entries(properties ?? {});
    if (names.length === 0)
      return typeof others === 'object' && hasMembers(others) ? this.of(others, depth) : undefined;
    this.#left -= names.length;
    return html`<ul class="members">${names.map(([name, member]) => this.#member(name, member, required.includes(name), depth))}</ul>`;
  }

  #member(name: string, schema: ApiSchema, isRequired: boolean, depth: number): Markup {
    const inner = hasMembers(schema) ? this.of(schema, depth + 1) : undefined;
    return html`<li><code>${name}</code>${isRequired ? REQUIRED : undefined} ${renderType(schema)}
${schema.description ? html`<p>${renderText(schema.description)}</p>` : undefined}
${inner ? html`<details><summary>Members of ${name}</summary>${inner}</details>` : undefined}</li>`;
  }

  #alternatives(alternatives: readonly ApiSchema[], depth: number): Markup | undefined {
    const own = alternatives.filter(hasMembers);
    if (own.length < 2) return own[0] && this.of(own[0], depth);
    return html`<ul class="members">${own.map((one, i) => {
      const inner = this.of(one, depth + 1);
      return html`<li>${one.title ?? `Alternative ${i + 1}`}: ${renderType(one)}
${one.description ? html`<p>${renderText(one.description)}</p>` : undefined}${inner}</li>`;
    })}</ul>`;
  }
}

export const REQUIRED = html` <span class="badge">required</span>`;

/** Whether values of a schema are objects, or arrays of objects, with named members. */
function hasMembers({ properties, items, anyOf, oneOf, allOf, additionalProperties }: ApiSchema): boolean {
  if (properties && Object.keys(properties).length > 0) return true;
  if (items) return hasMembers(items);
  if (typeof additionalProperties === 'object') return hasMembers(additionalProperties);
  return (anyOf ?? oneOf ?? allOf ?? []).some(hasMembers);
}

/** A value that a schema allows: required members only, unless there are none. */
export function createExample(schema: ApiSchema, depth = 0): unknown {
  const { example, examples, default: usual, enum: values, anyOf, oneOf, allOf, items, type } = schema;
  const given = example ?? examples?.[0] ?? usual ?? values?.[0];
  if (given !== undefined) return given;
  if (depth > MAX_DEPTH) return null;
  const [alternative] = anyOf ?? oneOf ?? allOf ?? [];
  if (alternative) return createExample(alternative, depth + 1);
  if (schema.properties) return createObject(schema, depth);
  if (items) return [createExample(items, depth + 1)];
  if (type === 'integer' || type === 'number') return schema.minimum ?? 1;
  if (type === 'boolean') return true;
  return type === 'object' || type === 'array'
    ? type === 'object'
      ? {}
      : []
    : (EXAMPLES[schema.format ?? ''] ?? 'string');
}

/** Examples of strings by format. */
const EXAMPLES: Readonly<Record<string, string>> = {
  date: '2026-01-31',
  'date-time': '2026-01-31T12:00:00Z',
  uri: 'https://example.com/',
  uuid: '00000000-0000-4000-8000-000000000000',
};

function createObject({ properties = {}, required = [] }: ApiSchema, depth: number): object {
  const names = Object.keys(properties);
  const shown = required.length > 0 ? names.filter((name) => required.includes(name)) : names.slice(0, 4);
  return Object.fromEntries(shown.map((name) => [name, createExample(properties[name]!, depth + 1)]));
}
