import type { TSchema } from 'typebox';
import type { Collection } from '../../core/catalog/collection.js';
import { type ApiError, fieldFailure } from '../../core/errors/errors.js';
import type { BodyProblem } from '../../core/http/body-problems.js';
import type { Principal } from '../../core/http/operation.js';
import type { StoredConnection } from '../../services/connections/connection.js';
import type { State } from '../../stores/state/state.js';
import type { ServicesOf } from '../admin/deps.js';
import type { RuleTargets } from '../admin/rule-checks.js';

/** Services that the kinds of objects take. */
export const KIND_SERVICES = [
  'access',
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
export type Stores = Parameters<Parameters<State['atomically']>[0]>[0];

/** One object of the management state, without what only this server gave it. */
export interface Entry {
  readonly name: string;
  readonly spec: object;
}

/** What a check may look at: what is there, and what the manifest makes. */
export interface Targets extends RuleTargets {
  readonly principal: Principal;
  /** Connections by name, as the manifest makes or changes them. */
  readonly connections: Map<string, StoredConnection>;
  /** Collections that the manifest publishes, by id. */
  readonly collections: Map<string, Collection>;
  /** Services that the manifest puts layers into, by ids of their collections. */
  readonly services: ReadonlyMap<string, string>;
  /** Ids of collections whose layers the manifest switches off. */
  readonly switchedOff: ReadonlySet<string>;
}

/** A kind of objects that manifests hold. */
export interface ManifestKind {
  readonly kind: string;
  /** Scope of the management operations that change such objects otherwise. */
  readonly scope: string;
  readonly schema: TSchema;
  /** Members that a server gives once and keeps: another value is no difference. */
  readonly ownMembers?: readonly string[];
  readonly list: (deps: KindDeps) => Promise<Entry[]>;
  /** Names of those that stand in the configuration: they are in no manifest. */
  readonly configured?: (deps: KindDeps) => Promise<string[]>;
  /** Throws `forbidden` for a caller who may not change the object from one spec to the other: see `layer-rights.ts`. */
  readonly requireRight?: (
    name: string,
    change: { readonly before: object | undefined; readonly after: object | undefined },
    principal: Principal,
    deps: KindDeps,
  ) => void | Promise<void>;
  /** Throws `invalid-body` for what the schema cannot say. What it returns is given to `write`. */
  readonly prepare?: (entry: Entry, targets: Targets, deps: KindDeps) => unknown;
  /** Readies what an object stands on for its removal, before the transaction. What it returns is given to `write`. */
  readonly prepareRemoval?: (name: string, deps: KindDeps) => Promise<unknown>;
  /**
   * Makes an object that takes a job, before the transaction and out of everybody's sight: `write` shows it. Objects that
   * name it are checked when it is there. Resolves with what takes it back.
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
