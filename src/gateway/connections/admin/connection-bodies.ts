import Type, { type Static } from 'typebox';
import type { SourceKind } from '../../../core/exchange/ingest.js';
import { problem, requireSound } from '../../../core/http/body-problems.js';
import {
  type Address,
  isHost,
  OWN_PROVIDERS,
  requiresSsl,
  SSL_MODES,
  type SslMode,
} from '../../../services/connections/connection.js';
import type { Credential } from '../../../services/connections/connections.js';
import { hostProblem } from '../../../services/connections/hosts.js';
import {
  isBucket,
  isContainer,
  type StoreAddress,
  speaksTls,
} from '../../../services/connections/object-store.js';
import { referenceProblem } from '../../../services/connections/secrets.js';
import { isServiceKind, pathProblem, serviceAddress } from '../../../services/connections/service-address.js';
import type { Services } from '../../admin/deps.js';

/** Connections as callers send them. */

const MODES = Object.keys(SSL_MODES) as SslMode[];

const Name = Type.String({ minLength: 1, maxLength: 200 });
const Text = Type.String({ maxLength: 2000 });
/** Names of databases are shorter than paths of services. */
const DATABASE_NAME = 63;
const Place = Type.String({ maxLength: 2048 });
/** Access keys are longer than names of users of databases; services may be open. */
const User = Type.String({ maxLength: 256 });
const Port = Type.Integer({ minimum: 1, maximum: 65_535 });

const CHANGEABLE = {
  description: Type.Optional(Text),
  password: Type.Optional(Type.String({ maxLength: 1000 })),
  sslRequired: Type.Optional(Type.Boolean()),
  sslMode: Type.Optional(Type.String({ description: `One of ${MODES.join(', ')}, in any case.` })),
};
const Region = Type.Optional(Type.String({ pattern: '^[a-z0-9-]{1,40}$' }));
export const NewConnection = Type.Object({
  name: Name,
  host: Type.String({ minLength: 1, maxLength: 253 }),
  databaseName: Place,
  username: User,
  port: Type.Optional(Port),
  provider: Type.Optional(
    Type.String({
      description:
        'Default: PostGIS. AwsS3: databaseName is the bucket, username the access key. AzureBlob: databaseName is the container, username the storage account. Service kinds such as ogc-wfs: databaseName is a path.',
    }),
  ),
  region: Region,
  ...CHANGEABLE,
  secretReference: Type.Optional(Type.String({ minLength: 1, maxLength: 1000 })),
  secretType: Type.Optional(Type.String({ maxLength: 100 })),
});
export const ConnectionPatch = Type.Object({
  host: Type.Optional(Type.String({ minLength: 1, maxLength: 253 })),
  port: Type.Optional(Port),
  databaseName: Type.Optional(Place),
  username: Type.Optional(User),
  region: Region,
  ...CHANGEABLE,
  isActive: Type.Optional(Type.Boolean()),
});
export type NewConnection = Static<typeof NewConnection>;
export type ConnectionPatch = Static<typeof ConnectionPatch>;

type AddressBody = Pick<
  NewConnection,
  'host' | 'port' | 'databaseName' | 'username' | 'password' | 'sslRequired' | 'sslMode'
>;

type Target = StoreAddress & { provider: 'PostGIS' | 'AwsS3' | 'AzureBlob' | SourceKind };

/** Target of a connection. Throws 400 with all problems. */
export function readConnectionTarget(
  body: AddressBody & Pick<NewConnection, 'provider' | 'region'>,
  deps: Services<'connections'>,
): Target {
  const { provider: word = 'PostGIS', region } = body;
  const provider = OWN_PROVIDERS.find((one) => one.toLowerCase() === word.toLowerCase());
  if (provider === 'AwsS3') return readBucket(body, deps);
  requireSound([
    provider ? undefined : problem('provider', `must be one of ${OWN_PROVIDERS.join(', ')}`),
    region === undefined ? undefined : problem('region', 'is only for S3 buckets'),
  ]);
  if (provider === 'AzureBlob') return { provider, ...readContainer(body, deps) };
  if (provider && isServiceKind(provider)) return { provider, ...readService(body, deps) };
  return { provider: 'PostGIS', ...readAddress(body, deps) };
}

function readBucket(
  body: AddressBody & Pick<NewConnection, 'region'>,
  deps: Services<'connections'>,
): Target {
  const { databaseName, username, region } = body;
  const address = readRemote(
    body,
    [
      isBucket(databaseName) ? undefined : problem('databaseName', 'must be the name of a bucket'),
      /^[\w+=,.@-]+$/.test(username) ? undefined : problem('username', 'must be an access key'),
    ],
    deps,
  );
  return { provider: 'AwsS3', ...address, ...(region === undefined ? {} : { region }) };
}

function readContainer(body: AddressBody, deps: Services<'connections'>): Address {
  const { databaseName, username, password = '' } = body;
  const problems = [
    isContainer(databaseName) ? undefined : problem('databaseName', 'must be the name of a container'),
    /^[a-z0-9]{3,24}$/.test(username) ? undefined : problem('username', 'must be a storage account'),
    /^[A-Za-z0-9+/]*={0,2}$/.test(password)
      ? undefined
      : problem('password', 'must be an account key (base64)'),
  ];
  return readRemote(body, problems, deps);
}

function readService(body: AddressBody, deps: Services<'connections'>): Address {
  const wrongPath = pathProblem(body.databaseName);
  const address = readRemote(
    body,
    [
      wrongPath === undefined ? undefined : problem('databaseName', wrongPath),
      /^[\x20-\x7e]*$/.test(body.username) && !body.username.includes(':')
        ? undefined
        : problem('username', 'must be printable ASCII without a colon'),
    ],
    deps,
  );
  serviceAddress(address);
  return address;
}

/** Target of a connection over HTTP. */
function readRemote(
  body: AddressBody,
  problems: Parameters<typeof requireSound>[0],
  { connections }: Services<'connections'>,
): Address {
  const { host, databaseName, username } = body;
  const { sslMode } = chooseSslMode(body, 'Require');
  requireSound([
    isHost(host) ? undefined : problem('host', 'must be one host name or IP address'),
    ...problems,
    contradiction(body),
  ]);
  const port = body.port ?? (speaksTls({ sslMode }) ? 443 : 80);
  const address = { host, port, databaseName, username, sslMode };
  const unallowed = connections.remoteProblem(address);
  requireSound([unallowed === undefined ? undefined : problem('host', unallowed)]);
  return address;
}

/** Throws 400 that names all that is wrong. */
function readAddress(body: AddressBody, { connections }: Services<'connections'>): Address {
  const { host, port = 5432, databaseName, username } = body;
  const { sslMode } = chooseSslMode(body, 'Require');
  const unallowed = hostProblem({ host, port }, connections.settings.allow);
  requireSound([
    isHost(host) ? undefined : problem('host', 'must be one host name or IP address'),
    unallowed === undefined ? undefined : problem('host', unallowed),
    ...Object.entries({ databaseName, username }).map(([name, text]) =>
      /^[^\0]+$/.test(text)
        ? undefined
        : problem(name, 'must not be empty, and must not contain NUL characters'),
    ),
    databaseName.length > DATABASE_NAME
      ? problem('databaseName', `must have at most ${DATABASE_NAME} characters`)
      : undefined,
    contradiction(body),
  ]);
  return { host, port, databaseName, username, sslMode };
}

/** Clients send sslRequired without a mode: false means the mode that the server offers. */
export function chooseSslMode(
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
    ? problem('sslMode', 'contradicts sslRequired. Omit one of them')
    : undefined;
}

export function checkCredential(
  { password, secretReference, secretType }: Credential,
  { connections }: Services<'connections'>,
): Credential {
  if (secretReference === undefined) {
    requireSound([
      secretType === undefined ? undefined : problem('secretType', 'is only allowed with secretReference'),
      password?.includes('\0') ? problem('password', 'must not contain NUL characters') : undefined,
    ]);
    return { password };
  }
  const wrong = referenceProblem(secretReference, connections.settings.secrets);
  const type = secretReference.split(':')[0]!;
  requireSound([
    password === undefined
      ? undefined
      : problem('password', 'cannot be combined with secretReference. Send one of them'),
    wrong === undefined ? undefined : problem('secretReference', wrong),
    secretType === undefined || secretType.toLowerCase() === type
      ? undefined
      : problem('secretType', `must be ${type}, as secretReference says`),
  ]);
  return { secretReference, secretType };
}
