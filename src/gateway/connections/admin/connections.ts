import Type, { type Static } from 'typebox';
import { badParameter } from '../../../core/errors/errors.js';
import { formatActor } from '../../../core/http/operation.js';
import { defineIntegerParam, defineTextParam, pathString } from '../../../core/http/params.js';
import { isLayerInScope } from '../../../services/access/rules/policy.js';
import { getConnectionProvider } from '../../../services/connections/connection.js';
import { isDatabaseConnection } from '../../../services/connections/connections.js';
import { isBucketProvider, type ObjectQuery } from '../../../services/connections/object-store.js';
import { isServiceKind } from '../../../services/connections/service-address.js';
import { readIfMatch } from '../../admin/conditional.js';
import { Acknowledgement, AcknowledgementSchema, TimestampSchema, timestamp } from '../../admin/envelope.js';
import { createRowBuilders, group, jsonBody, resource } from '../../admin/kit.js';
import { defineFilterParam } from '../../admin/params.js';
import {
  ConnectionPatch,
  checkCredential,
  chooseSslMode,
  NewConnection,
  readConnectionTarget,
} from './connection-bodies.js';
import { nameSources } from './connection-sources.js';
import {
  describeObjects,
  describeServiceLayers,
  filterVisibleTables,
  TableSchema,
} from './connection-tables.js';
import {
  DetailSchema,
  detail,
  SummarySchema,
  summary,
  TestResultSchema,
  testResult,
} from './connection-views.js';
import { sourceTables } from './source-layers.js';

const SERVICES = [
  'connections',
  'layerCopies',
  'pools',
  'publishedLayers',
  'rasters',
  'sourceLayers',
] as const;
const { action, implement, report } = createRowBuilders(SERVICES);

const I = Type.Integer();

export const connectionId = pathString('id', 'Id or name of the connection.');
const prefix = defineFilterParam('prefix', 'Buckets only: prefix of the object keys.');
const cursor = defineTextParam(
  'cursor',
  { description: 'Buckets only: nextCursor of the previous page.' },
  { maxLength: 4096 },
);
const limit = defineIntegerParam(
  'limit',
  { min: 1, max: 1000, default: 200 as number },
  { description: 'Buckets only: maximum number of keys per page.' },
);
const byId = { id: connectionId };

/** Databases that layers are published from. */
export const connections = group(
  { tag: 'Connections', scope: 'connections', envelope: 'wrapped', isForTenants: true },
  [
    ...resource(
      '/connections/{id}',
      {
        list: 'List Secure Connections',
        create: 'Create Secure Connection',
        get: 'Get Secure Connection',
        update: 'Update Secure Connection',
        remove: 'Delete Secure Connection',
      },
      {
        list: implement({
          data: Type.Array(SummarySchema),
          async answer(_x, { connections }) {
            const [all, checks] = await Promise.all([connections.list(), connections.checks()]);
            return all.map((one) => summary(one, connections, checks.get(one.id)));
          },
        }),
        create: implement({
          description:
            'Creates a connection without testing it. The password is encrypted with security.stateKey. secretReference names a secret in connections.secrets instead: env:NAME or file:/path.',
          body: jsonBody(NewConnection),
          data: SummarySchema,
          status: 201,
          errors: [400, 409],
          location: ({ connectionId }: Static<typeof SummarySchema>) => `/connections/${connectionId}`,
          async answer({ body, principal }, deps) {
            const { name, description } = body;
            const stored = await deps.connections.create(
              { ...readConnectionTarget(body, deps), name, description: description ?? null, isActive: true },
              checkCredential(body, deps),
              formatActor(principal),
            );
            return summary(stored, deps.connections);
          },
        }),
        get: implement({
          params: byId,
          data: DetailSchema,
          errors: [400, 404],
          async answer({ params: { id } }, { connections }) {
            if (id === 'tables')
              throw badParameter('id', 'is the id of a connection. Use /connections/{id}/tables');
            const stored = await connections.get(id);
            return detail(stored, connections, (await connections.checks()).get(stored.id));
          },
        }),
        update: implement({
          description:
            'Omitted members keep their values. After the response, all layers use the new definition. With isActive false, the layers are not published.',
          params: byId,
          body: jsonBody(ConnectionPatch),
          data: SummarySchema,
          errors: [400, 404, 409, 412],
          async answer(x, deps) {
            const { connections } = deps;
            const before = await connections.get(x.params.id);
            connections.requireOwn(before);
            const { description, isActive = before.body.isActive } = x.body;
            const target = readConnectionTarget(
              {
                ...before.body,
                password: undefined,
                ...x.body,
                ...chooseSslMode(x.body, before.body.sslMode),
              },
              deps,
            );
            const change = { ...target, isActive, ...(description === undefined ? {} : { description }) };
            const by = formatActor(x.principal);
            const credential = checkCredential(x.body, deps);
            const after = { ...before, body: { ...before.body, ...change } };
            await nameSources(before, after, { by, credential }, deps);
            const changed = await connections.update(before, by, () => change, credential, readIfMatch(x));
            return summary(changed, connections, (await connections.checks()).get(before.id));
          },
        }),
        remove: implement({
          description: 'Refused while layers are published from it.',
          params: byId,
          data: AcknowledgementSchema,
          errors: [404, 409],
          async answer({ params }, { connections, layerCopies }) {
            const connection = await connections.get(params.id);
            await layerCopies.trim(connection.id);
            await connections.remove(connection);
            return new Acknowledgement('The connection is deleted.');
          },
        }),
      },
    ),
    report('GET /connections/{id}/tables', 'Get Connection Tables', {
      description:
        'Lists the tables and views that the database user can read, with or without geometries. For files, lists the published ones; for services, their layers; for buckets, pages of objects with extensions of geodata.',
      params: { ...byId, prefix, cursor, limit },
      data: Type.Object({
        tables: Type.Array(TableSchema),
        nextCursor: Type.Optional(
          Type.String({
            description: 'Buckets only: cursor of the next page. A page can be empty and not the last.',
          }),
        ),
      }),
      envelope: 'raw',
      errors: [400, 404, 503],
      async answer({ params, caller, principal }, deps) {
        const { connections, sourceLayers, pools } = deps;
        const connection = await connections.get(params.id);
        const provider = getConnectionProvider(connection.body);
        if (isServiceKind(provider))
          return { tables: describeServiceLayers(await connections.service(connection)) };
        if (isBucketProvider(provider) && !connections.isSource(connection)) {
          const { objects, next } = await connections.objects(connection, buildQuery(params));
          const tables = describeObjects(connection, objects);
          return { tables, ...(next === undefined ? {} : { nextCursor: next }) };
        }
        if (!isDatabaseConnection(connection))
          return {
            tables: (await sourceLayers.list(connection.id))
              .filter(({ collection }) => isLayerInScope(principal, collection))
              .flatMap(sourceTables),
          };
        const database = await connections.urlOf(connection);
        const { tables } = await pools.run('vector.tables', { database }, { deadlineMs: TABLES_MS, caller });
        return { tables: await filterVisibleTables(principal, connection.id, tables, deps) };
      },
    }),
    action('POST /connections/test', 'Test Draft Connection', {
      description:
        'Connects within 10 seconds and reports the error if it cannot. The connection is not stored.',
      body: jsonBody(NewConnection),
      data: TestResultSchema,
      errors: [400],
      async answer({ body }, deps) {
        const credential = checkCredential(body, deps);
        const check = await deps.connections.testDraft(readConnectionTarget(body, deps), credential);
        return testResult(null, body.name, check);
      },
    }),
    action('POST /connections/{id}/test', 'Test Saved Connection', {
      description: 'Connects within 10 seconds and stores the outcome as the health of the connection.',
      params: byId,
      data: TestResultSchema,
      errors: [400, 404],
      async answer({ params }, { connections }) {
        const stored = await connections.get(params.id);
        return testResult(stored.id, stored.body.name, await connections.test(stored));
      },
    }),
    report('POST /connections/encryption/validate', 'Validate Encryption Service', {
      description: 'Opens the password of each connection.',
      data: Type.Object({
        isValid: Type.Boolean(),
        currentKeyVersion: I,
        validatedAt: TimestampSchema,
        message: Type.String(),
      }),
      errors: [400],
      async answer(_x, { connections }) {
        const { isValid, version, message } = await connections.passwords.validate();
        return { isValid, currentKeyVersion: version, validatedAt: timestamp(Date.now()), message };
      },
    }),
    action('POST /connections/encryption/rotate-key', 'Rotate Encryption Key', {
      description:
        'Creates a new key and encrypts the keys of all passwords with it. Connections remain usable.',
      data: Type.Object({
        previousKeyVersion: I,
        newKeyVersion: I,
        rotatedAt: TimestampSchema,
        message: Type.String(),
      }),
      errors: [400],
      async answer({ principal }, { connections }) {
        const { before, after, secrets } = await connections.passwords.rotate(formatActor(principal));
        return {
          previousKeyVersion: before,
          newKeyVersion: after.version,
          rotatedAt: timestamp(after.createdAt),
          message: `${secrets} passwords are under key ${after.version}.`,
        };
      },
    }),
  ],
);

const TABLES_MS = 30_000;

function buildQuery(params: {
  prefix: string | undefined;
  cursor: string | undefined;
  limit: number;
}): ObjectQuery {
  return { prefix: params.prefix ?? '', cursor: params.cursor, limit: params.limit };
}
