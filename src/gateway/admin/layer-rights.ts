import { ANY, listLayerNames, type RuleScope, SERVICE } from '../../core/access/access.js';
import { CatalogSnapshot, type Collection } from '../../core/catalog/collection.js';
import { ApiError, notFound } from '../../core/errors/errors.js';
import type { Principal } from '../../core/http/operation.js';
import {
  type AccessAction,
  type AccessPolicy,
  isUnrestricted,
  wholeRightError,
} from '../../services/access/access.js';
import { hides, serviceAccessId } from '../../services/access/rules/marker.js';
import { hasWhole, isAdministrator, isLayerInScope } from '../../services/access/rules/policy.js';
import { requireNoTenant } from '../../services/access/rules/restrictions.js';
import type { AccessRules, CopySourceLayer, RuledLayer, RuleSet } from '../../services/access/rules/rules.js';
import type { Layers } from '../../services/catalog/layers/layers.js';
import type { StoredLayer } from '../../services/catalog/publish/layers.js';

/**
 * Rights to layers that management operations require in addition to their permissions. To change what others may see
 * of a layer, the caller must be allowed to read all of it, and to replace a layer, to write all of it. Otherwise a
 * management permission would open data that its holder may not access. The rule applies to every change, even if it
 * narrows access: whether a filter or mask loosens access cannot be decided in general. Management permissions for
 * single layers would double the vocabulary, and their holder could still open a layer that it cannot read.
 */

/** Services that decide about rights, of management operations and of manifests. */
export interface Rights {
  readonly access: AccessPolicy;
  catalog(): CatalogSnapshot;
}

/** Throws `forbidden` unless the caller has all rows and attributes of the layers, `not-found` outside of its tenant. */
export function requireWhole(
  collections: readonly Collection[],
  action: AccessAction,
  principal: Principal,
  { access }: Pick<Rights, 'access'>,
): void {
  for (const collection of collections) {
    if (!isUnrestricted(access(principal, collection, action))) refuseLayer(collection, action, principal);
  }
}

/** Same as `requireWhole`, for layers as the rules know them: a disabled layer is not in the catalog. */
export function requireWholeLayers(
  layers: readonly RuledLayer[],
  action: AccessAction,
  principal: Principal,
  rules: Pick<AccessRules, 'current'>,
): void {
  const refused = layers.find((layer) => !hasWhole(principal, layer, action, rules.current));
  if (refused) refuseLayer(refused, action, principal);
}

/**
 * Same as `requireWholeLayers`, for the layers of a table that is published again. Unless the caller is an
 * administrator, their settings must not hide anything, because the new layer has separate settings.
 */
export function requireSources(
  sources: readonly CopySourceLayer[],
  principal: Principal,
  { rules, layers }: { rules: Pick<AccessRules, 'current'>; layers: Pick<Layers, 'settingsOf'> },
): void {
  requireWholeLayers(sources, 'read', principal, rules);
  if (isAdministrator(principal)) return;
  const hiding = sources.find((source) => source.isTable && hides(layers.settingsOf(source)));
  if (hiding)
    throw new ApiError(
      'forbidden',
      `Settings of layer '${hiding.id}' hide rows or fields of this table. Only an administrator can publish it again.`,
    );
}

function refuseLayer(layer: RuledLayer, action: AccessAction, principal: Principal): never {
  if (!isLayerInScope(principal, layer)) throw notFound('layer', layer.id);
  throw wholeRightError(layer.id, action);
}

/** Throws `forbidden` for a rule for layers of which the caller may not read all, and `not-found` outside of its tenant. */
export function requireRuleRight(rule: RuleScope, principal: Principal, rights: Rights): void {
  if (rule.layer === ANY) requireNoTenant(principal);
  requireWhole(listRuleLayers(rule, rights.catalog()), 'read', principal, rights);
}

/** Whether all layers that a policy for rows or a mask is about exist for a caller, whom a tenant may limit to some. */
export function isRuleWithin(rule: RuleScope, principal: Principal, catalog: CatalogSnapshot): boolean {
  return listRuleLayers(rule, catalog).every((layer) => isLayerInScope(principal, layer));
}

/** Targets that a caller may name in rules: roles, and the layers that exist for the caller. */
export function ruleTargets<R>(
  principal: Principal,
  { rules, catalog }: { rules: R } & Pick<Rights, 'catalog'>,
) {
  if (principal.layers === undefined) return { rules, catalog };
  const { collections, quarantined, generation } = catalog();
  const within = collections.filter((one) => isLayerInScope(principal, one));
  return { rules, catalog: () => new CatalogSnapshot(within, quarantined, generation) };
}

/** A published table as rules know it. */
export const ruledLayer = ({ id, body: { layerId, serviceName } }: StoredLayer): RuledLayer => ({
  id,
  layerId,
  service: serviceName,
});

/** Same as `requireWhole`, for collections that an import replaces. Ids without a collection are allowed. */
export function requireReplaceable(
  ids: readonly string[],
  principal: Principal,
  { access, catalog }: Rights,
): void {
  const wanted = new Set(ids.map((id) => id.toLowerCase()));
  const replaced = catalog().collections.filter(({ id }) => wanted.has(id.toLowerCase()));
  requireWhole(replaced, 'write', principal, { access });
}

/** Same as `requireWhole`, for layers given by their numbers. */
export function requireLayers(
  layerIds: readonly number[],
  action: AccessAction,
  principal: Principal,
  { access, catalog }: Rights,
): void {
  const present = layerIds.flatMap((id) => catalog().byLayerId(id) ?? []);
  requireWhole(present, action, principal, { access });
}

/** Layers that rules mean by a name. */
const layersNamed = (name: string, { collections }: CatalogSnapshot): Collection[] =>
  collections.filter((one) => listLayerNames(one).includes(name));

/**
 * Layers that a row policy or a mask applies to. A rule for a removed layer is treated as one for all layers of its
 * service.
 */
export function listRuleLayers(
  { service, layer }: Pick<RuleScope, 'service' | 'layer'>,
  catalog: CatalogSnapshot,
): Collection[] {
  const named = layer === ANY ? [] : layersNamed(layer, catalog);
  if (named.length > 0) return named;
  return catalog.collections.filter(({ service: own = SERVICE }) => service === ANY || own === service);
}

/** Layers whose access is stored under an id: one layer, or all layers without settings of their own. */
export function listAccessLayers(
  id: string,
  rules: Pick<RuleSet, 'accessIdOf'>,
  catalog: CatalogSnapshot,
): Collection[] {
  const named = layersNamed(id, catalog);
  if (named.length > 0) return named;
  return catalog.collections.filter(
    (one) =>
      rules.accessIdOf(one) === id ||
      (serviceAccessId(one.service ?? SERVICE) === id && rules.accessIdOf(one) === ANY),
  );
}
