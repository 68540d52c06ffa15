import { layersByFilter } from '../filter-groups.js';
import { exactAlternative } from '../integer-texts.js';
import type { StyleLayer } from '../model.js';
import type { Expr } from '../sld/values.js';
import type { DrawingReport } from './report.js';

/** Layers of one class: no value depends on the attribute any more. */
export interface ExportClass {
  readonly layers: readonly StyleLayer[];
  /** Value, or maximum of the class. */
  readonly value: string | number;
  readonly label?: string;
}

export interface Classifier {
  readonly kind: 'values' | 'breaks';
  readonly field: string;
  readonly classes: readonly ExportClass[];
  /** Class of all remaining values. */
  readonly others: ExportClass | undefined;
  readonly least: number;
}

/** Expression that selects by an attribute. */
interface Choice {
  readonly kind: 'values' | 'breaks';
  readonly field: string;
  readonly keys: readonly (string | number)[];
  /** It is a `step`, which has a class beyond its last limit. */
  readonly steps?: boolean;
  /** Whether values that are not numbers have a separate result. */
  readonly guarded?: boolean;
}

/** The classification of layers by one attribute: by expressions, or by filters; undefined when there is none. */
export function findClassifier(layers: readonly StyleLayer[], report: DrawingReport): Classifier | undefined {
  const byFilter = filteredClasses(layers);
  if (byFilter) return byFilter;
  if (layers.some((layer) => 'filter' in layer && layer.filter !== undefined)) {
    report.add('RENDERER_TYPE_UNSUPPORTED', 'filter', 'Filters that are not of one attribute are left out.');
  }
  const choice = layers
    .flatMap(listValues)
    .map(findChoice)
    .find((one) => one !== undefined);
  if (!choice) return undefined;
  const { kind, field, keys } = choice;
  const pick = (key: string | number | undefined, value: string | number, label?: string): ExportClass => ({
    layers: layers.map((layer) => resolved(layer, choice, key)),
    value,
    ...(label === undefined ? {} : { label }),
  });
  const classes = keys.map((key) => pick(key, key));
  const others = pick(undefined, '');
  if (kind === 'values') return { kind, field, classes, others, least: 0 };
  const beyond = pick(MOST, MOST, `> ${keys.at(-1)}`);
  const filtered = layers.some((layer) => 'filter' in layer && layer.filter !== undefined);
  // If limits are tested one by one, the remaining values are a class only if the filter excludes all other values.
  const open = choice.steps || filtered;
  const rest = choice.guarded || !open ? others : undefined;
  return { kind, field, classes: open ? [...classes, beyond] : classes, others: rest, least: LEAST };
}

/** Classes reach as far as numbers do: JSON has no infinity. */
const [LEAST, MOST] = [-1e300, 1e300];

function listValues(layer: StyleLayer): Expr[] {
  return Object.values({ ...layer.layout, ...layer.paint }) as Expr[];
}

/** `match` by an attribute, `step` over one, or `case` by its values or bounds. */
function findChoice(value: Expr): Choice | undefined {
  if (!Array.isArray(value)) return undefined;
  const [operator, input, ...rest] = value as readonly Expr[];
  if (operator === 'match') {
    const field = findField(input!);
    const keys = rest
      .slice(0, -1)
      .filter((_, i) => i % 2 === 0)
      .flat() as (string | number)[];
    return field === undefined ? undefined : { kind: 'values', field, keys };
  }
  if (operator === 'step') {
    const field = findField(input!);
    const keys = rest.filter((_, i) => i % 2 === 1) as number[];
    return field === undefined ? undefined : { kind: 'breaks', field, keys, steps: true };
  }
  const guarded = findGuard(value);
  if (guarded) {
    const inner = findChoice(guarded.classed);
    return inner && { ...inner, guarded: true };
  }
  return operator === 'case' ? caseChoice([input!, ...rest]) : undefined;
}

/** Classes of numbers, and the result of values that are not numbers. */
function findGuard(value: readonly Expr[]): { classed: Expr; fallback: Expr } | undefined {
  const [operator, condition, classed, fallback] = value;
  if (operator !== 'case' || value.length !== 4 || !Array.isArray(condition)) return undefined;
  const [equals, type, name] = condition as readonly Expr[];
  const tests = equals === '==' && Array.isArray(type) && type[0] === 'typeof' && name === 'number';
  return tests ? { classed: classed!, fallback: fallback! } : undefined;
}

function findField(input: Expr): string | undefined {
  if (!Array.isArray(input)) return undefined;
  const [operator, of] = input as readonly Expr[];
  if (operator === 'get') return typeof of === 'string' ? of : undefined;
  return operator === 'to-string' ||
    operator === 'to-number' ||
    operator === 'number' ||
    operator === 'string'
    ? findField(of!)
    : undefined;
}

interface Test {
  readonly kind: 'values' | 'breaks';
  readonly field: string;
  readonly key: string | number;
}

/** Condition of one class: equality with a value, or an upper limit with any other conditions. */
function findTest(condition: Expr | undefined): Test | undefined {
  if (!Array.isArray(condition)) return undefined;
  const [operator, ...operands] = condition as readonly Expr[];
  const exact = exactAlternative(condition as readonly Expr[]);
  if (exact) return findTest(exact as Expr);
  if (operator === 'all') return operands.map(findTest).find((test) => test?.kind === 'breaks');
  const [input, key] = operands;
  if (operator === 'in' && Array.isArray(key) && key[0] === 'literal') {
    const field = findField(input!);
    return field === undefined ? undefined : { kind: 'values', field, key: String((key[1] as Expr[])[0]) };
  }
  const isKey = typeof key === 'string' || typeof key === 'number';
  const field = findField(input ?? null);
  if (field === undefined || !isKey) return undefined;
  if (operator === '==') return { kind: 'values', field, key };
  return (operator === '<=' || operator === '<') && typeof key === 'number'
    ? { kind: 'breaks', field, key }
    : undefined;
}

function caseChoice(parts: readonly Expr[]): Choice | undefined {
  const tests = parts
    .slice(0, -1)
    .filter((_, i) => i % 2 === 0)
    .map(findTest);
  const [first] = tests;
  if (!first || tests.some((test) => test?.field !== first.field || test.kind !== first.kind))
    return undefined;
  return { kind: first.kind, field: first.field, keys: tests.map((test) => test!.key) };
}

/** Layer with the values of one class. `key` undefined: the class of all remaining values. */
function resolved(layer: StyleLayer, choice: Choice, key: string | number | undefined): StyleLayer {
  const part = (of: object | undefined) =>
    Object.fromEntries(
      Object.entries(of ?? {}).map(([name, value]) => [name, buildCase(value as Expr, choice, key)]),
    );
  return { ...layer, layout: part(layer.layout), paint: part(layer.paint) } as StyleLayer;
}

function buildCase(value: Expr, choice: Choice, key: string | number | undefined): Expr {
  const own = findChoice(value);
  if (own?.field !== choice.field || own.kind !== choice.kind) return value;
  const guarded = findGuard(value as readonly Expr[]);
  if (guarded) return key === undefined ? guarded.fallback : buildCase(guarded.classed, choice, key);
  const [operator, ...rest] = value as readonly Expr[];
  if (operator === 'step') {
    const at =
      key === undefined ? own.keys.length : own.keys.findIndex((end) => (key as number) <= (end as number));
    return rest[1 + 2 * (at === -1 ? own.keys.length : at)]!;
  }
  const cases = operator === 'match' ? rest.slice(1) : rest;
  for (let i = 0; i + 1 < cases.length; i += 2) {
    const keys = operator === 'match' ? [cases[i]].flat() : [findTest(cases[i])?.key];
    if (key !== undefined && keys.some((one) => String(one) === String(key))) return cases[i + 1]!;
  }
  return cases.at(-1)!;
}

/** Layers whose filters are equality with values of one attribute, as rules of SLD become. */
function filteredClasses(layers: readonly StyleLayer[]): Classifier | undefined {
  const groups = layersByFilter(layers);
  if (groups.size < 2) return undefined;
  const tested = [...groups].map(([filter, of]) => ({ test: findTest(JSON.parse(filter) as Expr), of }));
  const cases = tested.filter(({ test }) => test !== undefined);
  const [first] = cases;
  if (!first || cases.length < tested.length - 1) return undefined;
  const { kind, field } = first.test!;
  if (cases.some(({ test }) => test!.field !== field || test!.kind !== kind)) return undefined;
  const rest = tested.find(({ test }) => test === undefined);
  const toClass = ({ test, of }: (typeof tested)[number]): ExportClass => {
    const label = (of[0]!.metadata as Record<string, string> | undefined)?.['graticule:title'];
    return { layers: of, value: test?.key ?? '', ...(label === undefined ? {} : { label }) };
  };
  return { kind, field, classes: cases.map(toClass), others: rest && toClass(rest), least: LEAST };
}
