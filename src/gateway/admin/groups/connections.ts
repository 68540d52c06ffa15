import Type, { type Static } from 'typebox';
import { problem, requireSound } from '../../../core/body-problems.js';
import { badParameter } from '../../../core/errors.js';
import { actorOf } from '../../../core/operation.js';
import { integer, pathString, text } from '../../../core/params.js';
import { keyVersionOf } from '../../../services/access/secret-keys.js';
import {
  type Address,
  CONNECTION_PROVIDERS,
  isHost,
  providerOf,
  requiresSsl,
  SSL_MODES,
  type SslMode,
  type StoredConnection,
} from '../../../services/connections/connection.js';
import {
  type ConnectionCheck,
  type Connections,
  type Credential,
  isDatabaseConnection,
} from '../../../services/connections/connections.js';
import { hostProblem } from '../../../services/connections/hosts.js';
import {
  type DataObject,
  isBucket,
  type ObjectQuery,
  type StoreAddress,
  speaksTls,
} from '../../../services/connections/object-store.js';
import { referenceProblem } from '../../../services/connections/secrets.js';
import { anyCaseBody } from '../any-case.js';
import type { AdminDeps } from '../deps.js';
import { ifMatch } from '../documents.js';
import {
  Acknowledgement,
  AcknowledgementSchema,
  OptionalStringSchema,
  OptionalTimestampSchema,
  optionalTimestamp,
  TimestampSchema,
  timestamp,
} from '../envelope.js';
import { action, group, implement, report, resource } from '../kit.js';
import { OwnerSchema } from '../owner.js';
import { filter } from '../params.js';
import { sourceTables } from '../source-layers.js';

const MODES = Object.keys(SSL_MODES) as SslMode[];
const Mode = Type.Enum(MODES);
const I = Type.Integer();

const SUMMARY = {
  ...{ connectionId: Type.String(), name: Type.String(), description: OptionalStringSchema },
  ...{ host: Type.String(), port: I, databaseName: Type.String(), username: Type.String() },
  ...{ sslRequired: Type.Boolean(), sslMode: Mode, storageType: Type.Enum(['managed', 'external']) },
  ...{ isActive: Type.Boolean(), healthStatus: Type.Enum(['unknown', 'healthy', 'unhealthy']) },
  ...{
    lastHealthCheck: OptionalTimestampSchema,
    createdAt: TimestampSchema,
    createdBy: OptionalStringSchema,
  },
  ...{ provider: Type.Enum([...CONNECTION_PROVIDERS]), owner: OwnerSchema },
};
const Summary = Type.Object(SUMMARY);
const Detail = Type.Object({
  ...SUMMARY,
  credentialReference: OptionalStringSchema,
  encryptionVersion: Type.Union([I, Type.Null()]),
  updatedAt: TimestampSchema,
});
const TestResult = Type.Object({
  ...{ connectionId: OptionalStringSchema, connectionName: Type.String(), isHealthy: Type.Boolean() },
  ...{ testedAt: TimestampSchema, message: Type.String() },
  reason: Type.String({ description: 'The finding as a word for programs.' }),
});

const Name = Type.String({ minLength: 1, maxLength: 200 });
const Text = Type.String({ maxLength: 2000 });
const Identifier = Type.String({ minLength: 1, maxLength: 63 });
/** Access keys are longer than names of users. */
const User = Type.String({ minLength: 1, maxLength: 128 });
const Port = Type.Integer({ minimum: 1, maximum: 65_535 });

const CHANGEABLE = {
  description: Type.Optional(Text),
  password: Type.Optional(Type.String({ maxLength: 1000 })),
  sslRequired: Type.Optional(Type.Boolean()),
  sslMode: Type.Optional(Type.String({ description: `One of ${MODES.join(', ')}, in any case.` })),
};
const Region = Type.Optional(Type.String({ pattern: '^[a-z0-9-]{1,40}$' }));
const NewConnection = Type.Object({
  ...{ name: Name, host: Type.String({ minLength: 1, maxLength: 253 }) },
  ...{ databaseName: Identifier, username: User, port: Type.Optional(Port) },
  provider: Type.Optional(
    Type.String({
      description: 'PostGIS when absent. AwsS3: databaseName is a bucket, username an access key.',
    }),
  ),
  region: Region,
  ...CHANGEABLE,
  secretReference: Type.Optional(Type.String({ minLength: 1, maxLength: 1000 })),
  secretType: Type.Optional(Type.String({ maxLength: 100 })),
});
const ConnectionPatch = Type.Object({
  host: Type.Optional(Type.String({ minLength: 1, maxLength: 253 })),
  ...{ port: Type.Optional(Port), databaseName: Type.Optional(Identifier) },
  ...{
    username: Type.Optional(User),
    region: Region,
    ...CHANGEABLE,
    isActive: Type.Optional(Type.Boolean()),
  },
});
type NewConnection = Static<typeof NewConnection>;
type ConnectionPatch = Static<typeof ConnectionPatch>;

const Column = Type.Object({
  ...{ name: Type.String(), dataType: Type.String(), isNullable: Type.Boolean() },
  ...{ isPrimaryKey: Type.Boolean(), maxLength: Type.Union([I, Type.Null()]) },
});
const Table = Type.Object({
  ...{ schema: Type.String(), table: Type.String(), kind: Type.String() },
  ...{ geometryColumn: OptionalStringSchema, geometryType: OptionalStringSchema },
  ...{ srid: Type.Union([I, Type.Null()]), geometryColumns: Type.Array(Type.String()) },
  ...{ hasSpatialIndex: Type.Boolean(), estimatedRows: Type.Union([I, Type.Null()]) },
  ...{ comment: OptionalStringSchema, columns: Type.Array(Column) },
  ...{ format: Type.Optional(Type.String()), bytes: Type.Optional(I) },
  modified: Type.Optional(OptionalTimestampSchema),
});

export const connectionId = pathString('id', 'Id or name of the connection.');
const prefix = filter('prefix', 'Of a bucket: what the keys of the objects begin with.');
const cursor = text(
  'cursor',
  { description: 'Of a bucket: nextCursor of the page before.' },
  { maxLength: 4096 },
);
const limit = integer(
  'limit',
  { min: 1, max: 1000, default: 200 as number },
  { description: 'Of a bucket: keys that one page looks at.' },
);
const byId = { id: connectionId };

/** Databases that layers are published from. */
export const connections = group({ tag: 'Connections', scope: 'connections', envelope: 'wrapped' }, [
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
        data: Type.Array(Summary),
        async answer(_x, { connections }) {
          const [all, checks] = await Promise.all([connections.list(), connections.checks()]);
          return all.map((one) => summary(one, connections, checks.get(one.id)));
        },
      }),
      create: implement({
        description:
          'The password is encrypted (security.stateKey), or stands elsewhere: secretReference is env:NAME or file:/path of connections.secrets. Nothing is connected to: test it.',
        body: anyCaseBody(NewConnection),
        data: Summary,
        status: 201,
        errors: [400, 409],
        location: ({ connectionId }: Static<typeof Summary>) => `/connections/${connectionId}`,
        async answer({ body, principal }, deps) {
          const { name, description } = body;
          const stored = await deps.connections.create(
            { ...targetOf(body, deps), name, description: description ?? null, isActive: true },
            credentialOf(body, deps),
            actorOf(principal),
          );
          return summary(stored, deps.connections);
        },
      }),
      get: implement({
        params: byId,
        data: Detail,
        errors: [400, 404],
        async answer({ params: { id } }, { connections }) {
          if (id === 'tables') throw badParameter('id', 'name a connection: /connections/{id}/tables');
          const stored = await connections.get(id);
          return detail(stored, connections, (await connections.checks()).get(stored.id));
        },
      }),
      update: implement({
        description:
          'Members that are left out keep their value. Layers of the connection are read by the new definition once this is answered; without isActive they are gone until it is true again.',
        params: byId,
        body: anyCaseBody(ConnectionPatch),
        data: Summary,
        errors: [400, 404, 409, 412],
        async answer(x, deps) {
          const { connections } = deps;
          const before = await connections.get(x.params.id);
          connections.requireOwn(before);
          const { description, isActive = before.body.isActive } = x.body;
          const target = targetOf({ ...before.body, ...x.body, ...sslOf(x.body, before.body.sslMode) }, deps);
          const change = { ...target, isActive, ...(description === undefined ? {} : { description }) };
          const changed = await connections.update(
            before,
            actorOf(x.principal),
            () => change,
            credentialOf(x.body, deps),
            ifMatch(x),
          );
          return summary(changed, connections, (await connections.checks()).get(before.id));
        },
      }),
      remove: implement({
        description: 'Refused while layers are published from it.',
        params: byId,
        data: AcknowledgementSchema,
        errors: [404, 409],
        async answer({ params }, { connections }) {
          await connections.remove(await connections.get(params.id));
          return new Acknowledgement('The connection is deleted.');
        },
      }),
    },
  ),
  report('GET /connections/{id}/tables', 'Get Connection Tables', {
    description:
      'All tables and views that the user of the connection may read, with or without geometries; of files those that are published; of a bucket, page by page, the objects that hold geodata by their names.',
    params: { ...byId, prefix, cursor, limit },
    data: Type.Object({
      tables: Type.Array(Table),
      nextCursor: Type.Optional(
        Type.String({
          description: 'Of buckets: where the next page begins. A page may be empty and not the last.',
        }),
      ),
    }),
    envelope: 'raw',
    errors: [400, 404, 503],
    async answer({ params }, { connections, sourceLayers, pools }) {
      const connection = await connections.get(params.id);
      if (connection.body.provider === 'AwsS3' && !connections.isSource(connection))
        return objectsView(connection, await connections.objects(connection, queryOf(params)));
      if (!isDatabaseConnection(connection))
        return { tables: (await sourceLayers.list(connection.id)).flatMap(sourceTables) };
      const database = await connections.urlOf(connection);
      const { tables } = await pools.run('vector.tables', { database }, { deadlineMs: TABLES_MS });
      return { tables };
    },
  }),
  action('POST /connections/test', 'Test Draft Connection', {
    description: 'Connects within 10 seconds and says what keeps it from that. Nothing is kept.',
    body: anyCaseBody(NewConnection),
    data: TestResult,
    errors: [400],
    async answer({ body }, deps) {
      const credential = credentialOf(body, deps);
      const check = await deps.connections.testDraft(targetOf(body, deps), credential);
      return testResult(null, body.name, check);
    },
  }),
  action('POST /connections/{id}/test', 'Test Saved Connection', {
    description: 'As for a draft; the outcome is shown as the health of the connection.',
    params: byId,
    data: TestResult,
    errors: [400, 404],
    async answer({ params }, { connections }) {
      const stored = await connections.get(params.id);
      return testResult(stored.id, stored.body.name, await connections.test(stored));
    },
  }),
  report('POST /connections/encryption/validate', 'Validate Encryption Service', {
    description: 'Opens the password of each connection.',
    data: Type.Object({
      ...{ isValid: Type.Boolean(), currentKeyVersion: I, validatedAt: TimestampSchema },
      message: Type.String(),
    }),
    errors: [400],
    async answer(_x, { connections }) {
      const { isValid, version, message } = await connections.passwords.validate();
      return { isValid, currentKeyVersion: version, validatedAt: timestamp(Date.now()), message };
    },
  }),
  action('POST /connections/encryption/rotate-key', 'Rotate Encryption Key', {
    description: 'Makes a new key and wraps the keys of all passwords anew, while they are used.',
    data: Type.Object({
      ...{ previousKeyVersion: I, newKeyVersion: I, rotatedAt: TimestampSchema, message: Type.String() },
    }),
    errors: [400],
    async answer({ principal }, { connections }) {
      const { before, after, secrets } = await connections.passwords.rotate(actorOf(principal));
      return {
        ...{ previousKeyVersion: before, newKeyVersion: after.version },
        rotatedAt: timestamp(after.createdAt),
        message: `${secrets} passwords are under key ${after.version}.`,
      };
    },
  }),
]);

const TABLES_MS = 30_000;

type AddressBody = Pick<
  NewConnection,
  'host' | 'port' | 'databaseName' | 'username' | 'sslRequired' | 'sslMode'
>;

type Target = StoreAddress & { provider: 'PostGIS' | 'AwsS3' };

/** What is connected to. Throws 400 that names all that is wrong. */
function targetOf(body: AddressBody & Pick<NewConnection, 'provider' | 'region'>, deps: AdminDeps): Target {
  const { provider = 'PostGIS', region } = body;
  if (provider.toLowerCase() === 'awss3') return bucketOf(body, deps);
  requireSound([
    provider.toLowerCase() === 'postgis' ? undefined : problem('provider', 'must be PostGIS or AwsS3'),
    region === undefined ? undefined : problem('region', 'is of buckets alone'),
  ]);
  return { provider: 'PostGIS', ...addressOf(body, deps) };
}

function bucketOf(body: AddressBody & Pick<NewConnection, 'region'>, { connections }: AdminDeps): Target {
  const { host, databaseName, username, region } = body;
  const { sslMode } = sslOf(body, 'Require');
  requireSound([
    isHost(host) ? undefined : problem('host', 'must be one name or address'),
    isBucket(databaseName) ? undefined : problem('databaseName', 'must be the name of a bucket'),
    /^[\w+=,.@-]+$/.test(username) ? undefined : problem('username', 'must be an access key'),
    contradiction(body),
  ]);
  const address = { host, port: body.port ?? (speaksTls({ sslMode }) ? 443 : 80), databaseName, username };
  const unallowed = connections.storeProblem({ ...address, sslMode });
  requireSound([unallowed === undefined ? undefined : problem('host', unallowed)]);
  return { provider: 'AwsS3', ...address, sslMode, ...(region === undefined ? {} : { region }) };
}

/** Throws 400 that names all that is wrong. */
function addressOf(body: AddressBody, { connections }: AdminDeps): Address {
  const { host, port = 5432, databaseName, username } = body;
  const { sslMode } = sslOf(body, 'Require');
  const unallowed = hostProblem({ host, port }, connections.settings.allow);
  requireSound([
    isHost(host) ? undefined : problem('host', 'must be one name or address'),
    unallowed === undefined ? undefined : problem('host', 'is not in connections.allow'),
    ...[databaseName, username].map((text, i) =>
      text.includes('\0') ? problem(['databaseName', 'username'][i]!, 'must not hold NUL') : undefined,
    ),
    contradiction(body),
  ]);
  return { host, port, databaseName, username, sslMode };
}

/** Clients send sslRequired without a mode: false asks for no more than what the server offers. */
function sslOf(
  { sslRequired, sslMode }: Pick<ConnectionPatch, 'sslRequired' | 'sslMode'>,
  usual: SslMode,
): { sslMode: SslMode } {
  if (sslMode !== undefined) {
    const mode = MODES.find((one) => one.toLowerCase() === sslMode.toLowerCase());
    requireSound([mode ? undefined : problem('sslMode', `must be one of ${MODES.join(', ')}`)]);
    return { sslMode: mode! };
  }
  if (sslRequired === undefined || sslRequired === requiresSsl(usual)) return { sslMode: usual };
  return { sslMode: sslRequired ? 'Require' : 'Prefer' };
}

function contradiction({ sslRequired, sslMode }: Pick<ConnectionPatch, 'sslRequired' | 'sslMode'>) {
  const mode = MODES.find((one) => one.toLowerCase() === sslMode?.toLowerCase());
  return sslRequired && mode && !requiresSsl(mode)
    ? problem('sslMode', 'contradicts sslRequired')
    : undefined;
}

function credentialOf(
  { password, secretReference, secretType }: Credential,
  { connections }: AdminDeps,
): Credential {
  if (secretReference === undefined) {
    requireSound([
      secretType === undefined ? undefined : problem('secretType', 'needs secretReference'),
      password?.includes('\0') ? problem('password', 'must not hold NUL') : undefined,
    ]);
    return { password };
  }
  const wrong = referenceProblem(secretReference, connections.settings.secrets);
  const type = secretReference.split(':')[0]!;
  requireSound([
    password === undefined ? undefined : problem('password', 'is given, and secretReference too'),
    wrong === undefined ? undefined : problem('secretReference', wrong),
    secretType === undefined || secretType.toLowerCase() === type
      ? undefined
      : problem('secretType', `must be ${type}, as secretReference says`),
  ]);
  return { secretReference, secretType };
}

function queryOf(params: {
  prefix: string | undefined;
  cursor: string | undefined;
  limit: number;
}): ObjectQuery {
  return { prefix: params.prefix ?? '', cursor: params.cursor, limit: params.limit };
}

/** Objects in the form of tables: the bucket stands where a database has a schema. */
function objectsView(
  { body }: StoredConnection,
  { objects, next }: { objects: readonly DataObject[]; next: string | undefined },
) {
  const tables = objects.map(({ key, bytes, modified, format, isRaster }) => ({
    ...{ schema: body.databaseName, table: key, kind: isRaster ? 'raster' : 'object' },
    ...{ geometryColumn: null, geometryType: null, srid: null, geometryColumns: [], hasSpatialIndex: false },
    ...{ estimatedRows: null, comment: null, columns: [], format, bytes, modified },
  }));
  return { tables, ...(next === undefined ? {} : { nextCursor: next }) };
}

function summary(
  stored: StoredConnection,
  connections: Connections,
  check?: ConnectionCheck,
): Static<typeof Summary> {
  const { id, body, createdAt, createdBy } = stored;
  const { name, description, host, port, databaseName, username, sslMode, isActive } = body;
  return {
    ...{ connectionId: id, name, description, host, port, databaseName, username },
    ...{ sslRequired: requiresSsl(sslMode), sslMode, storageType: 'external', isActive },
    healthStatus: check === undefined ? 'unknown' : check.isHealthy ? 'healthy' : 'unhealthy',
    lastHealthCheck: optionalTimestamp(check?.testedAt ?? null),
    ...{ createdAt: timestamp(createdAt), createdBy, provider: providerOf(body) },
    owner: connections.isSource(stored) ? 'configuration' : 'api',
  };
}

function detail(
  stored: StoredConnection,
  connections: Connections,
  check?: ConnectionCheck,
): Static<typeof Detail> {
  const { password, secretReference } = stored.body;
  return {
    ...summary(stored, connections, check),
    credentialReference: secretReference,
    encryptionVersion: password === null ? null : keyVersionOf(password),
    updatedAt: timestamp(stored.updatedAt),
  };
}

function testResult(id: string | null, name: string, check: ConnectionCheck): Static<typeof TestResult> {
  const { isHealthy, testedAt, message, reason } = check;
  return {
    connectionId: id,
    connectionName: name,
    isHealthy,
    testedAt: timestamp(testedAt),
    message,
    reason,
  };
}
