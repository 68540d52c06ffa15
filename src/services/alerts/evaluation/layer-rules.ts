import { createHash } from 'node:crypto';
import type { Channel, TriggerType } from '../../../core/alerts/alerts.js';
import { parseConditions, type RuleConditions } from '../../../core/alerts/conditions.js';
import type { ZoneTest } from '../../../core/alerts/tasks.js';
import type { VectorCollection } from '../../../core/catalog/collection.js';
import { and, Cql2Error, check, type Expression } from '../../../core/cql2/index.js';
import { CRS84 } from '../../../core/geometry/crs.js';
import { decodeStoredJson, encodeStoredJson } from '../../../core/values/json.js';
import type { UsedZone } from '../../../stores/alerts/evaluation.js';
import type { AlertRuleRow } from '../../../stores/alerts/rules.js';
import { buildScope, type Scope } from '../../streams/scope.js';

/** A rule and the part of the layer that its author can read. */
export interface CompiledRule {
  readonly row: AlertRuleRow;
  readonly trigger: TriggerType;
  readonly conditions: RuleConditions;
  readonly createdAt: number;
  readonly channels: readonly Channel[];
  /** Readable part of the layer for the author. */
  readonly scope: Scope;
  /** Hash of the readable part of the layer and of the conditions. The states are valid for one hash. */
  readonly view: string;
  /** JSON of the filters of features that enter, and of features that stay. */
  readonly start: string | undefined;
  readonly kept: string | undefined;
}

/** A rule as the evaluator uses it. */
export interface EvaluatedRule extends CompiledRule {
  readonly zone: UsedZone | undefined;
  /** Numbers of zone tests of the layer: of the zone, of the zone with its buffer, of moves across it. */
  readonly test: number | undefined;
  readonly keptTest: number | undefined;
  readonly pathTest: number | undefined;
  /** Numbers of filters of the layer: of features that enter, and of features that stay. */
  readonly filter: number | undefined;
  readonly keptFilter: number | undefined;
}

/** The rules of one layer, with the zone tests and the filters that they need. */
export class LayerRules {
  readonly rules: EvaluatedRule[] = [];
  readonly tests: ZoneTest[] = [];
  /** Rules by the number of each of their tests. */
  readonly byTest: EvaluatedRule[][] = [];
  /** Rules that are evaluated for each event of the layer. */
  readonly always: EvaluatedRule[] = [];
  readonly byId = new Map<number, EvaluatedRule>();
  /** JSON of checked filters. */
  readonly filters: string[] = [];
  readonly #testNumbers = new Map<string, number>();
  readonly #filterNumbers = new Map<string, number>();
  readonly #hash = createHash('sha256');
  #key: string | undefined;
  #hasPaths = false;

  constructor(readonly collection: VectorCollection) {}

  /** Names the tests of the layer, so that workers keep their index while they are the same. */
  get key(): string {
    this.#key ??= this.#hash.copy().digest('base64');
    return this.#key;
  }

  /** Whether a rule needs the moves of points. */
  get hasPaths(): boolean {
    return this.#hasPaths;
  }

  add(rule: CompiledRule, zone: UsedZone | undefined): void {
    const { relation, exitBuffer, path } = rule.conditions;
    const test = zone && this.#takeTest(zone, relation, 0);
    this.#add({
      ...rule,
      zone,
      test,
      keptTest: zone && exitBuffer > 0 ? this.#takeTest(zone, relation, exitBuffer) : test,
      pathTest: zone && path ? this.#takeTest(zone, 'intersects', 0) : undefined,
      filter: this.#takeFilter(rule.start),
      keptFilter: this.#takeFilter(rule.kept),
    });
  }

  #add(rule: EvaluatedRule): void {
    this.#hasPaths ||= rule.pathTest !== undefined;
    this.rules.push(rule);
    this.byId.set(rule.row.id, rule);
    const isAlways = rule.test === undefined || rule.conditions.timeField !== undefined;
    if (isAlways) this.always.push(rule);
    else
      for (const test of new Set([rule.test, rule.keptTest, rule.pathTest]))
        if (test !== undefined) (this.byTest[test] ??= []).push(rule);
  }

  #takeTest(zone: UsedZone, relation: ZoneTest['relation'], metres: number): number {
    const key = `${zone.id} ${relation} ${metres}`;
    let number = this.#testNumbers.get(key);
    if (number === undefined) {
      number = this.tests.length;
      this.#testNumbers.set(key, number);
      this.tests.push({ area: zone.area_json!, relation, metres });
      this.#hash.update(`${hashArea(zone)} ${relation} ${metres}\n`);
      this.#key = undefined;
    }
    return number;
  }

  #takeFilter(text: string | undefined): number | undefined {
    if (text === undefined) return undefined;
    let number = this.#filterNumbers.get(text);
    if (number === undefined) {
      number = this.filters.length;
      this.#filterNumbers.set(text, number);
      this.filters.push(text);
    }
    return number;
  }
}

const areaHashes = new WeakMap<UsedZone, string>();

function hashArea(zone: UsedZone): string {
  let known = areaHashes.get(zone);
  if (known === undefined) {
    known = createHash('sha256').update(zone.area_json!).digest('base64');
    areaHashes.set(zone, known);
  }
  return known;
}

/** Throws `Cql2Error` for a field that the author cannot read, and `ConditionsError`. */
export function compileRule(row: AlertRuleRow, collection: VectorCollection): CompiledRule {
  const trigger = row.trigger_type as TriggerType;
  const conditions = parseConditions(row.conditions_json, trigger);
  const scope = buildScope(WHOLE_LAYER, collection);
  const [start, kept] = buildFilters(conditions, scope, collection);
  const { timeField } = conditions;
  if (timeField !== undefined && !collection.source.fields.some(({ name }) => name === timeField))
    throw new Cql2Error(`There is no field ${timeField}`);
  return {
    row,
    trigger,
    conditions,
    createdAt: row.created_at,
    channels: JSON.parse(row.channels_json) as Channel[],
    scope,
    view: hashView(scope, conditions),
    start: start && encodeStoredJson(start),
    kept: kept && encodeStoredJson(kept),
  };
}

const WHOLE_LAYER = { layers: undefined, bbox: undefined, filter: undefined, datetime: undefined };

/** Filters of features that enter, and of features that stay. Undefined: no filter. */
function buildFilters(
  { filter, threshold }: RuleConditions,
  scope: Scope,
  { source }: VectorCollection,
): [Expression | undefined, Expression | undefined] {
  const checked = (expression: Expression | undefined) =>
    expression && check(expression, { ...source, filterCrs: CRS84 });
  const rows = scope.filter === undefined ? undefined : (decodeStoredJson(scope.filter) as Expression);
  const always = and(rows, checked(filter));
  if (!threshold) return [always, always];
  const { field, start, clear } = threshold;
  checked({ op: 'isNull', args: [{ property: field }] });
  const isStarted = and(always, checked(start));
  // The incident of a feature that loses its value ends.
  const isCleared = clear && checked(clear);
  return [isStarted, isCleared ? and(always, { op: 'not', args: [isCleared] }) : isStarted];
}

function hashView({ filter, mask }: Scope, conditions: RuleConditions): string {
  const text = JSON.stringify([filter ?? null, mask, conditions.relation]);
  return createHash('sha256').update(text).digest('base64').slice(0, 22);
}
