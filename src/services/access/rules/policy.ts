import {
  ANY,
  DATA_OPERATIONS,
  type DataAccess,
  type FieldMask,
  isLayerNumber,
  listLayerNames,
  type RowPolicy,
  type RuleScope,
  SERVICE,
  TREATMENTS,
} from '../../../core/access/access.js';
import { isTreatable, MAX_TRUNCATED } from '../../../core/access/field-masks.js';
import { hasFeatures, hasStoredTiles, hasVectorTiles } from '../../../core/catalog/abilities.js';
import { type Collection, type VectorCollection, whole } from '../../../core/catalog/collection.js';
import type { LayerSettings } from '../../../core/catalog/layer-settings.js';
import {
  ALL_FEATURES,
  and,
  Cql2Error,
  combineWithOr,
  type Expression,
  equalsAny,
  NO_FEATURES,
  type Scalar,
} from '../../../core/cql2/index.js';
import { ANONYMOUS, claimValues, type Principal } from '../../../core/http/operation.js';
import type { Field, FieldType, Mask } from '../../../core/sources/vector-source.js';
import { readNumber, toInt64 } from '../../../core/values/exact-number.js';
import type { Access, AccessAction, AccessPolicy } from '../access.js';
import { permits } from '../permissions.js';
import { hiddenBySettings, hidesAtMost, hidesByChoice, hidesNothing, lackedParts } from './hidden.js';
import { hides } from './marker.js';
import { buildRowFilter, requireFilter } from './row-filter.js';
import { type CopySourceLayer, NO_RULES, type RuledLayer, type RuleSet } from './rules.js';

const NONE: Access = { allowed: false };
const ALL: Access = { allowed: true };

/** Permissions to execute processes, and to read their jobs. */
export const PROCESS_PERMISSIONS = { execute: 'processes:execute', read: 'processes:read' } as const;

/** Permission to write to every collection. */
const WRITE_FEATURES = 'features:write';

/** All permissions that a server with these operations requires. */
export function listPermissions(operations: readonly { readonly permission: string }[]): Set<string> {
  const permissions = operations.map(({ permission }) => permission);
  return new Set([...permissions, WRITE_FEATURES, ...Object.values(PROCESS_PERMISSIONS)]);
}

/** The access policy of a server, by the active rules. */
export function rulePolicy(
  rules: () => RuleSet,
  published: (id: string) => Collection | undefined = () => undefined,
  /** Settings of a layer, also of one that is switched off. */
  settingsOf: (id: string) => LayerSettings = () => ({}),
): AccessPolicy {
  return (principal, collection, action) => {
    const current = rules();
    const access = current.accessOf(collection);
    if (!isLayerInScope(principal, collection) || !mayRead(principal, collection, access)) return NONE;
    if (current.isLost(collection) && !isAdministrator(principal)) return NONE;
    if (action === 'write' && !mayWrite(principal, collection, access)) return NONE;
    if (isAdministrator(principal)) return ALL;
    const reads = (source: CopySourceLayer) => {
      const present = published(source.id);
      const isShown =
        present && source.isTable
          ? isShownBeside(present, collection, settingsOf(collection.id), current)
          : isShownAs(source, present, settingsOf);
      return isShown && readsAll(principal, present ?? source, current);
    };
    if (!current.sourcesOf(collection.id).every(reads)) return NONE;
    return restricted(principal, collection, current);
  };
}

/** Policy of a server without rules: all callers can read, and callers with a grant can write. */
export const defaultPolicy: AccessPolicy = rulePolicy(() => NO_RULES);

/** Key of the properties of a principal that rules evaluate. Principals with the same key read the same data. */
export function computeAudience(principal: Principal, { claimTypes }: RuleSet): string {
  const { kind, permissions, roles, claims, layers } = principal;
  const compared = claims && claimTypes.map((type) => claimValues(claims, type));
  return JSON.stringify([kind === 'anonymous', permissions, roles, compared, layers]);
}

/** Whether something of a collection is kept from those without credentials. */
export function isKeptFromStrangers(policy: AccessPolicy): (collection: Collection) => boolean {
  return (collection) => {
    const { allowed, filter, fields } = policy(ANONYMOUS, collection, 'read');
    return !allowed || filter !== undefined || fields !== undefined;
  };
}

/** Whether no rule restricts the principal. */
export function isAdministrator({ permissions }: Principal): boolean {
  return permissions.includes(ANY);
}

/** Whether a layer exists for the caller: callers of tenants and embed keys may be bound to certain layers. */
export function isLayerInScope({ layers }: Principal, { id, layerId }: RuledLayer): boolean {
  return layers === undefined || listLayerNames({ id, layerId }).some((name) => layers.includes(name));
}

function mayRead(principal: Principal, collection: RuledLayer, access: DataAccess): boolean {
  if (access.allowAnonymous || isAdministrator(principal)) return true;
  if (access.allowedRoles.length > 0) return hasRole(principal, access.allowedRoles);
  return holdsAny(principal, collection);
}

function mayWrite(principal: Principal, collection: RuledLayer, access: DataAccess): boolean {
  if (access.allowAnonymousWrite || isAdministrator(principal)) return true;
  if (access.allowedWriteRoles.length > 0) return hasRole(principal, access.allowedWriteRoles);
  return holds(principal, collection, 'write');
}

function hasRole({ roles = [] }: Principal, names: readonly string[]): boolean {
  return names.some((name) => roles.includes(name));
}

/**
 * Whether the caller has a grant. To write, it needs `features:write`, `write:default/` with the layer (its number or
 * the collection's id), `write:default`, or `write:` with the collection's id. The same applies to `read`.
 */
function holds(
  principal: Principal,
  { id, layerId, service = SERVICE }: RuledLayer,
  operation: 'read' | 'write',
): boolean {
  if (principal.permissions.length === 0) return false;
  // A label without a service names an id.
  const own = isLayerNumber(id) ? [] : [`${operation}:${id}`];
  const named = listLayerNames({ id, layerId }).map((name) => `${operation}:${service}/${name}`);
  return [`features:${operation}`, ...own, ...named].some((label) => permits(principal, label));
}

/** Whether a source shows all callers the data of the copy. The source's settings can hide more. */
function isShownAs(
  { id, hidden }: CopySourceLayer,
  present: Collection | undefined,
  settingsOf: (id: string) => LayerSettings,
): boolean {
  if (hidden === undefined) return true;
  const lacked = lackedParts(hidden);
  if (!present) return !hidesNothing(lacked) || !hides(settingsOf(id));
  return !present.isDisabled && hidesAtMost(hiddenBySettings(present), lacked);
}

/**
 * Whether a second layer of a table shows at most the data that its settings permit, given the settings of the first
 * layer.
 */
function isShownBeside(
  first: Collection,
  second: Collection,
  settings: LayerSettings,
  rules: RuleSet,
): boolean {
  if (first.isDisabled) return false;
  const chosen = rules.chosenOf(second.id);
  return hidesByChoice(hiddenBySettings(first), hiddenBySettings(second), settings, chosen);
}

/** Whether the caller may read something of a layer, which need not be published. */
export function mayReadSome(principal: Principal, layer: RuledLayer, rules: RuleSet): boolean {
  if (!isLayerInScope(principal, layer) || !mayRead(principal, layer, rules.accessOf(layer))) return false;
  return !rules.isLost(layer) || isAdministrator(principal);
}

/** Whether the caller has the right to all rows and attributes of a layer, which need not be published. */
export function hasWhole(
  principal: Principal,
  layer: RuledLayer,
  action: AccessAction,
  rules: RuleSet,
): boolean {
  if (!isLayerInScope(principal, layer)) return false;
  if (isAdministrator(principal)) return true;
  if (action === 'write' && !mayWrite(principal, layer, rules.accessOf(layer))) return false;
  return [layer, ...rules.sourcesOf(layer.id)].every((one) => readsAll(principal, one, rules));
}

/** Whether the caller can read all of a layer. The layer can be unpublished. */
function readsAll(principal: Principal, layer: RuledLayer, rules: RuleSet): boolean {
  if (rules.isLost(layer) || !mayRead(principal, layer, rules.accessOf(layer))) return false;
  return [rules.rowPolicies(layer), rules.masks(layer)].every(
    (all) => applying<RuleScope>(all, principal, layer).length === 0,
  );
}

function restricted(principal: Principal, published: Collection, rules: RuleSet): Access {
  const rows = applying(rules.rowPolicies(published), principal, published);
  const masks = applying(rules.masks(published), principal, published);
  if (rows.length === 0 && masks.length === 0) return ALL;
  // Rules about rows and fields cannot be kept in stored data: such a layer is closed.
  if (!hasFeatures(published))
    return rows.length > 0 || masks.some((mask) => mayHold(published, mask)) ? NONE : ALL;
  // Policies can use fields that the settings of the layer hide from all callers.
  const collection = whole(published);
  const filter = rowFilter(principal, collection, rows);
  if (filter === 'unsatisfiable' || masks.some((mask) => isLost(mask, collection))) return NONE;
  return {
    allowed: true,
    filter,
    ...(masks.length === 0 ? {} : fieldsBehind(masks, collection, rules.hashKey)),
  };
}

/**
 * Whether the tiles of an archive can contain the attribute of a mask. Metadata without attributes proves no absence.
 */
function mayHold(collection: Collection, { attribute }: FieldMask): boolean {
  if (!hasStoredTiles(collection) || !hasVectorTiles(collection)) return false;
  const { vectorLayers } = collection;
  const holds = ({ fields }: { fields: Record<string, string> }) =>
    Object.hasOwn(fields, attribute) || Object.keys(fields).length === 0;
  return vectorLayers.length === 0 || vectorLayers.some(holds);
}

/**
 * The rules of a layer that apply to a caller: rules of `*`, of its roles, and of `anonymous`. The last apply only if
 * the caller has neither a role with rules for the layer nor a grant for it.
 */
function applying<R extends RuleScope>(
  rules: readonly R[],
  principal: Principal,
  layer: RuledLayer,
): readonly R[] {
  const { roles = [] } = principal;
  const own = rules.filter(({ role }) => roles.includes(role));
  const isStranger = own.length === 0 && !holdsAny(principal, layer);
  return rules.filter(
    ({ role }) => role === ANY || roles.includes(role) || (isStranger && role === 'anonymous'),
  );
}

const holdsAny = (principal: Principal, collection: RuledLayer) =>
  DATA_OPERATIONS.some((operation) => holds(principal, collection, operation));

/**
 * Filter of the rows that exist for a caller. All policies of one of its roles must permit a row, and also all
 * policies for `*`. Roles without a policy for the layer permit no further rows: a caller with two roles, one of them
 * restricted, is restricted.
 */
function rowFilter(
  principal: Principal,
  collection: VectorCollection,
  policies: readonly RowPolicy[],
): Expression | undefined | 'unsatisfiable' {
  const byRole = new Map<string, Expression[]>();
  for (const policy of policies) {
    const passes = buildPassCondition(principal, collection, policy);
    // A column was dropped, renamed or is of another type: the layer closes, it never opens.
    if (passes === undefined) return 'unsatisfiable';
    byRole.set(policy.role, [...(byRole.get(policy.role) ?? []), passes]);
  }
  const everybody = and(...(byRole.get(ANY) ?? []));
  byRole.delete(ANY);
  const roles = [...byRole.values()].map((conditions) => and(...conditions) ?? ALL_FEATURES);
  return and(everybody, roles.length > 0 ? combineWithOr(roles) : undefined);
}

/** Condition of a policy on rows. Undefined if the policy does not fit the collection. */
function buildPassCondition(
  { claims = {} }: Principal,
  collection: VectorCollection,
  policy: RowPolicy,
): Expression | undefined {
  const { filter, claimType } = policy;
  const field = findField(policy, collection);
  if (field === 'unusable') return undefined;
  const own = field && condition(policy, field, claimValues(claims, claimType ?? ''));
  if (!filter) return own;
  try {
    const passes = buildRowFilter(filter, collection, claims, findScalar);
    return and(own, passes) ?? ALL_FEATURES;
  } catch (error) {
    if (error instanceof Cql2Error) return undefined;
    throw error;
  }
}

/** The attribute of a policy that has one. */
function findField({ attribute }: RowPolicy, { source }: VectorCollection): Field | undefined | 'unusable' {
  if (attribute === null) return undefined;
  const field = source.fields.find(({ name }) => name === attribute);
  return field && COMPARABLE.has(field.type) ? field : 'unusable';
}

function condition(
  { attribute, comparison }: RowPolicy,
  field: Field,
  values: readonly string[],
): Expression {
  if (comparison === 'equals' && values.length !== 1) return NO_FEATURES;
  const scalars = [...new Set(values.map((value) => findScalar(field, value)))];
  return equalsAny(
    attribute!,
    scalars.filter((value) => value !== undefined),
  );
}

/** The value of a claim as the field has it; undefined when it cannot be one of its values. */
function findScalar({ type }: Field, text: string): Scalar | undefined {
  // Strings compared with instants are read as instants.
  if (type === 'string' || type === 'date' || type === 'date-time') return text;
  if (type === 'boolean') return text === 'true' || text === 'false' ? text === 'true' : undefined;
  const value = NUMBER.test(text) ? readNumber(text) : undefined;
  if (value === undefined || type !== 'integer') return value;
  return toInt64(value) === undefined ? undefined : value;
}

const NUMBER = /^-?\d+(\.\d+)?$/;
/** Types of the fields that policies for rows can compare with claims. */
export const COMPARABLE: ReadonlySet<FieldType> = new Set(['string', 'integer', 'number', 'boolean']);

/**
 * Whether the attribute of a mask for exactly this layer is missing: under another name all callers could read it.
 */
export function isLost({ layer, attribute }: FieldMask, { source }: VectorCollection): boolean {
  return layer !== ANY && !source.fields.some(({ name }) => name === attribute);
}

/** Whether a policy can be applied to the rows of a collection. */
export function isUsable(policy: RowPolicy, collection: VectorCollection): boolean {
  if (findField(policy, collection) === 'unusable') return false;
  try {
    if (policy.filter) requireFilter(policy.filter, collection);
    return true;
  } catch (error) {
    if (error instanceof Cql2Error) return false;
    throw error;
  }
}

function fieldsBehind(
  policies: readonly FieldMask[],
  { source }: VectorCollection,
  key: string | undefined,
): Pick<Access, 'fields' | 'masks'> {
  const fields: string[] = [];
  const masks = new Map<string, Mask>();
  for (const field of source.fields) {
    const own = policies.filter(({ attribute }) => attribute === field.name);
    const mask = own.length === 0 ? undefined : findMask(field, own, key);
    if (own.length === 0) fields.push(field.name);
    else if (mask) masks.set(field.name, mask);
  }
  return { fields, ...(masks.size === 0 ? {} : { masks }) };
}

/**
 * The most restrictive mask of several policies. Undefined: the field is hidden. A field is also hidden if its type
 * does not support the treatment.
 */
function findMask(
  { type }: Field,
  policies: readonly FieldMask[],
  key: string | undefined,
): Mask | undefined {
  const treatments = policies.map(({ treatment = 'hide' }) => treatment);
  const treatment = TREATMENTS.find((one) => treatments.includes(one));
  if (treatment === undefined || treatment === 'hide' || !isTreatable(type, treatment)) return undefined;
  if (treatment === 'null') return { treatment };
  if (treatment === 'hash') return key === undefined ? undefined : { treatment, key };
  return { treatment, length: Math.min(...policies.map(({ length }) => length ?? MAX_TRUNCATED)) };
}
