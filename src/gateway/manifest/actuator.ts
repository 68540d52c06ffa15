import Type from 'typebox';
import { ApiError, fieldFailure } from '../../core/errors/errors.js';
import { prefixField } from '../../core/errors/field-errors.js';
import type { Principal } from '../../core/http/operation.js';
import { stringifyExactly } from '../../core/values/json.js';
import { type Actuator, chooseActor, defineActuator } from '../../services/actions/actuator.js';
import {
  type AppliedState,
  computeSpecFingerprint,
  formatObjectKey,
  lastApplied,
  listResources,
  type ManifestStep,
  planChanges,
  type Resource,
} from './apply.js';
import { type ApplyDeps, carryOut } from './carry-out.js';

interface PatchParameters {
  /** Objects to create or replace. */
  readonly resources: readonly Resource[];
  /** Objects to remove, such as `RowPolicy/north`. */
  readonly remove?: readonly string[];
}

/** Objects of a patch before it: their specs, or null if they did not exist. */
interface PatchedObjects {
  readonly objects: readonly {
    readonly kind: string;
    readonly name: string;
    readonly before: object | null;
  }[];
}

const MAX_OBJECTS = 200;
const VALUE_CHARACTERS = 200;
const VERIFY_MS = 30_000;

const ResourceSchema = Type.Object({
  apiVersion: Type.Optional(Type.String()),
  kind: Type.String(),
  metadata: Type.Object({ name: Type.String({ minLength: 1, maxLength: 200 }) }),
  spec: Type.Object({}),
});

/** Applies a patch of the manifest: it creates, replaces and removes single objects. */
export function createManifestActuator(deps: ApplyDeps): Actuator {
  const plan = async ({ resources, remove = [] }: PatchParameters, principal: Principal) => {
    const changes = planChanges(resources, { prune: false, remove, principal }, deps);
    const steps = await changes.catch(nameParameters);
    const made = steps.find(({ action, kind }) => action === 'created' && kind.make);
    if (made)
      throw new ApiError(
        'conflict',
        `${made.kind.kind}/${made.name}: a proposal cannot create objects that need an import. Apply them with the manifest.`,
      );
    return steps;
  };
  const apply = async (
    parameters: PatchParameters,
    principal: Principal,
    record?: Parameters<typeof carryOut>[3],
  ) => {
    const steps = await plan(parameters, principal);
    const applied = patchApplied(await lastApplied(deps), steps);
    await carryOut(steps, principal, deps, { ...record, applied });
  };
  const readKeys = async (keys: readonly string[]) => {
    const all = await listResources(deps);
    const byKey = new Map(all.map((one) => [formatObjectKey(one.kind, one.metadata.name), one]));
    return keys.map((key) => ({ key, resource: byKey.get(key) }));
  };
  return defineActuator<PatchParameters>({
    kind: 'AdminConfigChange',
    name: 'manifest.patch',
    version: 1,
    description: 'Creates, replaces and removes objects of the manifest',
    permission: 'admin:manifest:write',
    parameters: Type.Object(
      {
        resources: Type.Array(ResourceSchema, { maxItems: MAX_OBJECTS }),
        remove: Type.Optional(Type.Array(Type.String(), { maxItems: MAX_OBJECTS })),
      },
      { additionalProperties: false },
    ),
    // The permissions of the kinds apply to the proposer as well, because the diff shows their objects.
    proposePermission: 'admin:manifest:write',
    async plan(parameters, requester) {
      if (!requester) throw new ApiError('forbidden', 'Only a caller can propose a patch of the manifest.');
      const steps = (await plan(parameters, requester)).filter(({ action }) => action !== 'skipped');
      if (steps.length === 0)
        throw new ApiError('conflict', 'The objects already have this content. A proposal is not necessary.');
      const keys = steps.map(({ kind, name }) => formatObjectKey(kind.kind, name));
      const removals = steps.filter(({ action }) => action === 'deleted').length;
      return {
        summary: `Change ${steps.length} objects of the manifest: ${keys.slice(0, 5).join(', ')}.`,
        riskLevel: removals > 0 ? 'High' : 'Medium',
        targets: keys,
        blastRadius: steps.length,
        diff: steps.flatMap(listDifferences),
        dryRun: steps.map(({ action, kind, name }) => `${kind.kind} ${name} would be ${action}.`),
      };
    },
    async preconditions({ resources, remove = [] }) {
      const keys = listKeys(resources, remove);
      return (await readKeys(keys)).map(({ key, resource }) => ({
        resource: key,
        fingerprint: resource ? computeSpecFingerprint(resource.kind, resource.spec) : 'absent',
      }));
    },
    acts: 'in-own-transaction',
    async act(parameters, action, record) {
      const keys = listKeys(parameters.resources, parameters.remove);
      const objects = (await readKeys(keys)).map(({ key, resource }) => ({
        ...parseKey(key),
        before: resource?.spec ?? null,
      }));
      const result: PatchedObjects = { objects };
      await apply(parameters, chooseActor(action), { record: (stores) => record(stores, result) });
    },
    async verify(parameters, _result, action) {
      const steps = await plan(parameters, chooseActor(action));
      const other = steps.find((step) => step.action !== 'skipped');
      if (!other) return { state: 'verified', message: `${steps.length} objects have the approved content.` };
      const key = formatObjectKey(other.kind.kind, other.name);
      return { state: 'pending', message: `${key} does not have the approved content.` };
    },
    verifyMs: VERIFY_MS,
    async undo(_parameters, result, action) {
      const { objects } = result as PatchedObjects;
      const resources = objects.flatMap(({ kind, name, before }) =>
        before ? [{ kind, metadata: { name }, spec: before }] : [],
      );
      const remove = objects
        .filter(({ before }) => !before)
        .map(({ kind, name }) => formatObjectKey(kind, name));
      await apply({ resources, remove }, chooseActor(action));
    },
    remedy: 'Compare the objects with the diff of the proposal, and change them with the manifest.',
  });
}

/** The body of a proposal has the manifest in its parameters. */
function nameParameters(error: unknown): never {
  if (!(error instanceof ApiError && error.errors)) throw error;
  throw fieldFailure(
    'invalid-body',
    error.errors.map((one) => prefixField('/parameters', one)),
  );
}

const listKeys = (resources: readonly Resource[], remove: readonly string[] = []) => [
  ...new Set([...resources.map(({ kind, metadata: { name } }) => formatObjectKey(kind, name)), ...remove]),
];

function parseKey(key: string): { kind: string; name: string } {
  const cut = key.indexOf('/');
  return { kind: key.slice(0, cut), name: key.slice(cut + 1) };
}

/** Objects of the last manifest keep their owner, with the content of the patch. */
function patchApplied(
  applied: AppliedState['objects'] | null,
  steps: readonly ManifestStep[],
): AppliedState['objects'] | null {
  if (!applied) return null;
  const objects = { ...applied };
  for (const { kind, name, after } of steps) {
    const key = formatObjectKey(kind.kind, name);
    if (!Object.hasOwn(objects, key)) continue;
    if (after) objects[key] = computeSpecFingerprint(kind.kind, after);
    else delete objects[key];
  }
  return objects;
}

/** The changed members of an object, one line each. Members of connections are shown without their values. */
function listDifferences({ kind, name, before = {}, after = {} }: ManifestStep): string[] {
  const key = formatObjectKey(kind.kind, name);
  const [old, next] = [before, after] as Record<string, unknown>[];
  const members = [...new Set([...Object.keys(old!), ...Object.keys(next!)])].sort();
  return members.flatMap((member) => {
    const [from, to] = [old![member], next![member]].map((value) =>
      value === undefined ? 'none' : stringifyExactly(value).slice(0, VALUE_CHARACTERS),
    );
    if (from === to) return [];
    return kind.kind === 'Connection'
      ? [`${key}: ${member} changes.`]
      : [`${key}: ${member}: ${from} -> ${to}`];
  });
}
