import { randomUUID } from 'node:crypto';
import { currentHoldGroup, HoldGroup, type TaskScope } from './task-scope.js';

/** Identifies this thread among those of all servers. */
export const THREAD_KEY = randomUUID().slice(0, 8);

type ResourceKind =
  | 'gdal-dataset'
  | 'sqlite-file'
  | 'archive-file'
  | 'postgres-connection'
  | 'temporary-folder'
  | 'stream-session'
  | 'job-lease';

/** Open resource, as other processes see it. */
export interface HeldResource {
  /** Unique among all servers. */
  readonly id: string;
  readonly kind: ResourceKind;
  /** Name for operators, without secrets. */
  readonly label: string;
  /** Milliseconds since 1970. */
  readonly since: number;
  /** Whether its object still exists in memory. */
  readonly isAlive: boolean;
  /** The cache that keeps it on purpose. */
  readonly keptBy?: string;
  readonly owner?: {
    readonly task: string;
    readonly request?: string;
    readonly startedAt: number;
    readonly endedAt?: number;
  };
}

/** Open resources of a thread, and the number of closed ones since its start. */
export interface HeldReport {
  readonly held: readonly HeldResource[];
  readonly disposed: number;
  /** Resources whose objects were collected without being closed. */
  readonly collected: number;
}

/**
 * Whether a resource may have been forgotten: the task that opened or took it has ended, it is not closed, and no cache
 * keeps it.
 */
export const isPotentialLeak = ({ keptBy, owner }: HeldResource): boolean =>
  keptBy === undefined && owner?.endedAt !== undefined;

interface Entry {
  readonly kind: ResourceKind;
  readonly label: string;
  readonly since: number;
  readonly group: HoldGroup;
  readonly object: WeakRef<object>;
}

/** Characters of a label. */
const MAX_LABEL = 200;

/** Resources of one thread. It keeps no resource open. */
class HeldResources {
  readonly #entries = new Map<number, Entry>();
  readonly #ids = new WeakMap<object, number>();
  readonly #collector = new FinalizationRegistry<number>((id) => {
    if (this.#entries.delete(id)) this.#collected += 1;
  });
  #next = 1;
  #disposed = 0;
  #collected = 0;

  /** Tracks an object that was opened. Its owner is the running task. */
  opened(kind: ResourceKind, label: string, object: object): HoldGroup {
    const known = this.#entries.get(this.#ids.get(object) ?? 0);
    if (known) return known.group;
    const group = currentHoldGroup() ?? new HoldGroup();
    const id = this.#next++;
    this.#ids.set(object, id);
    this.#collector.register(object, id, object);
    const shown = label.slice(-MAX_LABEL);
    this.#entries.set(id, { kind, label: shown, since: Date.now(), group, object: new WeakRef(object) });
    return group;
  }

  closed(object: object): void {
    const id = this.#ids.get(object);
    if (id === undefined || !this.#entries.delete(id)) return;
    this.#collector.unregister(object);
    this.#disposed += 1;
  }

  report(): HeldReport {
    const held = [...this.#entries].map(([id, entry]) => describeEntry(id, entry));
    return { held, disposed: this.#disposed, collected: this.#collected };
  }
}

function describeEntry(id: number, { kind, label, since, group, object }: Entry): HeldResource {
  const { keptBy, owner } = group;
  return {
    id: `${THREAD_KEY}-${id}`,
    kind,
    label,
    since,
    isAlive: object.deref() !== undefined,
    ...(keptBy === undefined ? {} : { keptBy }),
    ...(owner === undefined ? {} : { owner: describeOwner(owner) }),
  };
}

function describeOwner({ name, request, startedAt, endedAt }: TaskScope): HeldResource['owner'] {
  return {
    task: name,
    startedAt,
    ...(request === undefined ? {} : { request }),
    ...(endedAt === undefined ? {} : { endedAt }),
  };
}

/** Resources of this thread. */
export const heldResources = new HeldResources();
