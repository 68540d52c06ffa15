import { createHash } from 'node:crypto';
import type { CatalogSnapshot, Collection } from '../../core/catalog/collection.js';
import { ApiError } from '../../core/errors/errors.js';
import { type FieldError, prefixField } from '../../core/errors/field-errors.js';
import { problem, requireSound } from '../../core/http/body-problems.js';
import { memberBinder } from '../../core/http/member-binder.js';
import type { Principal } from '../../core/http/operation.js';
import { compileOnUse } from '../../core/http/schema-check.js';
import { isExactNumber, roundExactNumbers } from '../../core/values/exact-number.js';
import { stringifyExactly } from '../../core/values/json.js';
import type { Services } from '../admin/deps.js';
import type { Owner } from '../admin/owner.js';
import type { Entry, KindDeps, ManifestKind, Targets } from './kind.js';
import { MANIFEST_KINDS, requireRight } from './kinds.js';
import { isAbout, listDisabledCollections, mapLayersToServices, namesToMake } from './makes.js';

/** One object of a manifest. */
export interface Resource {
  readonly apiVersion?: string | undefined;
  readonly kind: string;
  readonly metadata: { readonly name: string };
  readonly spec: object;
}

export const API_VERSION = 'graticule/v1';

type Action = 'created' | 'updated' | 'deleted' | 'skipped';

/** The change to one object, with its state before and after. */
export interface ManifestStep {
  readonly action: Action;
  readonly kind: ManifestKind;
  readonly name: string;
  /** The previous owner; null for a new object. */
  readonly owner: Owner | null;
  readonly before: object | undefined;
  readonly after: object | undefined;
  /** Index in the manifest; undefined for an object that is removed. */
  readonly place: number | undefined;
  /** Data that the kind needs for writing. */
  prepared?: unknown;
  /** The object names one that must be created before this object can be checked. */
  isUnchecked?: boolean;
}

/** Fingerprints of the objects that were last applied, by kind and name. */
export interface AppliedState {
  readonly objects: Readonly<Record<string, string>>;
}
export const APPLIED_KIND = 'manifest';
export const APPLIED = 'applied';

const checks = new Map(MANIFEST_KINDS.map(({ kind, schema }) => [kind, compileOnUse(schema)]));
const binders = new Map(MANIFEST_KINDS.map(({ kind, schema }) => [kind, memberBinder(schema)]));
const kinds = new Map(MANIFEST_KINDS.map((kind) => [kind.kind, kind]));
export const formatObjectKey = (kind: string, name: string) => `${kind}/${name}`;

/** All objects of the state that manifests can hold, ordered by kind and name. */
export async function listResources(deps: KindDeps): Promise<Resource[]> {
  const lists = await Promise.all(
    MANIFEST_KINDS.map(async (kind) => {
      const entries = await kind.list(deps);
      return entries.sort((a, b) => (a.name < b.name ? -1 : 1)).map((entry) => resource(kind, entry));
    }),
  );
  return lists.flat();
}

const resource = ({ kind }: ManifestKind, { name, spec }: Entry): Resource => ({
  apiVersion: API_VERSION,
  kind,
  metadata: { name },
  spec: sorted(spec) as object,
});

/** An object, and where it is changed. */
export interface OwnedObject {
  readonly kind: string;
  readonly name: string;
  readonly owner: Owner;
}

/** All objects and who owns each: what a manifest made or changed last is its own. */
export async function owners(deps: KindDeps, current: readonly Resource[]): Promise<OwnedObject[]> {
  const [applied, configured] = await Promise.all([lastApplied(deps), configuration(deps)]);
  const others = current.map(
    ({ kind, metadata: { name } }): OwnedObject => ({
      kind,
      name,
      owner: chooseOwner(formatObjectKey(kind, name), applied),
    }),
  );
  return [...configured, ...others];
}

const chooseOwner = (key: string, applied: AppliedState['objects'] | null): Owner =>
  applied && Object.hasOwn(applied, key) ? 'manifest' : 'api';

/** Objects of the configuration. */
async function configuration(deps: KindDeps): Promise<OwnedObject[]> {
  const lists = await Promise.all(
    MANIFEST_KINDS.map(async ({ kind, configured }) =>
      ((await configured?.(deps)) ?? [])
        .sort()
        .map((name): OwnedObject => ({ kind, name, owner: 'configuration' })),
    ),
  );
  return lists.flat();
}

/** Objects that differ from their last applied state, except those that the configuration has taken over. */
export async function drifted(
  deps: KindDeps,
  current: readonly Resource[],
): Promise<{ kind: string; name: string }[]> {
  const [applied, configured] = await Promise.all([lastApplied(deps), configuration(deps)]);
  const taken = new Set(configured.map(({ kind, name }) => formatObjectKey(kind, name)));
  const hashes = new Map(
    current.map((one) => [
      formatObjectKey(one.kind, one.metadata.name),
      computeSpecFingerprint(one.kind, one.spec),
    ]),
  );
  return Object.entries(applied ?? {})
    .filter(([key, hash]) => hashes.get(key) !== hash && !taken.has(key))
    .map(([key]) => ({ kind: key.slice(0, key.indexOf('/')), name: key.slice(key.indexOf('/') + 1) }));
}

/** Fingerprints of the objects that were last applied, by kind and name; null before the first time. */
export async function lastApplied({ state }: Services<'state'>): Promise<AppliedState['objects'] | null> {
  return (await state.documents.get<AppliedState>(APPLIED_KIND, APPLIED))?.body.objects ?? null;
}

interface Scope {
  /** Removes objects that the previous manifest created and this one does not contain. */
  readonly prune: boolean;
  /** Further objects to remove, such as `Layer/countries`. Missing objects count as removed. */
  readonly remove?: readonly string[];
  readonly principal: Principal;
}

/** Steps that bring the state to these objects. Throws 400 with all problems, and 403. */
export async function planChanges(
  given: readonly Resource[],
  { prune, remove = [], principal }: Scope,
  deps: KindDeps,
): Promise<ManifestStep[]> {
  const asked = given.map(bindSpec);
  requireForm(asked);
  const current = await listResources(deps);
  const before = new Map(current.map((one) => [formatObjectKey(one.kind, one.metadata.name), one.spec]));
  const applied = await lastApplied(deps);
  const steps = asked.map(({ kind, metadata: { name }, spec }, place): ManifestStep => {
    const old = before.get(formatObjectKey(kind, name));
    const isSame =
      old !== undefined && computeSpecFingerprint(kind, old) === computeSpecFingerprint(kind, spec);
    const action = isSame ? 'skipped' : old === undefined ? 'created' : 'updated';
    const owner = old === undefined ? null : chooseOwner(formatObjectKey(kind, name), applied);
    return { action, kind: kinds.get(kind)!, name, owner, before: old, after: spec, place };
  });
  const former = prune ? Object.keys(applied ?? {}) : [];
  const removed = gone([...former, ...remove], asked, before).map((step) => ({
    ...step,
    owner: chooseOwner(formatObjectKey(step.kind.kind, step.name), applied),
    place: undefined,
  }));
  const all = inOrder([...steps, ...removed]);
  await requireMeaning(all, asked, principal, deps);
  return all;
}

/** Objects to remove: those with these names that exist and are not in the manifest. */
function gone(
  keys: readonly string[],
  asked: readonly Resource[],
  before: ReadonlyMap<string, object>,
): Omit<ManifestStep, 'owner' | 'place'>[] {
  const stays = new Set(asked.map(({ kind, metadata }) => formatObjectKey(kind, metadata.name)));
  return [...new Set(keys)]
    .filter((key) => !stays.has(key) && before.has(key))
    .flatMap((key) => {
      const kind = kinds.get(key.slice(0, key.indexOf('/')));
      const name = key.slice(key.indexOf('/') + 1);
      return kind
        ? [{ action: 'deleted' as const, kind, name, before: before.get(key), after: undefined }]
        : [];
    });
}

/** The resource with the members of its spec as its kind spells them. */
function bindSpec(resource: Resource): Resource {
  const bind = binders.get(resource.kind);
  if (!bind) return resource;
  const spec = bind(resource.spec) as object;
  const { normalize } = kinds.get(resource.kind)!;
  const isObject = typeof spec === 'object' && spec !== null && !Array.isArray(spec);
  return { ...resource, spec: normalize && isObject ? normalize(spec) : spec };
}

function inOrder(steps: readonly ManifestStep[]): ManifestStep[] {
  return MANIFEST_KINDS.flatMap((kind) => steps.filter((step) => step.kind === kind));
}

/** Throws 400 for objects that do not match their schemas. */
function requireForm(asked: readonly Resource[]): void {
  const places = collectPlaces(asked);
  const errors: FieldError[] = asked.flatMap(({ kind, metadata, spec, apiVersion }, n) => {
    const check = checks.get(kind);
    if (!check) return [problem(`resources/${n}/kind`, `must be one of ${[...kinds.keys()].join(', ')}`)];
    if (apiVersion !== undefined && apiVersion !== API_VERSION)
      return [problem(`resources/${n}/apiVersion`, `must be ${API_VERSION}`)];
    const twin = places.get(formatObjectKey(kind, metadata.name))!;
    if (twin < n)
      return [
        problem(`resources/${n}/metadata/name`, `is also the name of resource ${twin}. Use each name once`),
      ];
    return check(roundExactNumbers(spec)).map((error) => prefixField(`/resources/${n}/spec`, error));
  });
  requireSound(errors);
}

/** First position of each object, by kind and name. */
function collectPlaces(asked: readonly Resource[]): ReadonlyMap<string, number> {
  const places = new Map<string, number>();
  for (const [n, { kind, metadata }] of asked.entries()) {
    const key = formatObjectKey(kind, metadata.name);
    if (!places.has(key)) places.set(key, n);
  }
  return places;
}

/**
 * Throws 400 if an object names something that is neither in the state nor in the manifest, and 403 if the caller
 * lacks permission.
 */
async function requireMeaning(
  steps: readonly ManifestStep[],
  asked: readonly Resource[],
  principal: Principal,
  deps: KindDeps,
): Promise<void> {
  const stored = await deps.connections.list();
  const connections = new Map(stored.map((one) => [one.body.name, one]));
  const collections = new Map<string, Collection>();
  const services = mapLayersToServices(asked);
  const targets: Targets = {
    services,
    zones: new Set(asked.flatMap(({ kind, metadata }) => (kind === 'AlertZone' ? [metadata.name] : []))),
    switchedOff: listDisabledCollections(asked),
    principal,
    connections,
    collections,
    catalog: catalogWith(deps.catalog(), collections),
  };
  const places = collectPlaces(asked);
  const configured = new Set((await configuration(deps)).map((one) => formatObjectKey(one.kind, one.name)));
  const makes = namesToMake(steps, services, deps.catalog());
  const errors: FieldError[] = [];
  for (const step of steps) {
    const { action, kind, name, after } = step;
    if (action === 'skipped') continue;
    requireRight(kind, principal);
    await kind.requireRight?.(name, { before: step.before, after }, principal, deps);
    if (!after) continue;
    const n = places.get(formatObjectKey(kind.kind, name));
    if (configured.has(formatObjectKey(kind.kind, name))) {
      errors.push(
        problem(`resources/${n}/metadata/name`, 'is defined in the configuration. Change it there'),
      );
      continue;
    }
    try {
      step.prepared = await kind.prepare?.({ name, spec: after }, targets, deps);
    } catch (error) {
      if (!(error instanceof ApiError) || error.code !== 'invalid-body') throw error;
      if (makes.some((one) => isAbout(step, one))) step.isUnchecked = true;
      else errors.push(...(error.errors ?? []).map((one) => prefixField(`/resources/${n}`, one)));
    }
  }
  requireSound(errors);
}

/** The catalog with these additional collections. A new catalog is created only when the list grows. */
function catalogWith(
  catalog: CatalogSnapshot,
  collections: ReadonlyMap<string, Collection>,
): () => CatalogSnapshot {
  let size = 0;
  let joined = catalog;
  return () => {
    if (size === collections.size) return joined;
    size = collections.size;
    const others = catalog.collections.filter(({ id }) => !collections.has(id));
    joined = catalog.with({ collections: [...others, ...collections.values()] });
    return joined;
  };
}

/** Fingerprint of an object without the members that each server assigns. */
export function computeSpecFingerprint(kind: string, spec: object): string {
  const own = kinds.get(kind)?.ownMembers ?? [];
  return fingerprint(Object.fromEntries(Object.entries(spec).filter(([name]) => !own.includes(name))));
}

/** Equal for objects of equal content, whatever the order of their members. */
export function fingerprint(value: unknown): string {
  return createHash('sha256')
    .update(stringifyExactly(sorted(value)))
    .digest('hex');
}

/** Members in the order of their names, and none that says nothing. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== 'object' || value === null || isExactNumber(value)) return value;
  const members = Object.entries(value).filter(([, member]) => member !== undefined);
  return Object.fromEntries(
    members.sort(([a], [b]) => (a < b ? -1 : 1)).map(([name, member]) => [name, sorted(member)]),
  );
}
