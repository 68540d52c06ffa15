/** Levels as the readers of compact JSON logs (CLEF) name them. */
export const LOG_LEVELS = ['Verbose', 'Debug', 'Information', 'Warning', 'Error', 'Fatal'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

/** One kind of line of the log. */
export interface LogEvent {
  /** Stays what it is for ever: it is never given to another kind of line. */
  readonly id: number;
  readonly level: LogLevel;
  /** The text of the line where the writer has none of its own. */
  readonly message: string;
}

const information = (id: number, message: string) => ({ id, level: 'Information', message }) as const;
const warning = (id: number, message: string) => ({ id, level: 'Warning', message }) as const;
const error = (id: number, message: string) => ({ id, level: 'Error', message }) as const;

/**
 * Every kind of line that the server logs, by its name. Ids of one hundred belong to one subject; docs/reference/server/logs.md is
 * written from this table.
 */
export const LOG_EVENTS = {
  'http.request.completed': information(1000, 'a request was answered'),
  'http.request.failed': error(1001, 'the server failed at a request'),
  'http.response.failed': error(1002, 'sending a response failed'),
  'http.frame.failed': error(1003, 'a frame of a client could not be handled'),
  'http.certificate.renewed': information(
    1004,
    'new connections are given the certificate that the files hold now',
  ),
  'http.certificate.failed': error(
    1005,
    'the files of the certificate cannot be used; the former one is kept',
  ),
  'http.request.unavailable': warning(1006, 'what a request needs does not answer, or is busy'),

  'process.rejection': error(1100, 'a rejection was not handled'),
  'process.exception': error(1101, 'the process fails'),
  'process.ended': error(1102, 'a process ended'),
  'process.late': error(1103, 'a process gave no sign of life while it started'),
  'process.unusable': error(1104, 'a process could not be started, stopped or told something'),
  'process.replacement.requested': warning(1105, 'an engine asks to be replaced'),
  'process.replacement.started': information(1106, 'a process is being replaced'),
  'process.connection.closed': warning(1107, 'a connection between a gateway and an engine was closed'),
  'server.configuration.wrong': error(1110, 'the configuration is wrong'),
  'server.failed': error(1111, 'the server gives up'),
  'server.stopping': information(1112, 'the server stops'),
  'reload.started': information(1120, 'a reload begins'),
  'reload.completed': information(1121, 'all gateways serve the new configuration'),
  'reload.failed': error(1122, 'the old configuration stays'),

  'catalog.reloaded': information(1200, 'the catalog was reloaded'),
  'catalog.doubtful': warning(1201, 'a source is published although something is wrong with it'),
  'catalog.extent.failed': warning(1202, 'the extent of a collection could not be measured'),
  'catalog.layers.failed': warning(1203, 'the tables of published layers could not be looked at'),
  'catalog.log.foreign': warning(
    1204,
    'a file was replaced, and the write-ahead log of the former file was set aside',
  ),
  'catalog.source.quarantined': warning(1205, 'a source was not published'),
  'style.unreadable': warning(1210, 'a style of a file cannot be drawn'),
  'style.partial': warning(1211, 'a style of a file is drawn in part'),
  'stac.index.failed': warning(1220, 'the index of STAC items could not be made'),
  'stac.items.unreadable': warning(1221, 'the STAC items of a collection could not be read'),
  'database.capture.table': warning(1230, 'edits of a table by others are not told'),
  'database.capture.failed': warning(1231, 'edits by others are not told'),
  'database.listen.failed': warning(1232, 'a database is not listened to; it is looked at now and then'),
  'database.capture.lost': warning(
    1233,
    'an edit by others could not be captured; a gap is reported in its place',
  ),

  'cache.disk.failed': warning(1300, 'no tiles are kept on disk'),

  'feed.unreadable': warning(1400, 'the feed could not be read'),
  'feed.store.failed': warning(1401, 'events of a store could not be taken over'),
  'webhook.events.unreadable': warning(1410, 'the events of a webhook could not be read'),
  'webhook.event.dropped': warning(1411, 'an event was given up for a webhook'),
  'webhook.deliveries.uncounted': warning(1412, 'deliveries could not be counted'),

  'cluster.behind': warning(1490, 'a change that other processes announced could not be taken over yet'),

  'job.engine.failed': error(1500, 'the job engine failed'),
  'import.files.left': warning(1501, 'left files could not be removed'),
  'attachments.left': warning(1502, 'attachments that nobody has any more could not be removed'),

  'key.use.failed': warning(1600, 'the last use of API keys could not be noted'),
  'audit.failed': error(1601, 'an audit row could not be written'),
  'idempotency.answer.failed': error(1602, 'an answer could not be kept for its idempotency key'),
  'idempotency.answers.left': warning(1603, 'old answers could not be removed'),
  'access.count.failed': warning(1604, 'requests could not be counted in the state'),
  'access.certificate.expiring': warning(1605, 'a client certificate that comes in ends soon'),
  'access.layer.closed': error(1610, 'a layer is closed for a role: a rule names an attribute that is gone'),
  'access.state.lost': error(
    1611,
    'layers are closed: the state that restricted them is not the present one',
  ),
  'access.marker.failed': error(1612, 'the list of restricted layers could not be written'),
  'access.layer.renamed': error(
    1613,
    'a layer is closed: it has the table or file of a restricted layer under another name',
  ),

  'log.lines.dropped': warning(1700, 'blocks of log lines were dropped'),
  'telemetry.export.failed': warning(
    1701,
    'the collector does not take telemetry; what it misses is counted',
  ),
  'telemetry.export.resumed': information(1702, 'the collector takes telemetry again'),
} as const satisfies Record<string, LogEvent>;

export type LogEventName = keyof typeof LOG_EVENTS;
