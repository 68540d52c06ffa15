import Type, { type Static, type TSchema } from 'typebox';
import { CERTIFICATE_HEADERS, CERTIFICATE_MODES } from '../access/client-certificates.js';
import { DEFAULT_TABLES } from '../catalog/table-rule.js';
import { PLACE_FIELDS } from '../geocoding/geocoding.js';
import { FEED_AGE_MS, LIMITS, OUTBOX_EVENTS } from '../kit/limits.js';
import { LOG_LEVELS } from '../kit/log-events.js';
import { CONFIG_LIMITS } from './limits.js';

/**
 * Every setting, once: name, type, bounds, default, meaning. A value comes from a command-line flag, else the
 * environment, else the file, else the default. `observability.prometheus.path` is
 * `SVC_OBSERVABILITY__PROMETHEUS__PATH` in the environment.
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
  whole(`Minutes that a run of ${jobs} may take before the job fails. 0: any time.`, minutes, 0, 20_160);

const jobLimit = (jobs: string) =>
  bounded(`${jobs} that run at a time on all servers together; as many as have room when absent.`, 1, 1000);

const TileSettingsSchema = Type.Object(
  {
    minZoom: bounded('First zoom level of WebMercatorQuad; other sets go by its scale.', 0, LIMITS.tileZoom),
    maxZoom: bounded('Last zoom level.', 0, LIMITS.tileZoom),
    properties: Type.Optional(
      Type.Array(Type.String(), { description: 'Attributes that vector tiles carry; all when absent.' }),
    ),
    maxBytes: bounded('Bytes of the layer in a vector tile, before compression.', 1000, 2 ** 30),
    maxFeatures: bounded('Features of the layer in a vector tile.', 1, 10_000_000),
    maxAge: bounded('Seconds that clients may keep a tile.', 0, 31_536_000),
  },
  { additionalProperties: false },
);

const WebhookSchema = Type.Object(
  {
    name: Type.String({
      description: 'Names it in the state database and the log.',
      pattern: '^[\\w.-]{1,64}$',
    }),
    url: Type.String({ description: 'https, or http to a host of remote.allow.', minLength: 1 }),
    secret: Type.String({ description: 'Key of the signatures.', minLength: 16 }),
    collections: Type.Optional(Type.Array(Type.String(), { description: 'Ids; all when absent.' })),
    filter: Type.Optional(Type.String({ description: 'CQL2 text that features must pass.' })),
  },
  { additionalProperties: false },
);
export type Webhook = Static<typeof WebhookSchema>;

/** Nothing, or the name of a header. */
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
    name: Type.String({ description: 'Names it among the locators.', pattern: '^[A-Za-z_][\\w-]{0,63}$' }),
    url: Type.String({ description: 'https://.../GeocodeServer', pattern: '^https?://.+' }),
  },
  { additionalProperties: false },
);

export const ConfigSchema = section({
  server: section({
    port: whole('Port of HTTP and WebSocket.', 8080, 0, 65_535),
    host: text('Address to listen on.', '0.0.0.0'),
    processes: whole('Gateway processes that share the port.', 1, 1, 64),
    role: Type.Union([Type.Literal('server'), Type.Literal('worker')], {
      description: 'A worker runs jobs of the servers of its state, and answers probes and scrapes only.',
      default: 'server',
    }),
    publicUrl: text(
      'Origin and path prefix that links start with; derived from each request when empty.',
      '',
    ),
    trustProxy: Type.Array(Type.String({ format: 'network' }), {
      description:
        'Addresses and networks of proxies whose X-Forwarded-For, -Proto, -Host and -Prefix count; those of others are ignored.',
      default: [],
    }),
    tls: section({
      cert: text(
        'File (PEM) of the certificate and those that lead to its root; the server speaks HTTPS then (docs/how-to/install/https.md). Plain HTTP when empty.',
        '',
      ),
      key: text('File (PEM) of its key.', ''),
      clientCa: text(
        'File (PEM) of the authorities whose client certificates are asked for (docs/how-to/access/client-certificates.md); none are when empty. Needs Node.js 24.',
        '',
      ),
      redirectPort: whole('Port of plain HTTP that leads to HTTPS; none when 0.', 0, 0, 65_535),
    }),
    vendor: text('Host name in problem type URIs.', 'graticule.invalid'),
  }),
  data: section({
    directory: text('Folder for state and stores.', './graticule-data'),
    sources: Type.Array(Type.String(), {
      description:
        'Files, folders, PostGIS databases (postgresql://...) and URLs (https://, s3://, az://) to publish; DATABASE_URL when there are none.',
      default: [],
    }),
    crs: Type.Record(Type.String(), Type.String({ minLength: 1 }), {
      description:
        'Coordinate reference systems of files that name none, or a wrong one, by file name or path: roads.shp: EPSG:27700, city.gpkg#plots: EPSG:25832.',
      default: {},
    }),
    watch: yes('Reload the catalog when a published file changes.', true),
  }),
  workers: section({
    engines: whole('Engine processes (GDAL, Mapnik); 0 means one per two cores.', 0, 0, 64),
    vectorThreads: whole('Threads that read and encode vector data; 0 means one per core.', 0, 0, 128),
    queue: whole(
      'Tasks that may wait per pool before requests get 503.',
      CONFIG_LIMITS.poolQueue,
      1,
      100_000,
    ),
    waitMs: whole(
      'Milliseconds that a task may be expected to wait, at the pace of its queue, before requests get 503.',
      CONFIG_LIMITS.poolWaitMs,
      10,
      60_000,
    ),
    heavyPerAddress: whole(
      'Heavy requests of one IP address (one /64 network of IPv6) that may run or wait at the same time in each gateway process. Requests with a key have no such limit. More get 429.',
      CONFIG_LIMITS.heavyPerAddress,
      1,
      100_000,
    ),
  }),
  jobs: section({
    atOnce: whole(
      'Jobs that each process runs at a time; with 0 it leaves them to others. One owner gets all but one of these places, and long jobs (processes, tiles, scans) leave one to imports and exports (docs/explanation/state.md).',
      3,
      0,
      64,
    ),
    deadlines: section({
      import: jobDeadline('imports of vector files', 720),
      'import-raster': jobDeadline('imports of rasters', 1440),
      'import-tiles': jobDeadline('imports of tile packages', 720),
      'import-wmts': jobDeadline('imports of tiles of a WMTS', 2880),
      export: jobDeadline('exports of layers', 720),
      merge: jobDeadline('merges of files into collections', 720),
      process: jobDeadline('executions of processes', 720),
      'multidim-scan': jobDeadline('scans of multidimensional coverages', 720),
      'tiles.cache': jobDeadline('seedings and drops of cached tiles', 10_080),
      'tiles.archive': jobDeadline('exports of tiles', 10_080),
      'tiles.publish': jobDeadline('exports of tiles that are published', 10_080),
    }),
    limits: section({
      import: jobLimit('Imports of vector files'),
      'import-raster': jobLimit('Imports of rasters'),
      'import-tiles': jobLimit('Imports of tile packages'),
      'import-wmts': jobLimit('Imports of tiles of a WMTS'),
      process: jobLimit('Executions of processes'),
      'multidim-scan': jobLimit('Scans of multidimensional coverages'),
      'tiles.cache': jobLimit('Seedings and drops of cached tiles'),
      'tiles.archive': jobLimit('Exports of tiles'),
      'tiles.publish': jobLimit('Exports of tiles that are published'),
    }),
    perOwner: jobLimit('Jobs of one user, key or client'),
    perTenant: jobLimit('Jobs of all callers of one tenant'),
    importSeconds: whole(
      'Maximum seconds for reading the file of an import, and for unpacking it; the import fails afterwards.',
      LIMITS.importReadMs / 1000,
      1,
      604_800,
    ),
  }),
  processes: section({
    approval: Type.Array(Type.String(), {
      description: 'Ids of processes that nobody executes without approval.',
      default: [],
    }),
    memory: whole(
      'Bytes of memory that the process of a job may need; one that needs more fails.',
      LIMITS.processMemoryBytes,
      268_435_456,
      2 ** 50,
    ),
    pushDown: Type.Union([Type.Literal('measured'), Type.Literal('all'), Type.Literal('none')], {
      description:
        'Which processes over tables of one PostGIS database it computes: those that were measured to take less work there, all that it is able to, or none (docs/reference/apis/processes.md).',
      default: 'measured',
    }),
    spool: whole(
      'Bytes that the steps of a plan may leave for each other, of each job.',
      CONFIG_LIMITS.planSpoolBytes,
      1_048_576,
      2 ** 50,
    ),
  }),
  postgis: section({
    connections: whole('Connections to each PostGIS database, per gateway process.', 8, 1, 1000),
    startWaitMs: whole(
      'Milliseconds that the start waits for the tables of a database. The tables of a slower database are published later.',
      3000,
      0,
      600_000,
    ),
    captureEdits: yes(
      'Tell edits that others make in the database, by triggers on the published tables (docs/reference/apis/editing.md).',
      false,
    ),
    include: Type.Array(Type.String({ minLength: 1, maxLength: 200 }), {
      description:
        'Tables to publish: patterns of schema.table, or of tables in any schema. * stands for any characters, ? for one.',
      default: [...DEFAULT_TABLES.include],
      maxItems: 1000,
    }),
    exclude: Type.Array(Type.String({ minLength: 1, maxLength: 200 }), {
      description: 'Tables to omit although postgis.include matches them: patterns as there.',
      default: [...DEFAULT_TABLES.exclude],
      maxItems: 1000,
    }),
    maxTables: whole(
      'Maximum number of tables to publish from each database. If a database has more, the first in the order of their names are published. A finding of the catalog names the others.',
      DEFAULT_TABLES.maxTables,
      1,
      100_000,
    ),
  }),
  connections: section({
    allow: Type.Array(Type.String(), {
      description:
        'Hosts that databases may be connected to over the management API: names, *.example.org, addresses and networks, each perhaps with a port; * is any host (docs/how-to/data/connections.md).',
      default: ['*'],
    }),
    secrets: Type.Array(Type.String({ pattern: '^(env|file):.+$' }), {
      description:
        'What secretReference of a connection may name: variables of the environment and files; * at the end stands for any rest.',
      default: ['env:CONNECTION_*', 'file:/run/secrets/connections/*'],
    }),
    certificates: text(
      'PEM file with the certificates of authorities that sign those of databases, for VerifyCA and VerifyFull.',
      '/etc/ssl/certs/ca-certificates.crt',
    ),
  }),
  state: section({
    url: text(
      'PostgreSQL database of what the server remembers (postgresql://...); the file state.db in the data folder when empty (docs/explanation/state.md).',
      '',
      { 'x-secret': true, format: 'state-url' },
    ),
    connections: whole(
      'Connections that each gateway process may have to it.',
      8,
      1,
      CONFIG_LIMITS.stateConnections,
    ),
    connectMs: whole('Milliseconds to wait for a connection.', 3000, 100, 60_000),
    statementMs: whole('Milliseconds of one statement, waiting for locks included.', 10_000, 100, 600_000),
    graceSeconds: whole(
      'Seconds for which a server that cannot reach this database answers requests by the rules and keys that it remembers; then it answers 503. 0: without end (docs/explanation/state.md).',
      0,
      0,
      86_400,
    ),
  }),
  storage: section({
    url: text(
      'Where imported rasters and tile archives are kept: s3://bucket/prefix, for all servers of a state; the data folder when empty (docs/explanation/state.md).',
      '',
      { format: 'storage-url' },
    ),
  }),
  access: section({
    default: Type.Union(
      (['open', 'closed'] as const).map((one) => Type.Literal(one)),
      {
        description:
          'Access of layers without an access policy of their own or of their service: `open` lets everybody read them, `closed` only callers with a grant; docs/reference/server/access.md.',
        default: 'open',
      },
    ),
  }),
  remote: section({
    allow: Type.Array(Type.String(), {
      description:
        'Hosts that remote archives and rasters may be read from: names, *.example.org, addresses and networks, each with or without a port (example.org:8443, 10.0.0.0/8:8080, [::1]:9000). Addresses that are not public must be listed themselves.',
      default: [],
    }),
  }),
  geocoding: section({
    enabled: yes('Answer at GeocodeServer (docs/reference/apis/geocoding.md).', true),
    open: yes('Locators answer everybody; when off, those who come with a key or signed in.', true),
    locator: text(
      'Locator that is asked where a request names none; the first one by its name when empty.',
      '',
    ),
    collections: Type.Record(Type.String(), SearchedFieldsSchema, {
      description:
        'Collections that are locators, by their ids: which of their fields say what, such as {name: NAME, country: SOVEREIGNT}.',
      default: {},
    }),
    servers: Type.Array(GeocodeServerSchema, {
      description: 'GeocodeServers of other servers, on hosts of remote.allow: name and url.',
      default: [],
    }),
    order: Type.Array(Type.String(), {
      description:
        'Providers in the order in which they are asked where a request names no locator: local, and names of servers. Those that are left out come last.',
      default: [],
    }),
    failover: yes('Ask the next provider when one fails or is late.', true),
    timeoutSeconds: whole('Seconds that a provider may take.', 10, 1, 60),
    cacheMinutes: whole('Minutes for which answers of other servers are kept.', 60, 0, 10_080),
  }),
  cache: section({
    tileBytes: whole('Bytes of tiles kept in memory.', CONFIG_LIMITS.tileCacheBytes, 0, 2 ** 40),
    disk: section({
      directory: text('Folder for tiles that outlive restarts; none when empty.', ''),
      bytes: whole('Bytes of tiles kept there.', CONFIG_LIMITS.diskTileBytes, 1_048_576, 2 ** 50),
    }),
    redis: section({
      url: text('Redis for tiles and notes shared by several servers (redis://...); none when empty.', '', {
        'x-secret': true,
      }),
    }),
  }),
  cdn: section({
    header: text(
      'Header in which tiles name the tags that a content delivery network purges by: Surrogate-Key, Cache-Tag, xkey; none when empty (docs/how-to/operate/scaling.md).',
      '',
      { pattern: HEADER_NAME },
    ),
    purge: section({
      url: text('Where purges are sent after edits; nowhere when empty.', ''),
      method: text('Method of that request.', 'POST', { pattern: '^[A-Z]{1,16}$' }),
      header: text('Header that carries the tags; a JSON body, {"tags": [...]}, when empty.', '', {
        pattern: HEADER_NAME,
      }),
      credential: text('A header that is sent along, such as Fastly-Key: secret; none when empty.', '', {
        'x-secret': true,
        pattern: '^$|^[\\w-]+: ?[\\x20-\\x7e]+$',
      }),
    }),
  }),
  tiles: section({
    matrixSets: Type.Array(Type.Unknown(), {
      description:
        'Tile matrix sets beside those that are built in: definitions (OGC 17-083r4, JSON), or the names of files that hold one.',
      default: [],
    }),
    collections: Type.Record(Type.String(), TileSettingsSchema, {
      description:
        'How tiles of a collection are made, by its id: minZoom, maxZoom, properties, maxBytes, maxFeatures, maxAge.',
      default: {},
    }),
  }),
  pages: section({
    basemap: text(
      'What lies under the data on the maps of the pages: own (coasts, borders and names, from this server), none, the URL or the .json file of a MapLibre style, or a URL of image tiles with {z}, {x} and {y}.',
      'own',
      { format: 'basemap' },
    ),
    attribution: text('Who is named on these maps, beside what a style names.', ''),
  }),
  streaming: section({
    maxSessions: whole(
      'Sessions of feature streams that may be open at once.',
      CONFIG_LIMITS.streamSessions,
      0,
      1_000_000,
    ),
    perAddress: whole(
      'Of these, those of clients without a key at one address (one /64 network of IPv6). A quarter is left to keys.',
      CONFIG_LIMITS.streamSessionsPerAddress,
      0,
      1_000_000,
    ),
    perKey: whole('Of these, those of one key.', CONFIG_LIMITS.streamSessionsPerKey, 1, 1_000_000),
  }),
  events: section({
    retention: section({
      count: whole('Events that the feed and each outbox keep.', OUTBOX_EVENTS, 1000, 1_000_000),
      hours: whole('Hours that they are kept at most.', FEED_AGE_MS / 3_600_000, 1, 8760),
    }),
    webhooks: Type.Array(WebhookSchema, {
      description:
        'Receivers of feature events over HTTP (docs/how-to/operate/webhooks.md): name, url, secret, and perhaps collections and a filter (CQL2 text).',
      default: [],
      'x-secret': true,
    }),
  }),
  logging: section({
    level: Type.Union(
      LOG_LEVELS.map((level) => Type.Literal(level)),
      { description: 'Least level that is written.', default: 'Information' },
    ),
  }),
  observability: section({
    enabled: yes('Serve the metrics scrape; 404 when off.', true),
    prometheus: section({ path: text('Path of the scrape.', '/metrics', { pattern: '^/[\\w/.-]+$' }) }),
    otlpEndpoint: text('Where traces, metrics and logs are pushed (OTLP over HTTP); nowhere when empty.', ''),
  }),
  licensing: section({
    enabled: yes('Answer 402 to what the entitlements do not cover.', false),
    entitlements: Type.Array(Type.String(), {
      description: 'What the licence covers: spatial-analytics, raster.temporal-mosaic.',
      default: [],
    }),
  }),
  security: section({
    adminKey: text('First administrator key; generated and printed once when empty.', '', {
      'x-secret': true,
    }),
    stateKey: text(
      'Encrypts private keys and the secrets of providers in the state; the same on all servers of a state. Without it they lie there as they are.',
      '',
      { 'x-secret': true },
    ),
    passwordAttempts: whole(
      'Maximum wrong passwords and client secrets per IP address (IPv6: per /64 network) within 15 minutes; further attempts get 429. 0 disables the limit.',
      30,
      0,
      100_000,
    ),
    clientCertificates: section({
      mode: Type.Union(
        CERTIFICATE_MODES.map((mode) => Type.Literal(mode)),
        {
          description:
            'Whether callers may, or must, show a client certificate: for data (RequiredForNative), the management API (RequiredForAdmin) or both and all pages (RequiredForEnvironment); docs/how-to/access/client-certificates.md.',
          default: 'Disabled',
        },
      ),
      environmentId: text('Environment whose trust profiles and mappings hold here.', 'default', {
        pattern: '^[\\w.-]{1,100}$',
      }),
      header: Type.Union(
        CERTIFICATE_HEADERS.map((name) => Type.Literal(name)),
        {
          description:
            'Header in which the proxies of server.trustProxy pass the certificate on, and which they take away from requests that bring it; none when empty.',
          default: '',
        },
      ),
    }),
  }),
  releases: section({
    environment: text(
      'Name of this environment in release packages (docs/how-to/operate/release-packages.md).',
      'default',
      {
        pattern: '^[\\w.-]{1,100}$',
      },
    ),
    key: text(
      'Signs release packages; the same, of 16 characters or more, in all environments that take them from each other. Without it they are not signed.',
      '',
      { 'x-secret': true, pattern: '^(.{16,})?$' },
    ),
  }),
});
