import type { AlertSeverity, Channel, TriggerType } from '../../core/alerts/alerts.js';
import { ConditionsError, parseConditions, type RuleConditions } from '../../core/alerts/conditions.js';
import type { ZoneArea } from '../../core/alerts/tasks.js';
import { hasFeatures } from '../../core/catalog/abilities.js';
import type { CatalogSnapshot, VectorCollection } from '../../core/catalog/collection.js';
import { Cql2Error, check } from '../../core/cql2/index.js';
import { TaskFailure } from '../../core/errors/failure.js';
import { CRS84 } from '../../core/geometry/crs.js';
import type { Principal } from '../../core/http/operation.js';
import { SERVICE_ID } from '../../core/kit/service.js';
import type { Pools } from '../../core/tasks/tasks.js';

/** A zone as a request describes it. */
export interface ZoneDraft {
  readonly zoneName: string;
  readonly serviceId: string;
  readonly wkt?: string | null | undefined;
  readonly srid?: number | null | undefined;
  readonly isActive?: boolean | undefined;
  readonly metadata?: Readonly<Record<string, string>> | null | undefined;
}

/** A rule as a request describes it. */
export interface RuleDraft {
  readonly ruleName: string;
  readonly serviceId: string;
  readonly layerId: number;
  readonly triggerType: TriggerType;
  readonly zoneId?: number | null | undefined;
  readonly conditionsJson?: string | undefined;
  readonly severity?: AlertSeverity | undefined;
  readonly editionRequired?: 'pro' | 'enterprise' | undefined;
  readonly cooldownSeconds?: number | undefined;
  readonly isActive?: boolean | undefined;
  readonly channels?: readonly Channel[] | null | undefined;
}

/** Why a draft is refused: the member, and what it must be. */
export interface DraftProblem {
  readonly name: string;
  readonly detail: string;
}

export const WGS84_SRID = 4326;

export interface CheckedRule {
  readonly collection: VectorCollection;
  readonly conditions: RuleConditions;
}

export interface DraftDeps {
  readonly pools: Pools;
  visible(principal: Principal): CatalogSnapshot;
  /** Whether edits of a collection reach the change feed. */
  hasEvents(collectionId: string): boolean;
  /** Whether a zone exists for the caller. */
  hasZone(zoneId: number, principal: Principal): Promise<boolean>;
}

/** Returns the area of a zone, or the problem of its text. Undefined without a text. */
export async function computeArea(
  { wkt, srid }: Pick<ZoneDraft, 'wkt' | 'srid'>,
  pools: Pools,
): Promise<ZoneArea | undefined | DraftProblem> {
  if (wkt === undefined || wkt === null) return undefined;
  try {
    return await pools.run('vector.zoneArea', { wkt, srid: srid ?? WGS84_SRID });
  } catch (error) {
    if (!(error instanceof TaskFailure) || error.code !== 'invalid-input') throw error;
    const [name, ...detail] = error.message.split(' ');
    return { name: name!, detail: detail.join(' ') };
  }
}

export const isProblem = (value: object | undefined): value is DraftProblem =>
  value !== undefined && 'detail' in value;

export const checkService = (serviceId: string): DraftProblem[] =>
  serviceId === SERVICE_ID
    ? []
    : [{ name: 'serviceId', detail: `must be '${SERVICE_ID}', the only service` }];

/** Checks a rule as its author can read the layer. `hasOwnZone`: the zone comes with the draft. */
export async function checkRule(
  draft: RuleDraft,
  hasOwnZone: boolean,
  principal: Principal,
  deps: DraftDeps,
): Promise<CheckedRule | DraftProblem[]> {
  const { layerId, triggerType, zoneId, conditionsJson = '{}' } = draft;
  const problems = checkService(draft.serviceId);
  const isThreshold = triggerType === 'threshold';
  const hasZoneId = zoneId !== undefined && zoneId !== null;
  if (isThreshold && (hasZoneId || hasOwnZone))
    problems.push({ name: 'zoneId', detail: 'must be absent: threshold rules have no zone' });
  if (!isThreshold && !hasZoneId && !hasOwnZone)
    problems.push({ name: 'zoneId', detail: `is required for ${triggerType} rules` });
  if (hasZoneId && !hasOwnZone && !isThreshold && !(await deps.hasZone(zoneId, principal)))
    problems.push({ name: 'zoneId', detail: 'must be the id of an existing zone' });
  const collection = deps.visible(principal).byLayerId(layerId);
  const layerProblem = checkLayer(collection, draft, deps);
  if (layerProblem) problems.push(layerProblem);
  const conditions = readConditions(conditionsJson, triggerType, problems);
  if (conditions && hasFeatures(collection)) problems.push(...checkFields(conditions, collection));
  return problems.length > 0 || !conditions || !hasFeatures(collection)
    ? problems
    : { collection, conditions };
}

function checkLayer(
  collection: ReturnType<CatalogSnapshot['byLayerId']>,
  { triggerType }: RuleDraft,
  { hasEvents }: DraftDeps,
): DraftProblem | undefined {
  const name = 'layerId';
  if (!collection) return { name, detail: 'must be the number of an existing layer' };
  if (!hasFeatures(collection)) return { name, detail: 'must be the number of a layer with features' };
  if (!hasEvents(collection.id))
    return { name, detail: 'must be the number of a layer that can be edited: this one reports no changes' };
  if (triggerType !== 'threshold' && collection.source.geometryColumn === '')
    return { name, detail: `must be the number of a layer with geometries for ${triggerType} rules` };
  return undefined;
}

function readConditions(
  text: string,
  trigger: TriggerType,
  problems: DraftProblem[],
): RuleConditions | undefined {
  try {
    return parseConditions(text, trigger);
  } catch (error) {
    if (!(error instanceof ConditionsError)) throw error;
    for (const problem of error.problems)
      problems.push({
        name: 'conditionsJson',
        detail: problem.replace(/^conditionsJson:? /, '').replace(/\.$/, ''),
      });
    return undefined;
  }
}

function checkFields(
  { filter, threshold, timeField }: RuleConditions,
  { source }: VectorCollection,
): DraftProblem[] {
  const expressions = [filter, threshold?.start, threshold?.clear];
  const name = 'conditionsJson';
  try {
    for (const expression of expressions) if (expression) check(expression, { ...source, filterCrs: CRS84 });
  } catch (error) {
    if (!(error instanceof Cql2Error)) throw error;
    return [{ name, detail: `must be conditions for this layer: ${error.message}` }];
  }
  const fields = source.fields.map((field) => field.name);
  return [threshold?.field, timeField].flatMap((field) =>
    field === undefined || fields.includes(field)
      ? []
      : [{ name, detail: `names the field ${field}; the layer has ${fields.join(', ')}` }],
  );
}
