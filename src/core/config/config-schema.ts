import Type, { type Static, type TSchema } from 'typebox';
import { CERTIFICATE_HEADERS, CERTIFICATE_MODES } from '../access/client-certificates.js';
import { DEFAULT_TABLES } from '../catalog/table-rule.js';
import { FEDERATED_KINDS } from '../federation/federated-source.js';
import { PLACE_FIELDS } from '../geocoding/geocoding.js';
import { FEED_AGE_MS, LIMITS, OUTBOX_EVENTS } from '../kit/limits.js';
import { LOG_LEVELS } from '../kit/log-events.js';
import { DEPLOYMENT_ROLES } from '../licensing/capacity.js';
import { AlertChannelsSchema, OperatorNoticesSchema } from './alert-settings.js';
import { CONFIG_LIMITS } from './limits.js';

/**
 * All settings with type, bounds, default and description. The command line overrides the environment, which overrides the
 * file, which overrides the default. `observability.prometheus.path` is `SVC_OBSERVABILITY__PROMETHEUS__PATH` in the
 * environment. A description can end with "See docs/PAGE.md.", which the settings page turns into a link.
 */

const text = (description: string, value: string, extra = {}) =>
  Type.String({ description, default: value, ...extra });
const whole = (description: string, value: number, minimum: number, maximum: number) =>
  Type.Integer({ description, default: value, minimum, maximum });
const yes = (description: string, value: boolean) => Type.Boolean({ description, default: value });

const section = <T extends Record<string, TSchema>>(properties: T) =>
  Type.Object(properties, { additionalProperties: false, default: {} });

const bounded = (description: string, minimum: number, maximum: number) =>
  Type.Optional(Type.Integer({ description, minimum, maximum }));

const jobDeadline = (jobs: string, minutes: number) =>
  whole(`Maximum minutes for ${jobs}; then the job fails. 0 disables the limit.`, minutes, 0, 20_160);

const jobLimit = (jobs: string) =>
  bounded(`Maximum number of ${jobs} that run at the same time on all servers. Default: no limit.`, 1, 1000);

const TileSettingsSchema = Type.Object(
  {
    minZoom: bounded(
      'Minimum zoom level in WebMercatorQuad; other tile matrix sets use the zoom level with the same scale.',
      0,
      LIMITS.tileZoom,
    ),
    maxZoom: bounded('Maximum zoom level.', 0, LIMITS.tileZoom),
    properties: Type.Optional(
      Type.Array(Type.String(), { description: 'Attributes in vector tiles. Default: all attributes.' }),
    ),
    maxBytes: bounded('Maximum bytes of the layer in a vector tile, before compression.', 1000, 2 ** 30),
    maxFeatures: bounded('Maximum number of features of the layer in a vector tile.', 1, 10_000_000),
    maxAge: bounded('Seconds for which clients can cache a tile.', 0, 31_536_000),
  },
  { additionalProperties: false },
);

const WebhookSchema = Type.Object(
  {
    name: Type.String({
      description: 'Name of the receiver in the state database and the log.',
      pattern: '^[\\w.-]{1,64}$',
    }),
    url: Type.String({ description: 'HTTPS URL, or HTTP URL of a host in remote.allow.', minLength: 1 }),
    secret: Type.String({ description: 'Key that signs the requests.', minLength: 16 }),
    collections: Type.Optional(
      Type.Array(Type.String(), { description: 'Ids of collections. Default: all collections.' }),
    ),
    filter: Type.Optional(
      Type.String({ description: 'Filter for features, CQL2 text. Default: all features.' }),
    ),
  },
  { additionalProperties: false },
);
export type Webhook = Static<typeof WebhookSchema>;

/** Empty, or the name of a region. */
const REGION = '^[\\w.-]{0,64}$';
/** Empty, or a release. */
const RELEASE = '^[\\w.+-]{0,64}$';
const FederatedSourceSchema = Type.Object(
  {
    id: Type.String({
      description: 'Id of the source and name of its collection.',
      pattern: '^[a-z_][a-z0-9_]{0,59}$',
    }),
    kind: Type.String({
      enum: [...FEDERATED_KINDS],
      description: 'OgcFeatures or EsriRest.',
    }),
    url: Type.String({
      description: 'URL of the landing page, or of a FeatureServer or MapServer.',
      minLength: 1,
      maxLength: 2000,
    }),
    layer: Type.String({
      description: 'Id of a collection, or number of a layer.',
      minLength: 1,
      maxLength: 500,
    }),
    enabled: Type.Optional(Type.Boolean({ description: 'Whether the layer is published. Default: true.' })),
    timeoutSeconds: bounded('Timeout of a request to the source, in seconds. Default: 10.', 1, 60),
  },
  { additionalProperties: false },
);
export type ConfiguredFederatedSource = Static<typeof FederatedSourceSchema>;

/** Empty, or the name of a header. */
const HEADER_NAME = '^[\\w-]*$';

const SearchedFieldsSchema = Type.Object(
  Object.fromEntries(
    [...PLACE_FIELDS, 'address' as const, 'rank' as const].map((field) => [
      field,
      Type.Optional(Type.String({ description: 'Name of a field.', minLength: 1 })),
    ]),
  ),
  { additionalProperties: false },
);

const GeocodeServerSchema = Type.Object(
  {
    name: Type.String({ description: 'Name of the locator.', pattern: '^[A-Za-z_][\\w-]{0,63}$' }),
    url: Type.String({
      description: 'URL of the service: https://.../GeocodeServer',
      pattern: '^https?://.+',
    }),
  },
  { additionalProperties: false },
);

export const ConfigSchema = section({
  server: section({
    port: whole('Port for HTTP and WebSocket.', 8080, 0, 65_535),
    host: text('Address to listen on.', '0.0.0.0'),
    processes: whole('Number of gateway processes that share the port.', 1, 1, 64),
    role: Type.Union([Type.Literal('server'), Type.Literal('worker')], {
      description:
        'Role of this process tree. A worker runs jobs of servers with the same state; it serves only probes and metrics.',
      default: 'server',
    }),
    publicUrl: text('Origin and path prefix of all links. Default: taken from each request.', '', {
      format: 'public-url',
    }),
    trustProxy: Type.Array(Type.String({ format: 'network' }), {
      description:
        'Addresses and networks of trusted proxies. The server ignores X-Forwarded-For, -Proto, -Host and -Prefix of other clients.',
      default: [],
    }),
    tls: section({
      cert: text(
        'PEM file with the certificate and its intermediates; enables HTTPS. Default: plain HTTP. See docs/how-to/install/https.md.',
        '',
      ),
      key: text('PEM file with the private key of the certificate.', ''),
      clientCa: text(
        'PEM file with the authorities of client certificates; enables their verification. Requires Node.js 24. See docs/how-to/access/client-certificates.md.',
        '',
      ),
      redirectPort: whole('Port for plain HTTP that redirects to HTTPS. 0 disables it.', 0, 0, 65_535),
    }),
    vendor: text('Host name in problem type URIs.', 'graticule.invalid'),
  }),
  data: section({
    directory: text('Folder for the state, caches and converted files.', './graticule-data'),
    sources: Type.Array(Type.String(), {
      description:
        'Files, folders, PostGIS databases (postgresql://...) and URLs (https://, s3://, az://) to publish. Default: DATABASE_URL.',
      default: [],
    }),
    crs: Type.Record(Type.String(), Type.String({ minLength: 1 }), {
      description:
        'Coordinate reference systems by file name or path; they override the CRS in the file. Example: roads.shp: EPSG:27700, city.gpkg#plots: EPSG:25832.',
      default: {},
    }),
    watch: yes('Whether the server reloads the catalog when a published file changes.', true),
  }),
  workers: section({
    engines: whole('Number of engine processes (GDAL, Mapnik). 0: one per two cores.', 0, 0, 64),
    vectorThreads: whole('Number of threads that read and encode vector data. 0: one per core.', 0, 0, 128),
    queue: whole(
      'Maximum number of waiting tasks per pool. Further requests get 503.',
      CONFIG_LIMITS.poolQueue,
      1,
      100_000,
    ),
    waitMs: whole(
      'Maximum expected wait of a task in its queue, in milliseconds. Requests that would wait longer get 503.',
      CONFIG_LIMITS.poolWaitMs,
      10,
      60_000,
    ),
    heavyPerAddress: whole(
      'Maximum concurrent heavy requests per IP address (IPv6: /64 network) and gateway process, for clients without a key. More get 429.',
      CONFIG_LIMITS.heavyPerAddress,
      1,
      100_000,
    ),
  }),
  jobs: section({
    atOnce: whole(
      'Maximum concurrent jobs of each gateway process. With 0, other processes run the jobs. See docs/explanation/state.md.',
      3,
      0,
      64,
    ),
    deadlines: section({
      import: jobDeadline('an import of vector files', 720),
      'import-raster': jobDeadline('an import of rasters', 1440),
      'import-tiles': jobDeadline('an import of tile packages', 720),
      'import-wmts': jobDeadline('an import of WMTS tiles', 2880),
      export: jobDeadline('an export of a layer', 720),
      'reader-export': jobDeadline('an export for a reader', 120),
      merge: jobDeadline('a merge of a file into a collection', 720),
      process: jobDeadline('the execution of a process', 720),
      'multidim-scan': jobDeadline('the scan of a multidimensional coverage', 720),
      'tiles.cache': jobDeadline('seeding or evicting cached tiles', 10_080),
      'tiles.archive': jobDeadline('an export of tiles', 10_080),
      'tiles.publish': jobDeadline('an export of tiles that is then published', 10_080),
    }),
    limits: section({
      import: jobLimit('imports of vector files'),
      'import-raster': jobLimit('imports of rasters'),
      'import-tiles': jobLimit('imports of tile packages'),
      'import-wmts': jobLimit('imports of WMTS tiles'),
      'reader-export': jobLimit('exports for readers'),
      process: jobLimit('process executions'),
      'multidim-scan': jobLimit('scans of multidimensional coverages'),
      'tiles.cache': jobLimit('jobs that seed or evict cached tiles'),
      'tiles.archive': jobLimit('exports of tiles'),
      'tiles.publish': jobLimit('exports of tiles that are then published'),
    }),
    perOwner: jobLimit('jobs of one user, API key or client'),
    perTenant: jobLimit('jobs of one tenant'),
    importSeconds: whole(
      'Maximum seconds to read or unpack the file of an import; then the import fails.',
      LIMITS.importReadMs / 1000,
      1,
      604_800,
    ),
  }),
  operate: section({
    diagnose: Type.Array(Type.String(), {
      description:
        'Command and arguments that `graticule diagnose` gives its evidence to. Its output becomes a note of the finding. Empty: no command.',
      default: [],
    }),
  }),
  processes: section({
    approval: Type.Array(Type.String(), {
      description: 'Ids of processes that require an approval before execution.',
      default: [],
    }),
    memory: whole(
      'Maximum bytes of memory of the operating-system process of a job. A job that needs more fails.',
      LIMITS.processMemoryBytes,
      268_435_456,
      2 ** 50,
    ),
    pushDown: Type.Union([Type.Literal('measured'), Type.Literal('all'), Type.Literal('none')], {
      description:
        'Processes that PostGIS computes if all inputs are tables of one database: measured (those with less work there), all, or none. See docs/reference/apis/processes.md.',
      default: 'measured',
    }),
    spool: whole(
      'Maximum bytes of intermediate results of a plan, per job.',
      CONFIG_LIMITS.planSpoolBytes,
      1_048_576,
      2 ** 50,
    ),
  }),
  postgis: section({
    connections: whole('Maximum connections of each gateway process to each PostGIS database.', 8, 1, 1000),
    startWaitMs: whole(
      'Milliseconds that the start waits for the table list of a database. The tables of a slower database are published later.',
      3000,
      0,
      600_000,
    ),
    captureEdits: yes(
      'Whether triggers on the published tables capture edits by other programs. See docs/reference/apis/editing.md.',
      false,
    ),
    include: Type.Array(Type.String({ minLength: 1, maxLength: 200 }), {
      description:
        'Tables to publish: patterns for schema.table, or for table names in all schemas. * matches any characters, ? matches one.',
      default: [...DEFAULT_TABLES.include],
      maxItems: 1000,
    }),
    exclude: Type.Array(Type.String({ minLength: 1, maxLength: 200 }), {
      description: 'Tables to omit even if postgis.include matches them. Same patterns.',
      default: [...DEFAULT_TABLES.exclude],
      maxItems: 1000,
    }),
    maxTables: whole(
      'Maximum number of tables to publish from each database, in name order. A catalog finding lists the omitted tables.',
      DEFAULT_TABLES.maxTables,
      1,
      100_000,
    ),
  }),
  connections: section({
    allow: Type.Array(Type.String(), {
      description:
        'Hosts of databases that operators can connect: names, *.example.org, addresses or networks, optionally with a port. * allows all hosts. See docs/how-to/data/connections.md.',
      default: ['*'],
    }),
    secrets: Type.Array(Type.String({ pattern: '^(env|file):.+$' }), {
      description:
        'Environment variables and files that the secretReference of a connection can name. A final * matches any characters.',
      default: ['env:CONNECTION_*', 'file:/run/secrets/connections/*'],
    }),
    certificates: text(
      'PEM file with the certificate authorities of databases, for VerifyCA and VerifyFull.',
      '/etc/ssl/certs/ca-certificates.crt',
    ),
  }),
  state: section({
    url: text(
      'PostgreSQL database for the state (postgresql://...). Default: state.db in the data folder. See docs/explanation/state.md.',
      '',
      { 'x-secret': true, format: 'state-url' },
    ),
    connections: whole(
      'Maximum connections of each gateway process to the state database.',
      8,
      1,
      CONFIG_LIMITS.stateConnections,
    ),
    connectMs: whole('Milliseconds to wait for a connection.', 3000, 100, 60_000),
    statementMs: whole(
      'Maximum milliseconds of one statement, including waits for locks.',
      10_000,
      100,
      600_000,
    ),
    graceSeconds: whole(
      'Seconds for which a server without its state database serves data with cached rules and keys; then it returns 503. 0: no limit. See docs/explanation/state.md.',
      0,
      0,
      86_400,
    ),
  }),
  storage: section({
    url: text(
      'Bucket for imported rasters and tile archives, shared by all servers of a state: s3://bucket/prefix. Default: the data folder. See docs/explanation/state.md.',
      '',
      { format: 'storage-url' },
    ),
  }),
  access: section({
    default: Type.Union(
      (['open', 'closed'] as const).map((one) => Type.Literal(one)),
      {
        description:
          'Access to layers without an access policy. With `open`, everyone can read them. With `closed`, only callers with a grant can. See docs/reference/server/access.md.',
        default: 'open',
      },
    ),
  }),
  remote: section({
    allow: Type.Array(Type.String(), {
      description:
        'Hosts that the server can read remote data from: names, *.example.org, addresses or networks, optionally with a port (10.0.0.0/8:8080, [::1]:9000). List private addresses explicitly.',
      default: [],
    }),
  }),
  federation: section({
    sources: Type.Array(FederatedSourceSchema, {
      description:
        'Layers of other servers on hosts in remote.allow, which the server queries live. See docs/how-to/data/federation.md.',
      default: [],
    }),
  }),
  geocoding: section({
    enabled: yes(
      'Whether the server offers GeocodeServer services. See docs/reference/apis/geocoding.md.',
      true,
    ),
    open: yes('Whether anonymous users can use the locators.', true),
    locator: text('Locator for requests that name none. Default: the first locator by name.', ''),
    collections: Type.Record(Type.String(), SearchedFieldsSchema, {
      description:
        'Locators by collection id, with the fields of the collection. Example: {name: NAME, country: SOVEREIGNT}.',
      default: {},
    }),
    servers: Type.Array(GeocodeServerSchema, {
      description: 'Name and URL of GeocodeServer services on hosts in remote.allow.',
      default: [],
    }),
    order: Type.Array(Type.String(), {
      description:
        'Order of providers for requests that name no locator: local, and names of servers. Unlisted providers come last.',
      default: [],
    }),
    failover: yes('Whether the server queries the next provider when one fails or times out.', true),
    timeoutSeconds: whole('Maximum seconds for the response of a provider.', 10, 1, 60),
    cacheMinutes: whole('Minutes for which responses of other servers are cached.', 60, 0, 10_080),
  }),
  cache: section({
    tileBytes: whole('Maximum bytes of tiles in the memory cache.', CONFIG_LIMITS.tileCacheBytes, 0, 2 ** 40),
    disk: section({
      directory: text('Folder of the disk cache, which survives restarts. Default: no disk cache.', ''),
      bytes: whole(
        'Maximum bytes of tiles in the disk cache.',
        CONFIG_LIMITS.diskTileBytes,
        1_048_576,
        2 ** 50,
      ),
    }),
    redis: section({
      url: text(
        'Redis server for tiles and messages that several servers share (redis://...). Default: no Redis.',
        '',
        {
          'x-secret': true,
        },
      ),
    }),
  }),
  cdn: section({
    header: text(
      'Response header for the purge tags of a content delivery network: Surrogate-Key, Cache-Tag or xkey. Default: no header. See docs/how-to/operate/scaling.md.',
      '',
      { pattern: HEADER_NAME },
    ),
    purge: section({
      url: text('URL that receives a purge request after edits. Default: no purge requests.', ''),
      method: text('Method of the purge request.', 'POST', { pattern: '^[A-Z]{1,16}$' }),
      header: text(
        'Header of the purge request that contains the tags. Default: a JSON body, {"tags": [...]}.',
        '',
        {
          pattern: HEADER_NAME,
        },
      ),
      credential: text('Additional header of the purge request. Example: Fastly-Key: secret.', '', {
        'x-secret': true,
        pattern: '^$|^[\\w-]+: ?[\\x20-\\x7e]+$',
      }),
    }),
  }),
  tiles: section({
    matrixSets: Type.Array(Type.Unknown(), {
      description:
        'Additional tile matrix sets: definitions (OGC 17-083r4, JSON) or names of files with a definition.',
      default: [],
    }),
    collections: Type.Record(Type.String(), TileSettingsSchema, {
      description:
        'Tile settings by collection id: minZoom, maxZoom, properties, maxBytes, maxFeatures, maxAge.',
      default: {},
    }),
  }),
  pages: section({
    basemap: text(
      'Base map of the HTML pages: own (coasts, borders and names), none, a MapLibre style (URL or .json file), or an image tile URL with {z}, {x} and {y}.',
      'own',
      { format: 'basemap' },
    ),
    attribution: text('Additional attribution on the base map.', ''),
  }),
  streaming: section({
    maxSessions: whole('Maximum number of open stream sessions.', CONFIG_LIMITS.streamSessions, 0, 1_000_000),
    perAddress: whole(
      'Maximum sessions per IP address (IPv6: /64 network) for clients without a key. A quarter of all sessions is reserved for keys.',
      CONFIG_LIMITS.streamSessionsPerAddress,
      0,
      1_000_000,
    ),
    perKey: whole('Maximum sessions per API key.', CONFIG_LIMITS.streamSessionsPerKey, 1, 1_000_000),
  }),
  events: section({
    retention: section({
      count: whole(
        'Maximum number of events in the change feed and in each outbox.',
        OUTBOX_EVENTS,
        1000,
        1_000_000,
      ),
      hours: whole('Maximum age of events, in hours.', FEED_AGE_MS / 3_600_000, 1, 8760),
    }),
    webhooks: Type.Array(WebhookSchema, {
      description:
        'Receivers of feature events: name, url, secret, optionally collections and filter (CQL2 text). See docs/how-to/operate/webhooks.md.',
      default: [],
      'x-secret': true,
    }),
  }),
  alerts: section({ channels: AlertChannelsSchema, notices: OperatorNoticesSchema }),
  logging: section({
    level: Type.Union(
      LOG_LEVELS.map((level) => Type.Literal(level)),
      { description: 'Minimum level of log lines.', default: 'Information' },
    ),
  }),
  observability: section({
    enabled: yes('Whether the server offers metrics to Prometheus. If not, their path returns 404.', true),
    prometheus: section({
      path: text('Path of the metrics for Prometheus.', '/metrics', { pattern: '^/[\\w/.-]+$' }),
    }),
    slowStatementMs: whole(
      'Milliseconds from which a database statement is slow. Slow statements are listed without their values. 0 lists all statements.',
      250,
      0,
      600_000,
    ),
    otlpEndpoint: text(
      'URL of an OTLP collector (HTTP) for traces, metrics and logs. Default: no export.',
      '',
    ),
  }),
  diagnostics: section({
    bundles: section({
      days: whole('Days for which the server keeps a diagnostic bundle.', 30, 1, 3650),
      count: whole('Maximum number of diagnostic bundles. Further ones return 409.', 100, 0, 10_000),
    }),
  }),
  licensing: section({
    enabled: yes(
      'Whether operations without an entitlement of the licence return 402. See docs/how-to/operate/licence.md.',
      false,
    ),
    keys: text('JWKS file with the Ed25519 public keys that verify licences. Default: no keys.', ''),
    file: text(
      'Licence file. It is in force until a licence is uploaded. Default: only uploaded licences.',
      '',
    ),
    deploymentRole: Type.Union(
      DEPLOYMENT_ROLES.map((role) => Type.Literal(role)),
      {
        description:
          'Role of this server. Only servers with the role production count towards the capacity of the licence.',
        default: 'production',
      },
    ),
  }),
  deploy: section({
    release: text(
      'Release that all servers of the state run. `POST /platform-release/converge` creates the operation to it. Default: no declared release. See docs/how-to/operate/deploy.md.',
      '',
      { pattern: RELEASE },
    ),
    artifact: text('Image or package of the declared release, for the operator.', '', { maxLength: 1024 }),
    pinned: Type.Array(Type.Literal('servers'), {
      description: 'Targets that keep their release: `servers` refuses all deploy operations. Default: none.',
      default: [],
    }),
  }),
  compliance: section({
    primaryRegion: text('Region of the data, for the residency policy. Default: no region.', '', {
      pattern: REGION,
    }),
    allowedRegions: Type.Array(Type.String({ pattern: REGION, minLength: 1 }), {
      description:
        'Regions that the residency policy allows. Default: all regions. See docs/how-to/operate/compliance.md.',
      default: [],
    }),
  }),
  security: section({
    adminKey: text('First administrator key. Default: a generated key, which the server prints once.', '', {
      'x-secret': true,
    }),
    stateKey: text(
      'Key that encrypts the secrets in the state, identical on all servers of a state. Default: no encryption.',
      '',
      { 'x-secret': true },
    ),
    passwordAttempts: whole(
      'Maximum wrong passwords and client secrets per IP address (IPv6: /64 network) in 15 minutes. More attempts get 429. 0 disables the limit.',
      30,
      0,
      100_000,
    ),
    clientCertificates: section({
      mode: Type.Union(
        CERTIFICATE_MODES.map((mode) => Type.Literal(mode)),
        {
          description:
            'Requests that require a client certificate: data (RequiredForNative), management API (RequiredForAdmin) or everything (RequiredForEnvironment). See docs/how-to/access/client-certificates.md.',
          default: 'Disabled',
        },
      ),
      environmentId: text('Environment whose trust profiles and mappings apply to this server.', 'default', {
        pattern: '^[\\w.-]{1,100}$',
      }),
      header: Type.Union(
        CERTIFICATE_HEADERS.map((name) => Type.Literal(name)),
        {
          description:
            'Header in which trusted proxies forward the client certificate. The proxies must remove it from client requests. Default: no header.',
          default: '',
        },
      ),
    }),
  }),
  releases: section({
    environment: text(
      'Name of this environment in release packages. See docs/how-to/operate/release-packages.md.',
      'default',
      {
        pattern: '^[\\w.-]{1,100}$',
      },
    ),
    key: text(
      'Key that signs release packages: at least 16 characters, identical in all environments. Default: no signature.',
      '',
      { 'x-secret': true, pattern: '^(.{16,})?$' },
    ),
  }),
});
