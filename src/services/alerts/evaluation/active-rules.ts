import { setImmediate } from 'node:timers/promises';
import { ConditionsError } from '../../../core/alerts/conditions.js';
import { hasFeatures } from '../../../core/catalog/abilities.js';
import type { CatalogSnapshot, Collection, VectorCollection } from '../../../core/catalog/collection.js';
import { Cql2Error } from '../../../core/cql2/index.js';
import type { AlertEvaluationStore, RuleNote, UsedZone } from '../../../stores/alerts/evaluation.js';
import type { AlertRuleRow } from '../../../stores/alerts/rules.js';
import { isSameView } from '../../streams/scope.js';
import { type CompiledRule, compileRule, LayerRules } from './layer-rules.js';

/** Why a rule is not evaluated. */
type RuleProblem = 'unauthorized' | 'layer-unpublished' | 'zone-inactive' | 'invalid';

/** The catalog as the author of a rule can read it now. Undefined for one who may not come any more. */
export type AuthorView = (row: AlertRuleRow) => Promise<CatalogSnapshot | undefined>;

/** The readable part of a layer for one author. */
interface Sight {
  /** A rule of the author. */
  readonly row: AlertRuleRow;
  readonly isPublished: boolean;
  /** Undefined if the author cannot read the layer. */
  readonly collection: VectorCollection | undefined;
}

/** The active rules of one layer, whether they can be evaluated or not. */
interface Layer {
  readonly rows: Map<number, AlertRuleRow>;
  readonly problems: Map<number, RuleProblem>;
  /** By the author. */
  readonly sights: Map<string, Sight>;
}

/** Rules that are built between two turns of the event loop. */
const TURN = 500;

/** The active rules. A change of rules and of rights builds the layers again that it is about. */
export class ActiveRules {
  /** Layers with rules that can be evaluated. */
  readonly layers = new Map<number, LayerRules>();
  readonly #rows = new Map<number, AlertRuleRow>();
  readonly #layers = new Map<number, Layer>();
  readonly #zones = new Map<number, UsedZone>();
  readonly #rulesOfZone = new Map<number, Set<number>>();
  /** Layers to build again. */
  readonly #changed = new Set<number>();
  /** Collections of the layers at the last build. */
  readonly #published = new Map<number, Collection | undefined>();
  #revision = -1;

  constructor(private readonly viewOf: AuthorView) {}

  /** Number of the last known change of rules and zones. */
  get revision(): number {
    return this.#revision;
  }

  get size(): number {
    return this.#rows.size;
  }

  problemOf(id: number): RuleProblem | undefined {
    const row = this.#rows.get(id);
    return row && this.#layers.get(row.layer_id)?.problems.get(id);
  }

  /** Reads what changed since the last time. */
  async load(store: Pick<AlertEvaluationStore, 'changes' | 'activeIds' | 'zones'>): Promise<void> {
    const { revision, rules, zoneIds, activeCount } = await store.changes(this.#revision);
    for (const row of rules) this.put(row);
    if (this.#rows.size !== activeCount) {
      const active = new Set(await store.activeIds());
      for (const id of this.#rows.keys()) if (!active.has(id)) this.#remove(id);
    }
    const changed = zoneIds.filter((id) => this.#rulesOfZone.has(id));
    const unknown = [...this.#rulesOfZone.keys()].filter((id) => !this.#zones.has(id));
    for (const zone of await store.zones([...new Set([...changed, ...unknown])])) this.putZone(zone);
    this.#revision = revision;
  }

  /** Takes an added or changed rule. */
  put(row: AlertRuleRow): void {
    this.#remove(row.id);
    if (!row.is_active) return;
    this.#rows.set(row.id, row);
    const layer = this.#layers.get(row.layer_id) ?? {
      rows: new Map(),
      problems: new Map(),
      sights: new Map(),
    };
    this.#layers.set(row.layer_id, layer);
    layer.rows.set(row.id, row);
    this.#changed.add(row.layer_id);
    if (row.zone_id === null) return;
    const users = this.#rulesOfZone.get(row.zone_id) ?? new Set();
    this.#rulesOfZone.set(row.zone_id, users.add(row.id));
  }

  putZone(zone: UsedZone): void {
    this.#zones.set(zone.id, zone);
    for (const id of this.#rulesOfZone.get(zone.id) ?? []) this.#changed.add(this.#rows.get(id)!.layer_id);
  }

  #remove(id: number): void {
    const row = this.#rows.get(id);
    if (!row) return;
    this.#rows.delete(id);
    this.#layers.get(row.layer_id)!.rows.delete(id);
    this.#changed.add(row.layer_id);
    if (row.zone_id === null) return;
    const users = this.#rulesOfZone.get(row.zone_id)!;
    users.delete(id);
    if (users.size > 0) return;
    this.#rulesOfZone.delete(row.zone_id);
    this.#zones.delete(row.zone_id);
  }

  /** Applies changes that the store has made to rules. */
  note(notes: readonly RuleNote[]): void {
    for (const { id, scan, problem, view } of notes) {
      const row = this.#rows.get(id);
      if (!row) continue;
      if (scan !== undefined) row.scan = scan;
      if (problem !== undefined) row.problem = problem;
      if (view !== undefined) row.view = view;
    }
  }

  /**
   * Builds the layers that changed. `mayDiffer`: the catalog or the rights of authors may have changed. Resolves with
   * the rules of the layers that were built.
   */
  async build(catalog: CatalogSnapshot, mayDiffer: boolean): Promise<AlertRuleRow[]> {
    if (mayDiffer)
      for (const [id, layer] of this.#layers)
        if (!this.#changed.has(id) && !(await this.#isSeen(id, layer, catalog))) this.#changed.add(id);
    this.#published.clear();
    for (const id of this.#layers.keys()) this.#published.set(id, catalog.byLayerId(id));
    const built: AlertRuleRow[] = [];
    for (const id of this.#changed) built.push(...(await this.#buildLayer(id, catalog)));
    return built;
  }

  /** Whether a catalog has the layers of the rules as at the last build. Each edit replaces the collection of its layer. */
  hasLayersOf(catalog: CatalogSnapshot): boolean {
    for (const [id, collection] of this.#published) if (catalog.byLayerId(id) !== collection) return false;
    return true;
  }

  /** Whether the authors can read now what they could when the layer was built. */
  async #isSeen(id: number, { sights }: Layer, catalog: CatalogSnapshot): Promise<boolean> {
    for (const before of sights.values()) {
      const now = await this.#findSight(id, before.row, catalog);
      if (now.isPublished !== before.isPublished) return false;
      if (!now.collection || !before.collection) {
        if (now.collection !== before.collection) return false;
      } else if (!isSameView(now.collection, before.collection, true)) return false;
    }
    return true;
  }

  async #findSight(layerId: number, row: AlertRuleRow, catalog: CatalogSnapshot): Promise<Sight> {
    const isPublished = hasFeatures(catalog.byLayerId(layerId));
    const collection = isPublished ? (await this.viewOf(row))?.byLayerId(layerId) : undefined;
    return { row, isPublished, collection: hasFeatures(collection) ? collection : undefined };
  }

  async #buildLayer(id: number, catalog: CatalogSnapshot): Promise<Iterable<AlertRuleRow>> {
    const { rows, problems, sights } = this.#layers.get(id)!;
    const published = catalog.byLayerId(id);
    const rules = hasFeatures(published) ? new LayerRules(published) : undefined;
    problems.clear();
    sights.clear();
    let count = 0;
    for (const row of [...rows.values()].sort((a, b) => a.id - b.id)) {
      if (++count % TURN === 0) await setImmediate();
      const sight = sights.get(row.author_json) ?? (await this.#findSight(id, row, catalog));
      sights.set(row.author_json, sight);
      const problem = rules ? this.#addRule(row, sight, rules) : 'layer-unpublished';
      if (problem) problems.set(row.id, problem);
    }
    if (rules && rules.rules.length > 0) this.layers.set(id, rules);
    else this.layers.delete(id);
    if (rows.size === 0) this.#layers.delete(id);
    this.#changed.delete(id);
    return rows.values();
  }

  #addRule(row: AlertRuleRow, { collection }: Sight, layer: LayerRules): RuleProblem | undefined {
    if (!collection) return 'unauthorized';
    const zone = row.zone_id === null ? undefined : this.#zones.get(row.zone_id);
    if (row.zone_id !== null && (!zone?.is_active || zone.area_json === null)) return 'zone-inactive';
    try {
      layer.add(compileOnce(row, collection), zone);
      return undefined;
    } catch (error) {
      if (error instanceof Cql2Error) return 'unauthorized';
      if (error instanceof ConditionsError) return 'invalid';
      throw error;
    }
  }
}

const known = new WeakMap<AlertRuleRow, { collection: VectorCollection; rule: CompiledRule }>();

/** Reads a rule again only if its author can read another layer. */
function compileOnce(row: AlertRuleRow, collection: VectorCollection): CompiledRule {
  const before = known.get(row);
  const isSame =
    before?.collection.title === collection.title && isSameView(before.collection, collection, false);
  if (before && isSame) return before.rule;
  const rule = compileRule(row, collection);
  known.set(row, { collection, rule });
  return rule;
}
