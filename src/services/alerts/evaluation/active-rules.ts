import { createHash } from 'node:crypto';
import type { Channel, TriggerType } from '../../../core/alerts/alerts.js';
import { ConditionsError, parseConditions, type RuleConditions } from '../../../core/alerts/conditions.js';
import type { ZoneTest } from '../../../core/alerts/tasks.js';
import { hasFeatures } from '../../../core/catalog/abilities.js';
import type { CatalogSnapshot, VectorCollection } from '../../../core/catalog/collection.js';
import { and, Cql2Error, check, type Expression } from '../../../core/cql2/index.js';
import { CRS84 } from '../../../core/geometry/crs.js';
import { decodeStoredJson, encodeStoredJson } from '../../../core/values/json.js';
import type { LoadedRules } from '../../../stores/alerts/evaluation.js';
import type { AlertRuleRow } from '../../../stores/alerts/rules.js';
import type { AlertZoneRow } from '../../../stores/alerts/zones.js';
import { buildScope, isSameView, type Scope } from '../../streams/scope.js';

/** Why a rule is not evaluated. */
type RuleProblem = 'unauthorized' | 'layer-unpublished' | 'zone-inactive' | 'invalid';

/** A rule as the evaluator uses it. */
export interface EvaluatedRule {
  readonly row: AlertRuleRow;
  readonly zone: AlertZoneRow | undefined;
  readonly trigger: TriggerType;
  readonly conditions: RuleConditions;
  readonly createdAt: number;
  readonly channels: readonly Channel[];
  /** Readable part of the layer for the author. */
  readonly scope: Scope;
  /** Hash of the readable part of the layer and of the conditions. The states are valid for one hash. */
  readonly view: string;
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
  #key: string | undefined;
  #hasPaths = false;

  constructor(readonly collection: VectorCollection) {}

  /** Names the tests of the layer, so that workers keep their index while they are the same. */
  get key(): string {
    this.#key ??= createHash('sha256').update(JSON.stringify(this.tests)).digest('base64');
    return this.#key;
  }

  /** Whether a rule needs the moves of points. */
  get hasPaths(): boolean {
    return this.#hasPaths;
  }

  add(rule: EvaluatedRule): void {
    this.#hasPaths ||= rule.pathTest !== undefined;
    this.rules.push(rule);
    this.byId.set(rule.row.id, rule);
    const isAlways = rule.test === undefined || rule.conditions.timeField !== undefined;
    if (isAlways) this.always.push(rule);
    else
      for (const test of new Set([rule.test, rule.keptTest, rule.pathTest]))
        if (test !== undefined) (this.byTest[test] ??= []).push(rule);
  }

  takeTest(zone: AlertZoneRow, relation: ZoneTest['relation'], metres: number): number {
    const key = `${zone.id} ${relation} ${metres}`;
    let number = this.#testNumbers.get(key);
    if (number === undefined) {
      number = this.tests.length;
      this.#testNumbers.set(key, number);
      this.tests.push({ area: zone.area_json!, relation, metres });
    }
    return number;
  }

  takeFilter(filter: Expression | undefined): number | undefined {
    if (filter === undefined) return undefined;
    const text = encodeStoredJson(filter);
    let number = this.#filterNumbers.get(text);
    if (number === undefined) {
      number = this.filters.length;
      this.#filterNumbers.set(text, number);
      this.filters.push(text);
    }
    return number;
  }
}

/** The active rules: by layer if they can be evaluated, else with the reason. */
export interface ActiveRules {
  readonly revision: number;
  readonly layers: ReadonlyMap<number, LayerRules>;
  readonly problems: ReadonlyMap<number, RuleProblem>;
  readonly rows: readonly AlertRuleRow[];
  /** Readable layers by layer and author. */
  readonly sights: ReadonlyMap<string, Sight>;
}

interface Sight {
  readonly row: AlertRuleRow;
  readonly isPublished: boolean;
  /** Undefined if the author cannot read the layer. */
  readonly collection: VectorCollection | undefined;
}

/** The catalog as the author of a rule can read it now. Undefined for one who may not come any more. */
export type AuthorView = (row: AlertRuleRow) => Promise<CatalogSnapshot | undefined>;

export async function buildActiveRules(
  { revision, rules, zones }: LoadedRules,
  catalog: CatalogSnapshot,
  viewOf: AuthorView,
): Promise<ActiveRules> {
  const layers = new Map<number, LayerRules>();
  const problems = new Map<number, RuleProblem>();
  const zonesById = new Map(zones.map((zone) => [zone.id, zone]));
  const sights = new Map<string, Sight>();
  for (const row of rules) {
    const key = `${row.layer_id} ${row.author_json}`;
    const sight = sights.get(key) ?? (await findSight(row, catalog, viewOf));
    sights.set(key, sight);
    const problem = addRule(row, zonesById, catalog, sight, layers);
    if (problem) problems.set(row.id, problem);
  }
  return { revision, layers, problems, rows: rules, sights };
}

/** Whether authors can read now what they could when the set was built. */
export async function isStillSeen(
  { sights }: ActiveRules,
  catalog: CatalogSnapshot,
  viewOf: AuthorView,
): Promise<boolean> {
  for (const { row, isPublished, collection } of sights.values()) {
    const now = await findSight(row, catalog, viewOf);
    if (now.isPublished !== isPublished) return false;
    if (!now.collection || !collection) {
      if (now.collection !== collection) return false;
    } else if (!isSameView(now.collection, collection, true)) return false;
  }
  return true;
}

async function findSight(row: AlertRuleRow, catalog: CatalogSnapshot, viewOf: AuthorView): Promise<Sight> {
  const isPublished = hasFeatures(catalog.byLayerId(row.layer_id));
  const collection = isPublished ? (await viewOf(row))?.byLayerId(row.layer_id) : undefined;
  return { row, isPublished, collection: hasFeatures(collection) ? collection : undefined };
}

function addRule(
  row: AlertRuleRow,
  zones: ReadonlyMap<number, AlertZoneRow>,
  catalog: CatalogSnapshot,
  { collection }: Sight,
  layers: Map<number, LayerRules>,
): RuleProblem | undefined {
  const published = catalog.byLayerId(row.layer_id);
  if (!hasFeatures(published)) return 'layer-unpublished';
  if (!collection) return 'unauthorized';
  const zone = row.zone_id === null ? undefined : zones.get(row.zone_id);
  if (row.zone_id !== null && (!zone?.is_active || zone.area_json === null)) return 'zone-inactive';
  const layer = layers.get(row.layer_id) ?? new LayerRules(published);
  try {
    layer.add(buildRule(row, zone, collection, layer));
    layers.set(row.layer_id, layer);
    return undefined;
  } catch (error) {
    if (error instanceof Cql2Error) return 'unauthorized';
    if (error instanceof ConditionsError) return 'invalid';
    throw error;
  }
}

/** Throws `Cql2Error` for a field that the author cannot read, and `ConditionsError`. */
function buildRule(
  row: AlertRuleRow,
  zone: AlertZoneRow | undefined,
  collection: VectorCollection,
  layer: LayerRules,
): EvaluatedRule {
  const trigger = row.trigger_type as TriggerType;
  const conditions = parseConditions(row.conditions_json, trigger);
  const scope = buildScope(WHOLE_LAYER, collection);
  const [start, kept] = buildFilters(conditions, scope, collection);
  const { relation, exitBuffer, path, timeField } = conditions;
  if (timeField !== undefined && !collection.source.fields.some(({ name }) => name === timeField))
    throw new Cql2Error(`There is no field ${timeField}`);
  const test = zone && layer.takeTest(zone, relation, 0);
  return {
    row,
    zone,
    trigger,
    conditions,
    createdAt: row.created_at,
    channels: JSON.parse(row.channels_json) as Channel[],
    scope,
    view: hashView(scope, conditions),
    test,
    keptTest: zone && exitBuffer > 0 ? layer.takeTest(zone, relation, exitBuffer) : test,
    pathTest: zone && path ? layer.takeTest(zone, 'intersects', 0) : undefined,
    filter: layer.takeFilter(start),
    keptFilter: layer.takeFilter(kept),
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
