import {
  ANY,
  listLayerNames,
  type RowPolicy,
  type RuleScope,
  type Treatment,
} from '../../core/access/access.js';
import { isTreatable } from '../../core/access/field-masks.js';
import { hasFeatures } from '../../core/catalog/abilities.js';
import { type CatalogSnapshot, type VectorCollection, whole } from '../../core/catalog/collection.js';
import { unreadNamed } from '../../core/catalog/unread.js';
import { Cql2Error } from '../../core/cql2/index.js';
import { type BodyProblem, problem, refuse, requireSound } from '../../core/http/body-problems.js';
import type { Field } from '../../core/sources/vector-source.js';
import { COMPARABLE } from '../../services/access/rules/policy.js';
import { requireFilter } from '../../services/access/rules/row-filter.js';

/** Role of callers without credentials, for policies. */
export const ANONYMOUS_ROLE = 'anonymous';

/**
 * Checks the layer and the attribute of a rule: without them it would protect nothing. Roles and services may be made later.
 * `fits` returns why a rule cannot name a field. It is called for the layer, or for each layer with the field if the rule is
 * for all layers. Rules can also name fields that the settings of a layer hide.
 */
function requireRule(
  rule: Rule,
  { catalog }: RuleTargets,
  fits: Fits = () => undefined,
  suits: Suits = () => undefined,
): void {
  requireSound([
    rule.layer === ANY
      ? anyLayerProblem(rule, catalog(), fits, suits)
      : layerProblem(rule, catalog(), fits, suits),
  ]);
}

/** Same as `requireRule`, for a row policy. */
export function requireRowPolicy(
  policy: RuleScope & Pick<RowPolicy, 'attribute' | 'claimType' | 'filter'>,
  targets: RuleTargets,
): void {
  requireCondition(policy);
  const fits = ({ type }: Field) =>
    COMPARABLE.has(type) ? undefined : `is of type ${type}, which claims are not compared with`;
  requireRule(policy, targets, fits, (collection) => filterProblem(policy.filter ?? null, collection));
}

/** An attribute and a claim, or a filter, or all of them. */
function requireCondition({
  attribute,
  claimType,
  filter,
}: Pick<RowPolicy, 'attribute' | 'claimType' | 'filter'>): void {
  if (filter && attribute === null && claimType === null) return;
  requireSound([
    attribute === null ? problem('attribute', 'is required, unless the rule has only a filter') : undefined,
    claimType === null ? problem('claimType', 'is required, unless the rule has only a filter') : undefined,
  ]);
}

function filterProblem(filter: string | null, collection: VectorCollection): BodyProblem | undefined {
  if (filter === null) return undefined;
  try {
    requireFilter(filter, collection);
    return undefined;
  } catch (error) {
    if (!(error instanceof Cql2Error)) throw error;
    return problem('filter', error.message);
  }
}

/** Same as `requireRule`, for a mask. */
export function requireMask(
  mask: RuleScope & { attribute: string; treatment: Treatment; length: number | null },
  targets: RuleTargets,
): void {
  const { treatment, length } = mask;
  const isTruncated = treatment === 'truncate';
  if (isTruncated !== (length !== null))
    refuse(problem('length', isTruncated ? 'is required' : 'is only for truncate'));
  requireRule(mask, targets, ({ type }) =>
    isTreatable(type, treatment) ? undefined : `is of type ${type}, which ${treatment} is not for`,
  );
}

/** Where the resources that rules name are looked up. */
export interface RuleTargets {
  catalog(): CatalogSnapshot;
}

type Rule = RuleScope & { readonly attribute: string | null };
type Fits = (field: Field) => string | undefined;
/** A further check of a rule against a layer. */
type Suits = (collection: VectorCollection) => BodyProblem | undefined;

function layerProblem(
  { layer, attribute }: Rule,
  catalog: CatalogSnapshot,
  fits: Fits,
  suits: Suits,
): BodyProblem | undefined {
  const published = catalog.collections.find((one) => listLayerNames(one).includes(layer));
  if (!published) {
    const unread = unreadNamed(catalog, layer);
    if (unread) throw unread;
    return problem('layer', 'must be a published layer');
  }
  if (!hasFeatures(published)) return problem('layer', 'must be a layer with features');
  const collection = whole(published);
  if (attribute === null) return suits(collection);
  const field = findField(collection, attribute);
  if (!field) return problem('attribute', `must be an attribute of '${collection.id}'`);
  const misfit = fits(field);
  return misfit === undefined ? suits(collection) : problem('attribute', misfit);
}

/** A rule for all layers closes those without the attribute, so at least one layer must have it. */
function anyLayerProblem(
  { attribute }: Rule,
  catalog: CatalogSnapshot,
  fits: Fits,
  suits: Suits,
): BodyProblem | undefined {
  const vectors = catalog.vectors.map(whole);
  const problems = vectors.map(suits);
  const unsuited = problems.includes(undefined) ? undefined : problems[0];
  if (attribute === null) return unsuited;
  const fields = vectors.flatMap((collection) => findField(collection, attribute) ?? []);
  if (fields.length === 0) return problem('attribute', 'must be an attribute of a layer');
  const misfit = fields.map(fits).find((one) => one !== undefined);
  return misfit === undefined ? unsuited : problem('attribute', misfit);
}

const findField = ({ source }: VectorCollection, attribute: string) =>
  source.fields.find(({ name }) => name === attribute);
