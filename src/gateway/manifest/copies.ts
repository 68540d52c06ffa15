import Type, { type Static } from 'typebox';
import { SERVICE } from '../../core/access/access.js';
import { ApiError } from '../../core/errors/errors.js';
import { problem } from '../../core/http/body-problems.js';
import { type CopyRight, copyRight } from '../../services/access/rules/derivations.js';
import {
  type FoundCopy,
  type LayerCopy,
  type NewCopy,
  NO_WORDS,
  type StoredCopy,
} from '../../services/catalog/copies/layer-copy.js';
import { LAYER_KIND } from '../../services/catalog/layers/layers.js';
import { tableName } from '../../services/catalog/table-name.js';
import type { StoredConnection } from '../../services/connections/connection.js';
import { LAYER_COPY } from '../../services/connections/connections.js';
import { sayingConflict } from '../../services/exchange/copies/copy-jobs.js';
import type { Services } from '../admin/deps.js';
import { NAME_SCHEMA } from '../admin/rule-schemas.js';
import { createObjectError, type Entry, type ManifestKind } from './kind.js';

/**
 * Layers of services and files of buckets that are published as copies. Their settings are a separate object, a
 * `Layer`.
 */

const Place = Type.String({ minLength: 1, maxLength: 1024 });
const CopySpec = Type.Object(
  {
    connection: NAME_SCHEMA,
    layerName: NAME_SCHEMA,
    schema: Place,
    table: Place,
    srid: Type.Optional(Type.Integer({ minimum: 1, maximum: 999_999 })),
    layerId: Type.Optional(
      Type.Integer({
        minimum: 1,
        description: 'Number of the layer. Used if it is free and the layer does not have a number.',
      }),
    ),
  },
  { additionalProperties: false },
);
type CopySpec = Static<typeof CopySpec>;

interface Draft {
  readonly id: string;
  readonly layerId: number | undefined;
  readonly connection: StoredConnection;
  readonly copy: NewCopy;
  /** It was made for a manifest that was not written. */
  readonly isThere: boolean;
  /** The manifest keeps it switched off. */
  readonly isOff: boolean;
  readonly right: CopyRight;
}

export const layerCopy: ManifestKind = {
  kind: 'LayerCopy',
  scope: 'layers',
  schema: CopySpec,
  ownMembers: ['layerId'],
  async list({ connections, layerCopies }) {
    const names = new Map((await connections.list()).map(({ id, body }) => [id, body.name]));
    return (await layerCopies.list())
      .filter(({ stored }) => !stored.body.isGone && !layerCopies.isDraft(stored))
      .map(({ stored: { id, body }, collection: { layerId } }): Entry => {
        const { connectionId, layerName, schema, table, srid } = body;
        const where = { connection: names.get(connectionId)!, schema, table };
        return { name: id, spec: { ...where, layerName, srid: srid ?? undefined, layerId } };
      });
  },
  async prepare({ name, spec }, targets, deps): Promise<Draft> {
    const { connection: from, schema, table, layerName, srid, layerId } = spec as CopySpec;
    const source = targets.connections.get(from);
    if (!source) throw createObjectError(problem('spec/connection', 'must be the name of a connection'));
    if (!deps.connections.isRemote(source))
      throw createObjectError(
        problem('spec/connection', 'must not be a database, because its tables are not copies'),
      );
    if (tableName(layerName) !== name)
      throw createObjectError(
        problem('metadata/name', `must be ${tableName(layerName)}, which follows from the name of the layer`),
      );
    const choice = { connectionId: source.id, schema, table, layerName, srid: srid ?? null };
    const before = await deps.layerCopies.find(name);
    const isThere = before !== undefined && isCopyDraft(before, choice);
    const right = copyRight(targets.principal, deps.rules.current);
    await deps.layerCopies.sourcesOf(name, source, choice, right);
    if (!isThere) await requireReadable(source, choice, deps);
    const words = { ...NO_WORDS, serviceName: targets.services.get(name) ?? SERVICE, enabled: false };
    const copy: NewCopy = { schema, table, layerName, srid: srid ?? null, ...words, isDraft: true };
    const isOff = targets.switchedOff.has(name);
    return { id: name, layerId, connection: source, copy, isThere, isOff, right };
  },
  async make(prepared, by, { layerCopies, state }) {
    const { id, layerId, connection, copy, isThere, right } = prepared as Draft;
    if (isThere) return async () => {};
    if (layerId !== undefined) await state.collections.take(layerId, id);
    const publication = await layerCopies.publish(connection, copy, { right, by });
    return () => layerCopies.remove(publication, by);
  },
  async prepareRemoval(name, { layerCopies }) {
    const copy = await layerCopies.find(name);
    if (copy) await layerCopies.requireRest(copy.stored);
    return copy?.stored;
  },
  async write({ documents }, name, spec, by, prepared) {
    if (!spec) {
      if (!prepared) return;
      const { etag } = prepared as StoredCopy;
      const mark = (copy: LayerCopy): LayerCopy => ({ ...copy, isGone: true });
      return void (await sayingConflict(name, documents.update(LAYER_COPY, name, by, mark, [etag])));
    }
    const { isOff } = prepared as Draft;
    await documents.update<LayerCopy>(LAYER_COPY, name, by, ({ isDraft: _, ...copy }) => copy);
    await documents.announcing('layer').merge(LAYER_KIND, name, { enabled: isOff ? false : undefined }, by);
  },
  followRemoval: ({ layerCopies }) => layerCopies.trim(),
};

type Choice = Pick<LayerCopy, 'connectionId' | 'layerName' | 'schema' | 'srid' | 'table'>;

/** Whether an unowned copy with that name and the same options exists. Throws `invalid-body` for any other copy. */
function isCopyDraft({ stored: { body }, isDraft, isMade, isUnderWay }: FoundCopy, choice: Choice): boolean {
  if (isUnderWay)
    throw createObjectError(
      problem(
        'metadata/name',
        `is the id of a copy that the job ${body.refreshJobId ?? body.jobId} is creating. Retry after that job`,
      ),
    );
  if (!isMade) return false;
  const members = Object.keys(choice) as (keyof Choice)[];
  const other = members.find((member) => body[member] !== choice[member]);
  if (other === undefined) return isDraft;
  const member = other === 'connectionId' ? 'connection' : other;
  throw createObjectError(
    problem(`spec/${member}`, `must be that of the existing copy. Remove the copy to create another one`),
  );
}

/** Reports an error that prevents the copy as a problem of the object. */
async function requireReadable(
  source: StoredConnection,
  { schema, table, layerName }: Choice,
  { layerCopies }: Services<'layerCopies'>,
): Promise<void> {
  const checks = await layerCopies.validate(source, { schema, table }, layerName).catch((error: unknown) => {
    if (!(error instanceof ApiError)) throw error;
    throw createObjectError(problem('spec', `cannot be copied: ${error.message}`));
  });
  const refusals = checks.filter(({ severity }) => severity === 'error');
  if (refusals.length > 0)
    throw createObjectError(
      problem('spec', `cannot be copied: ${refusals.map(({ message }) => message).join(' ')}`),
    );
}
