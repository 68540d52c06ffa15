import { formatActor, type Principal } from '../../core/http/operation.js';
import {
  CONNECTION_KIND,
  type Connection,
  type StoredConnection,
} from '../../services/connections/connection.js';
import { inSpan } from '../../services/telemetry/spans.js';
import type { Services, ServicesOf } from '../admin/deps.js';
import { nameSources } from '../connections/admin/connection-sources.js';
import {
  APPLIED,
  APPLIED_KIND,
  type AppliedState,
  computeSpecFingerprint,
  formatObjectKey,
  type ManifestStep,
  planChanges,
  type Resource,
} from './apply.js';
import { KIND_SERVICES, type KindDeps, type Stores } from './kind.js';
import { connection } from './publication.js';

/** Services that carrying out a manifest takes. */
export const APPLY_SERVICES = [...KIND_SERVICES, 'rasters', 'settle'] as const;
export type ApplyDeps = ServicesOf<typeof APPLY_SERVICES>;

/** Additional work in the transaction. */
interface Also {
  /** Must use only these stores, because the others are locked. If it throws, nothing is written. */
  record?(stores: Stores): Promise<unknown>;
  /** Objects that count as applied afterwards; the objects of the steps if absent. */
  readonly applied?: AppliedState['objects'] | null;
  /** Parent of the spans of the steps. */
  readonly span?: unknown;
}

type Undo = () => Promise<unknown>;

/**
 * Executes all steps in one transaction, and records the contents of the manifest. Objects that need a job are
 * created before the transaction, after the connections they use, and are removed again if a step fails.
 */
export async function carryOut(
  steps: readonly ManifestStep[],
  principal: Principal,
  deps: ApplyDeps,
  also: Also = {},
): Promise<void> {
  const creations = steps.filter(({ action, kind }) => action === 'created' && kind.make);
  if (creations.length === 0) return write(steps, principal, deps, also);
  const undos: Undo[] = [];
  try {
    await connect(steps, undos, formatActor(principal), deps);
    await make(creations, undos, formatActor(principal), deps);
    await write(await planAgain(steps, principal, deps), principal, deps, also);
  } catch (error) {
    // Each is tried, whatever became of the one before: what is left is switched off.
    for (const undo of undos.reverse()) await undo().catch(() => {});
    await Promise.resolve(deps.settle()).catch(() => {});
    throw error;
  }
}

/** Writes connections first. Undo does not touch connections that another caller has changed since. */
async function connect(
  steps: readonly ManifestStep[],
  undos: Undo[],
  by: string,
  deps: Services<'connections' | 'layerCopies' | 'publishedLayers' | 'rasters' | 'settle' | 'state'>,
): Promise<void> {
  const changes = steps.filter(
    ({ kind, action }) => kind === connection && (action === 'created' || action === 'updated'),
  );
  const names = new Set(changes.map(({ name }) => name));
  const before = (await deps.connections.list()).filter(({ body }) => names.has(body.name));
  for (const { name, prepared } of changes) {
    const former = before.find(({ body }) => body.name === name);
    if (former) await nameSources(former, prepared as StoredConnection, { by }, deps);
  }
  const put = (name: string, after: StoredConnection | undefined, stores: Stores) =>
    connection.write(stores, name, after?.body, by, after);
  const ours = await deps.state.atomically(async (stores) => {
    const etags = new Map<string, string | undefined>();
    for (const { name, prepared } of changes) {
      const after = prepared as StoredConnection;
      await put(name, after, stores);
      etags.set(name, await findEtag(after.id, stores));
    }
    return etags;
  });
  for (const { name, prepared } of changes) {
    const former = before.find(({ body }) => body.name === name);
    const { id } = prepared as StoredConnection;
    // Undoes each connection separately: a connection that other layers use by now stays, and does not block the
    // others.
    undos.push(() =>
      deps.state.atomically(async (stores) => {
        if ((await findEtag(id, stores)) === ours.get(name)) await put(name, former, stores);
      }),
    );
  }
  await deps.settle();
}

async function findEtag(id: string, { documents }: Stores): Promise<string | undefined> {
  return (await documents.get<Connection>(CONNECTION_KIND, id))?.etag;
}

/** Creates all objects that need jobs, which run in their usual order. Throws the first failure. */
async function make(
  creations: readonly ManifestStep[],
  undos: Undo[],
  by: string,
  deps: KindDeps,
): Promise<void> {
  const results = await Promise.allSettled(
    creations.map(async ({ kind, prepared }) => undos.push(await kind.make!(prepared, by, deps))),
  );
  const failure = results.find((result) => result.status === 'rejected');
  if (failure) throw failure.reason;
}

/** The same objects, checked where everything is that they name. Throws as `planChanges` does. */
function planAgain(
  steps: readonly ManifestStep[],
  principal: Principal,
  deps: KindDeps,
): Promise<ManifestStep[]> {
  const resources = steps
    .filter(({ place }) => place !== undefined)
    .sort((a, b) => a.place! - b.place!)
    .map(({ kind: { kind }, name, after }): Resource => ({ kind, metadata: { name }, spec: after! }));
  const remove = steps
    .filter(({ after }) => !after)
    .map(({ kind, name }) => formatObjectKey(kind.kind, name));
  return planChanges(resources, { prune: false, remove, principal }, deps);
}

async function write(
  steps: readonly ManifestStep[],
  principal: Principal,
  deps: KindDeps & Services<'settle'>,
  { record, applied: objects = collectObjects(steps), span }: Also,
): Promise<void> {
  const by = formatActor(principal);
  const removals = steps.filter(({ action }) => action === 'deleted');
  for (const step of removals) step.prepared = await step.kind.prepareRemoval?.(step.name, deps);
  await deps.state.atomically(async (stores) => {
    for (const { action, kind, name, after, prepared } of inTurn(steps))
      if (action !== 'skipped')
        await inSpan(span, nodeSpan(kind.kind, action), () => kind.write(stores, name, after, by, prepared));
    if (objects === null) await stores.documents.remove(APPLIED_KIND, APPLIED);
    else await stores.documents.put(APPLIED_KIND, APPLIED, { objects }, by);
    await record?.(stores);
  });
  await deps.settle();
  for (const kind of new Set(removals.map((step) => step.kind))) await kind.followRemoval?.(deps);
}

/** The span of one object of a manifest. */
const nodeSpan = (kind: string, action: string) => ({
  name: 'svc.spec.node',
  attributes: { 'svc.operation': `${kind} ${action}` },
});

function collectObjects(steps: readonly ManifestStep[]): AppliedState['objects'] {
  return Object.fromEntries(
    steps.flatMap(({ kind, name, after }) =>
      after ? [[formatObjectKey(kind.kind, name), computeSpecFingerprint(kind.kind, after)] as const] : [],
    ),
  );
}

/** Removals are in reverse order: dependent objects first. */
function inTurn(steps: readonly ManifestStep[]): readonly ManifestStep[] {
  const isRemoved = ({ action }: ManifestStep) => action === 'deleted';
  return [...steps.filter((step) => !isRemoved(step)), ...steps.filter(isRemoved).reverse()];
}
