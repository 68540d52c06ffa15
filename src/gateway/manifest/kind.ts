import type { TSchema } from 'typebox';
import type { Collection } from '../../core/catalog/collection.js';
import { type ApiError, fieldFailure } from '../../core/errors/errors.js';
import type { BodyProblem } from '../../core/http/body-problems.js';
import type { Principal } from '../../core/http/operation.js';
import type { StoredConnection } from '../../services/connections/connection.js';
import type { AtomicStores } from '../../stores/state/state.js';
import type { ServicesOf } from '../admin/deps.js';
import type { RuleTargets } from '../admin/rule-checks.js';

/** Services that the kinds of objects take. */
export const KIND_SERVICES = [
  'access',
  'alertRules',
  'catalog',
  'connections',
  'layerCopies',
  'layers',
  'publishedLayers',
  'rules',
  'sourceLayers',
  'state',
  'styles',
] as const;
export type KindDeps = ServicesOf<typeof KIND_SERVICES>;

/** Stores that are written in one transaction. */
export type Stores = AtomicStores;

/** One object of the management state, without what only this server gave it. */
export interface Entry {
  readonly name: string;
  readonly spec: object;
}

/** State that a check may read: existing objects, and those that the manifest creates. */
export interface Targets extends RuleTargets {
  readonly principal: Principal;
  /** Connections by name, as the manifest makes or changes them. */
  readonly connections: Map<string, StoredConnection>;
  /** Collections that the manifest publishes, by id. */
  readonly collections: Map<string, Collection>;
  /** Names of the alert zones of the manifest. */
  readonly zones: ReadonlySet<string>;
  /** Services that the manifest puts layers into, by ids of their collections. */
  readonly services: ReadonlyMap<string, string>;
  /** Ids of collections whose layers the manifest switches off. */
  readonly switchedOff: ReadonlySet<string>;
}

/** A kind of objects that manifests can hold. */
export interface ManifestKind {
  readonly kind: string;
  /** Scope of the management operations that change such objects otherwise. */
  readonly scope: string;
  readonly schema: TSchema;
  /** Members that a server assigns once and keeps. A different value does not count as a change. */
  readonly ownMembers?: readonly string[];
  /** Removes members with default values, so that equal objects have equal specs. */
  readonly normalize?: (spec: object) => object;
  readonly list: (deps: KindDeps) => Promise<Entry[]>;
  /** Names of objects in the configuration, which manifests cannot contain. */
  readonly configured?: (deps: KindDeps) => Promise<string[]>;
  /** Throws `forbidden` for a caller who may not change the object from one spec to the other: see `layer-rights.ts`. */
  readonly requireRight?: (
    name: string,
    change: { readonly before: object | undefined; readonly after: object | undefined },
    principal: Principal,
    deps: KindDeps,
  ) => void | Promise<void>;
  /** Throws `invalid-body` for what the schema cannot express. `write` receives the result. */
  readonly prepare?: (entry: Entry, targets: Targets, deps: KindDeps) => unknown;
  /** Prepares the removal of an object before the transaction. `write` receives the result. */
  readonly prepareRemoval?: (name: string, deps: KindDeps) => Promise<unknown>;
  /**
   * Creates an object that needs a job, before the transaction and invisibly: `write` makes it visible. Objects that
   * name it are checked afterwards. Resolves with a function that removes it again.
   */
  readonly make?: (prepared: unknown, by: string, deps: KindDeps) => Promise<() => Promise<void>>;
  /** Does what objects that were removed leave to do after the transaction. */
  readonly followRemoval?: (deps: KindDeps) => Promise<void>;
  /** Makes or replaces an object; removes it when there is no spec. Uses nothing but these stores: they are locked. */
  write(stores: Stores, name: string, spec: object | undefined, by: string, prepared: unknown): Promise<void>;
}

/** Refuses an object for one thing that is wrong with it. */
export function createObjectError(one: BodyProblem): ApiError {
  return fieldFailure('invalid-body', [one]);
}
