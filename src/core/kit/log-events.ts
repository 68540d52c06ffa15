/** Levels as the readers of compact JSON logs (CLEF) name them. */
export const LOG_LEVELS = ['Verbose', 'Debug', 'Information', 'Warning', 'Error', 'Fatal'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

/** A kind of log line. */
export interface LogEvent {
  /** Number of the kind. It never changes, and no other kind gets it. */
  readonly id: number;
  readonly level: LogLevel;
  /**
   * Text of the line, unless its writer passes another. `{Name}` is replaced by the property of that name, `{Error}` by the
   * message of the exception if there is no such property.
   */
  readonly message: string;
}

const information = (id: number, message: string) => ({ id, level: 'Information', message }) as const;
const warning = (id: number, message: string) => ({ id, level: 'Warning', message }) as const;
const error = (id: number, message: string) => ({ id, level: 'Error', message }) as const;

/** All kinds of log lines by name. The first two digits of an id are its subject. The page of logs is generated from this table. */
export const LOG_EVENTS = {
  'http.request.completed': information(1000, 'request completed'),
  'http.request.failed': error(1001, 'request failed inside the server; the client received an error 5xx'),
  'http.response.failed': error(1002, 'the server could not send the response'),
  'http.frame.failed': error(1003, 'the server could not process a WebSocket frame; the session continues'),
  'http.certificate.renewed': information(
    1004,
    'the server loaded the renewed TLS certificate; new connections use it',
  ),
  'http.certificate.failed': error(
    1005,
    'the server could not load the renewed TLS certificate; it keeps the previous one',
  ),
  'http.request.unavailable': warning(
    1006,
    'request failed because a database, a remote server or a worker was busy or did not respond',
  ),
  'http.certificate.expiring': warning(
    1007,
    'the TLS certificate of the server expires in {Days} days, at {End}',
  ),
  'http.certificate.expired': error(
    1008,
    'the TLS certificate of the server expired at {End}; clients refuse the connection',
  ),

  'process.rejection': error(1100, 'the process had an unhandled promise rejection; it continues'),
  'process.exception': error(1101, 'the process had an uncaught exception; it exits'),
  'process.ended': error(1102, 'a process exited'),
  'process.late': error(1103, 'a process was killed because it made no progress while it started'),
  'process.unusable': error(1104, 'a process could not be started, stopped or reached'),
  'process.replacement.requested': warning(1105, 'an engine requested its replacement'),
  'process.replacement.started': information(
    1106,
    'the supervisor started a new process that will replace a running one',
  ),
  'process.connection.closed': warning(1107, 'an engine closed the connection to a gateway: {Error}'),
  'process.clock.skewed': warning(
    1108,
    'the clock of this machine differs by {Seconds} seconds from the clock of the state; synchronize both with NTP',
  ),
  'server.configuration.wrong': error(1110, 'the configuration is invalid'),
  'server.failed': error(1111, 'the server could not start or continue; exiting'),
  'server.stopping': information(1112, 'the server received a stop signal'),
  'reload.started': information(1120, 'reload started'),
  'reload.completed': information(1121, 'reload completed; all gateways use the new configuration'),
  'reload.failed': error(1122, 'reload failed; keeping the previous configuration'),

  'catalog.reloaded': information(1200, 'the catalog was reloaded: {Collections} collections'),
  'catalog.doubtful': warning(1201, 'a source was published with a warning'),
  'catalog.extent.failed': warning(
    1202,
    'the extent of collection {Collection} could not be computed: {Error}',
  ),
  'catalog.layers.failed': warning(1203, 'the tables of published layers could not be read: {Error}'),
  'catalog.log.foreign': warning(
    1204,
    'a file was replaced; the write-ahead log of the previous file was set aside',
  ),
  'catalog.source.quarantined': warning(1205, 'a source was skipped because it is unreadable'),
  'style.unreadable': warning(
    1210,
    'style {Style} of collection {Collection} could not be converted; the default style is used',
  ),
  'style.partial': warning(1211, 'style {Style} of collection {Collection} was converted in part'),
  'stac.index.failed': warning(1220, 'the STAC index could not be built: {Error}'),
  'stac.items.unreadable': warning(
    1221,
    'the STAC items of collection {Collection} could not be read: {Error}',
  ),
  'database.capture.table': warning(1230, 'change capture is off for table {Table} of {Store}: {Error}'),
  'database.capture.failed': warning(1231, 'change capture is off for database {Store}: {Error}'),
  'database.listen.failed': warning(
    1232,
    'the server could not listen to notifications of {Store}; it polls for changes: {Error}',
  ),
  'database.capture.lost': warning(
    1233,
    'an edit of table {Table} of {Store} could not be captured; subscribers receive a gap: {Error}',
  ),

  'cache.disk.failed': warning(1300, 'the disk cache failed; tiles are cached in memory only: {Error}'),

  'feed.unreadable': warning(1400, 'the change feed could not be read: {Error}'),
  'feed.store.failed': warning(
    1401,
    'the events of {Store} could not be copied to the change feed; the relay retries: {Error}',
  ),
  'webhook.events.unreadable': warning(1410, 'the deliveries to {Webhook} could not be read: {Error}'),
  'webhook.event.dropped': warning(
    1411,
    'event {EventId} for receiver {Webhook} became a dead letter: {Error}',
  ),
  'webhook.deliveries.uncounted': warning(1412, 'the waiting deliveries could not be counted: {Error}'),
  'delivery.deferred': warning(
    1413,
    'deliveries to {Receiver} are deferred after {Failures} failures in a row: {Error}',
  ),
  'delivery.expired': warning(1414, '{Count} deliveries to {Receiver} became dead letters: {Error}'),
  'alerts.evaluation.failed': warning(1415, 'alerts could not be evaluated; the server tries again: {Error}'),

  'cluster.behind': warning(
    1490,
    'a change that another process announced could not be applied yet; retrying: {Error}',
  ),

  'job.engine.failed': error(1500, 'the job engine failed: {Error}'),
  'import.files.left': warning(1501, 'leftover files of imports could not be deleted: {Error}'),
  'attachments.left': warning(1502, 'attachments of deleted features could not be deleted: {Error}'),
  'operate.policies.failed': warning(1503, 'a policy could not act on its findings: {Error}'),
  'operate.policy.acted': information(
    1504,
    'a policy approved proposal {Proposal} for the finding {Finding}; job {Job} executes it',
  ),

  'key.use.failed': warning(1600, 'the last use of API keys could not be stored: {Error}'),
  'audit.failed': error(1601, 'an audit entry could not be written: {Error}'),
  'idempotency.answer.failed': error(
    1602,
    'a response could not be stored for its idempotency key; if the client repeats the request, it is executed again: {Error}',
  ),
  'idempotency.answers.left': warning(1603, 'expired idempotency responses could not be deleted: {Error}'),
  'access.count.failed': warning(
    1604,
    'request counts could not be stored; rate limits apply per process: {Error}',
  ),
  'access.certificate.expiring': warning(
    1605,
    'the client certificate of {Principal} expires in {Days} days',
  ),
  'audit.checkpoint': information(
    1606,
    'the audit trail has {Rows} rows; the last one has the hash {Hash}: {Signature}',
  ),
  'audit.checkpoint.failed': error(1607, 'a checkpoint of the audit trail could not be written: {Error}'),
  'access.layer.closed': error(
    1610,
    'a layer is hidden from a role because a policy refers to a missing column',
  ),
  'access.state.lost': error(
    1611,
    'the state database was replaced and does not contain the rules of restricted layers; these layers are hidden',
  ),
  'access.marker.failed': error(1612, 'the list of restricted layers could not be written: {Error}'),
  'access.layer.renamed': error(
    1613,
    'a layer is hidden because its table or file belongs to a restricted layer with another name',
  ),
  'licence.keys.failed': error(1620, 'the public keys that verify licences could not be loaded: {Error}'),
  'licence.state': information(1621, 'the state of the licence is {State}: {Reason}'),
  'licence.expiring': warning(1622, 'the licence expires in {Days} days, at {ExpiresAt}'),
  'licence.capacity': warning(
    1623,
    'licensed capacity is in state {State}: {Reason}; the server still serves all requests',
  ),
  'licence.minute.failed': warning(
    1624,
    'licence, capacity or compliance evidence could not be read or stored; the server tries again: {Error}',
  ),

  'log.lines.dropped': warning(1700, 'blocks of log lines were dropped because standard output was blocked'),
  'telemetry.export.failed': warning(
    1701,
    'the collector rejected {Signal}; the server counts the losses: {Error}',
  ),
  'telemetry.export.resumed': information(1702, 'the collector accepts telemetry again'),
  'telemetry.minutes.kept': warning(
    1703,
    'latency and health of the last minutes could not be stored; the server keeps them and tries again: {Error}',
  ),
} as const satisfies Record<string, LogEvent>;

export type LogEventName = keyof typeof LOG_EVENTS;

/** The text of a line of a kind, with its properties filled in. */
export function formatLogMessage(event: LogEventName, properties: Readonly<Record<string, unknown>>): string {
  return LOG_EVENTS[event].message.replaceAll(/\{(\w+)\}/g, (_, name: string) => {
    const value = properties[name] ?? (name === 'Error' ? properties['@x'] : undefined);
    return value === undefined ? 'unknown' : String(value).split('\n', 1)[0]!;
  });
}
