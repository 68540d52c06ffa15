import { bboxFilter, combineWithOr, type Expression } from '../../../core/cql2/index.js';
import type { PageKey } from '../../../core/features/features.js';
import { type Box, computeEnvelope } from '../../../core/geometry/box.js';
import { CRS84 } from '../../../core/geometry/crs.js';
import type { RuleNote } from '../../../stores/alerts/evaluation.js';
import type { ActiveRules } from './active-rules.js';
import { type Batch, type EvaluationDeps, evaluateFeatures } from './batch.js';
import { readFeatures, readPage } from './features.js';
import type { EvaluatedRule, LayerRules } from './layer-rules.js';
import type { FeatureRevision } from './rule-matches.js';

/**
 * Why states are compared with the features of the store. Changes that a gap of the feed hides trigger alerts; all else
 * only brings the states up to date.
 */
type RescanReason = 'created' | 'gap' | 'view-changed' | 'zone-changed';

/** Boxes of zones in one filter. With more of them, all features of the layer are read. */
const MOST_BOXES = 64;
/** States that are compared together. */
const PAGE = 500;

/**
 * Compares the features of one layer with the states of some of its rules. Each call compares one page. The features in
 * the zones come first. Features with a state follow, because they can have left. An interrupted comparison is repeated.
 */
export class Rescan {
  readonly #filter: Expression | undefined;
  #layer: LayerRules;
  #scanned: readonly EvaluatedRule[];
  #after: PageKey | undefined;
  #isPastFeatures = false;
  #key: { ruleId: number; featureId: string } | undefined;
  #isDone = false;
  #mustRepeat = false;

  private constructor(
    private readonly layerId: number,
    layer: LayerRules,
    scanned: readonly EvaluatedRule[],
  ) {
    this.#layer = layer;
    this.#scanned = scanned;
    this.#filter = computeFilter(layer, scanned);
  }

  /** The next layer to compare. Undefined if there is none. */
  static find(rules: ActiveRules): Rescan | undefined {
    for (const [id, layer] of rules.layers) {
      const scanned = layer.rules.filter(({ row }) => row.scan !== null);
      if (scanned.length > 0) return new Rescan(id, layer, scanned);
    }
    return undefined;
  }

  /**
   * Continues after a change of rules, with the unchanged rules. The changed rules are compared later. Returns false if
   * no unchanged rule is left.
   */
  follow({ layers }: ActiveRules): boolean {
    const layer = layers.get(this.layerId);
    if (layer && layer !== this.#layer) {
      this.#scanned = this.#scanned.flatMap((old) => {
        const rule = layer.byId.get(old.row.id);
        return rule && rule.row === old.row && rule.view === old.view ? [rule] : [];
      });
      this.#layer = layer;
    }
    return layer !== undefined && this.#scanned.length > 0;
  }

  /** Changes may be missing of features that are compared already: another comparison follows. */
  noteGap(collections: ReadonlySet<string> | 'all'): void {
    this.#mustRepeat ||= collections === 'all' || collections.has(this.#layer.collection.id);
  }

  /** Changes of the rules after the last page. */
  get notes(): RuleNote[] {
    const scan = this.#mustRepeat ? ('gap' satisfies RescanReason) : null;
    return this.#scanned.map(({ row, view }) => ({ id: row.id, scan, view }));
  }

  /** Returns the changes from the next page. Undefined after the last page. */
  async next(deps: EvaluationDeps): Promise<Batch | undefined> {
    if (this.#isDone) return undefined;
    const features = this.#isPastFeatures ? await this.#readKnown(deps) : await this.#readPage(deps);
    const only = new Map(
      this.#scanned.map(
        (rule) => [rule, (rule.row.scan as RescanReason) === 'gap' ? 'loud' : 'silent'] as const,
      ),
    );
    const work = { layer: this.#layer, features, detectedBy: 'rescan', only } as const;
    return evaluateFeatures(work, deps);
  }

  async #readPage({ pools }: EvaluationDeps): Promise<readonly FeatureRevision[]> {
    const { features, next } = await readPage(
      this.#layer.collection,
      this.#filter,
      this.#after,
      Date.now(),
      pools,
    );
    this.#after = next;
    if (!next) this.#isPastFeatures = true;
    return features;
  }

  async #readKnown({ store, pools }: EvaluationDeps): Promise<readonly FeatureRevision[]> {
    const ruleIds = this.#scanned.map(({ row }) => row.id);
    const rows = await store.statesOf(ruleIds, this.#key, PAGE);
    const last = rows.at(-1);
    if (rows.length < PAGE || !last) this.#isDone = true;
    else this.#key = { ruleId: last.rule_id, featureId: last.feature_id };
    const ids = [...new Set(rows.map(({ feature_id }) => feature_id))];
    return ids.length === 0 ? [] : readFeatures(this.#layer.collection, ids, Date.now(), pools);
  }
}

/** Selects the features that can be in the zones of the rules. Undefined: all features are read. */
function computeFilter(
  { collection, tests }: LayerRules,
  scanned: readonly EvaluatedRule[],
): Expression | undefined {
  const numbers = new Set(scanned.map(({ test }) => test));
  if (numbers.has(undefined) || numbers.size > MOST_BOXES) return undefined;
  if (scanned.some(({ conditions }) => conditions.timeField !== undefined)) return undefined;
  const { geometryColumn } = collection.rule?.stored ?? collection.source;
  const boxes = [...numbers].flatMap((number) => computeBoxes(tests[number!]!.area));
  if (boxes.length > MOST_BOXES) return undefined;
  return combineWithOr(boxes.map((box) => bboxFilter(geometryColumn, box, CRS84.proj)));
}

function computeBoxes(area: string): Box[] {
  const { coordinates } = JSON.parse(area) as { coordinates: unknown[] };
  const boxes = coordinates.map((polygon) => computeEnvelope(polygon)!);
  return boxes.length > MOST_BOXES ? [[-180, -90, 180, 90]] : boxes;
}
