import type { EventImage, FeedEvent } from '../../../core/streams/events.js';
import type { Pools } from '../../../core/tasks/tasks.js';
import { membersIn } from '../../../core/values/json-text.js';
import { imageAfter, imageBefore } from '../../streams/recipients.js';
import type { EvaluatedRule, LayerRules } from './layer-rules.js';
import { OUTSIDE, type RuleInput, type Side } from './transitions.js';

/** A feature before and after an edit, or a feature that was read from its store. */
export interface FeatureRevision {
  readonly featureId: string;
  /** The feature before the edit. Undefined: unknown. Null: it did not exist. */
  readonly before: EventImage | null | undefined;
  /** Null: it does not exist any more. */
  readonly after: EventImage | null;
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly changedAttributes: readonly string[];
}

export function convertEvent({ event }: FeedEvent): FeatureRevision {
  const { featureId, operation, changedAttributes } = event;
  return {
    featureId,
    before: operation === 'insert' ? null : imageBefore(event),
    after: operation === 'delete' ? null : imageAfter(event),
    at: Date.parse(event.time),
    changedAttributes,
  };
}

/** Results of workers: the zones and the filters that features match. */
export class RuleMatches {
  /** Rules to evaluate for each feature. Rules with a state of the feature are added. */
  readonly candidates: ReadonlySet<EvaluatedRule>[];

  constructor(
    private readonly layer: LayerRules,
    private readonly features: readonly FeatureRevision[],
    /** Matching tests by image. Each feature has two images. The moves follow. */
    private readonly tests: readonly ReadonlySet<number>[],
    private readonly passed: (image: number, filter: number) => boolean,
  ) {
    this.candidates = features.map((_, i) => this.#findCandidates(i));
  }

  #findCandidates(i: number): ReadonlySet<EvaluatedRule> {
    const rules = new Set(this.layer.always);
    for (const image of [2 * i, 2 * i + 1, 2 * this.features.length + i])
      for (const test of this.tests[image] ?? [])
        for (const rule of this.layer.byTest[test] ?? []) rules.add(rule);
    return rules;
  }

  /** Input of a rule for a feature. */
  inputOf(i: number, rule: EvaluatedRule, isSilent: boolean): RuleInput {
    const feature = this.features[i]!;
    const { before, after, at, changedAttributes } = feature;
    const sides = { before: this.#side(2 * i, before, rule), after: this.#side(2 * i + 1, after, rule) };
    const { threshold, timeField } = rule.conditions;
    const isChange = threshold !== undefined && threshold.start === undefined;
    const hasChanged =
      isChange && sides.after!.isInside && before !== null && changedAttributes.includes(threshold.field);
    return {
      // For a rule about changes, each change is an incident that ends immediately.
      before: isChange ? undefined : sides.before,
      after: isChange ? OUTSIDE : sides.after!,
      at,
      isGone: after === null,
      hasCrossed: hasChanged || this.#hasCrossed(i, rule),
      time: timeField === undefined ? undefined : readTime(after?.attributes, timeField),
      isSilent,
    };
  }

  #hasCrossed(i: number, { pathTest, filter }: EvaluatedRule): boolean {
    if (pathTest === undefined || !this.tests[2 * this.features.length + i]?.has(pathTest)) return false;
    return filter === undefined || this.passed(2 * i + 1, filter);
  }

  #side(image: number, feature: EventImage | null | undefined, rule: EvaluatedRule): Side | undefined {
    if (feature === undefined) return undefined;
    if (feature === null) return OUTSIDE;
    const tests = this.tests[image];
    const lies = (test: number | undefined) => test === undefined || tests?.has(test) === true;
    const passes = (filter: number | undefined) => filter === undefined || this.passed(image, filter);
    const isInside = lies(rule.test) && passes(rule.filter);
    return { isInside, isKept: isInside || (lies(rule.keptTest) && passes(rule.keptFilter)) };
  }
}

/** The time of a position: RFC 3339, or a number. */
function readTime(attributes: string | undefined, field: string): number | undefined {
  const json = attributes === undefined ? undefined : membersIn(attributes)?.get(field);
  if (json === undefined || json === 'null') return undefined;
  const value = JSON.parse(json) as unknown;
  const time = typeof value === 'string' ? Date.parse(value) : Number(value);
  return Number.isFinite(time) ? time : undefined;
}

/** Finds in workers which zones and filters the features match. */
export async function matchRules(
  layer: LayerRules,
  features: readonly FeatureRevision[],
  pools: Pools,
): Promise<RuleMatches> {
  const [tests, passed] = await Promise.all([
    layer.tests.length > 0 ? matchZones(layer, features, pools) : [],
    layer.filters.length > 0 ? matchFilters(layer, features, pools) : () => true,
  ]);
  return new RuleMatches(layer, features, tests, passed);
}

async function matchZones(
  layer: LayerRules,
  features: readonly FeatureRevision[],
  pools: Pools,
): Promise<readonly ReadonlySet<number>[]> {
  const images = features.flatMap(({ before, after }) => [before?.geometry ?? null, after?.geometry ?? null]);
  const moves = layer.hasPaths ? features.map(buildMove) : [];
  const task = { key: layer.key, geometries: [...images, ...moves] };
  const known = await pools.run('vector.zoneMatch', task);
  const { pairs } = known.isUnknown
    ? await pools.run('vector.zoneMatch', { ...task, tests: layer.tests })
    : known;
  const found: Set<number>[] = [];
  for (let i = 0; i < pairs.length; i += 2) (found[pairs[i]!] ??= new Set()).add(pairs[i + 1]!);
  return found;
}

/** The way of a point from its former to its new place; the shorter way round the Earth. */
function buildMove({ before, after }: FeatureRevision): string | null {
  const [from, to] = [readPoint(before?.geometry), readPoint(after?.geometry)];
  if (!from || !to) return null;
  const [x1, y1] = from;
  const [x, y2] = to;
  const x2 = x - x1 > 180 ? x - 360 : x - x1 < -180 ? x + 360 : x;
  const coordinates = [
    [x1, y1],
    [x2, y2],
  ];
  return JSON.stringify({ type: 'LineString', coordinates });
}

function readPoint(geometry: string | null | undefined): [number, number] | undefined {
  if (!geometry?.startsWith('{"type":"Point"')) return undefined;
  return (JSON.parse(geometry) as { coordinates: [number, number] }).coordinates;
}

async function matchFilters(layer: LayerRules, features: readonly FeatureRevision[], pools: Pools) {
  const { rule, source } = layer.collection;
  const { idColumn, geometryColumn, fields } = rule?.stored ?? source;
  const nothing = ({ featureId }: FeatureRevision) => ({ id: featureId, geometry: null, attributes: '{}' });
  const images = features.flatMap((one) => [one.before ?? nothing(one), one.after ?? nothing(one)]);
  const schema = { idColumn, geometryColumn, fields };
  const { passed } = await pools.run('vector.match', { schema, filters: layer.filters, images });
  return (image: number, filter: number) => passed[filter * images.length + image] === 1;
}
