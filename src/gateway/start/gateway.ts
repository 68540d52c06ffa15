import type { Note } from '../../core/cluster/notes.js';
import type { Operation } from '../../core/http/operation.js';
import type { FirstKey } from '../../services/access/keys/api-keys.js';
import { permits } from '../../services/access/permissions.js';
import type { Catalog } from '../../services/catalog/catalog.js';
import { dataSettings } from '../../services/catalog/publish/settings.js';
import { certificateFiles } from '../../services/kit/certificate.js';
import { configuredBasemap } from '../../services/maps/basemap.js';
import { watchStatements } from '../../services/telemetry/store-metrics.js';
import { readAreas } from '../../services/tiles/extent.js';
import { startWebhooks, type Webhooks } from '../../services/webhooks/index.js';
import { AuditBacklog } from '../../stores/audit/audit-backlog.js';
import { auditTrail } from '../audit/admin/audit-trail.js';
import { strayFailure } from '../geoservices/stray-requests.js';
import { keepCertificate } from '../http/certificate-renewal.js';
import { Dispatcher } from '../http/dispatch.js';
import { ForwardedHeaders } from '../http/requests/forwarded-headers.js';
import { Idempotency } from '../http/requests/idempotency.js';
import { HttpServer } from '../http/server.js';
import { jsonPage, pageHeaders, problemPage } from '../pages/for-browsers.js';
import { useBasemap } from '../pages/maps/basemap.js';
import { referenceOperations } from '../site/reference.js';
import { type AccessServices, startAccess } from './access.js';
import { createAlertDispatch } from './alert-dispatch.js';
import { type AlertServices, createAlertPages, createAlertRules, startEvaluation } from './alerts.js';
import { type Data, startData } from './data.js';
import { publishFirst } from './first-catalog.js';
import { type Foundation, type GatewayOptions, layFoundation, startTelemetry } from './foundation.js';
import { createLicensing, type LicensingServices, startLicensing } from './governance/licensing.js';
import { createFindings } from './governance/ops-findings.js';
import { createHealth, type Health } from './health.js';
import { type Management, startManagement } from './management.js';
import { dataOperations, workerOperations } from './operations.js';

/** A running gateway: one process, one event loop, one port. */
export interface Gateway {
  readonly port: number;
  readonly catalog: Catalog;
  readonly firstKey: FirstKey;
  /** Handles a note from another gateway. */
  hear(note: Note): void;
  /** Completes requests in progress within `graceMs`, refuses new ones, and releases all resources. */
  close(graceMs: number): Promise<void>;
}

/** Assembles and starts a gateway. Rejects when the configuration, the state database or the port cannot be used. */
export async function startGateway(options: GatewayOptions): Promise<Gateway> {
  const { config } = options;
  const settings = dataSettings(config);
  useBasemap(configuredBasemap(config.pages));
  readAreas(settings.matrixSets);

  let hearAll: (note: Note) => void = () => {};
  const foundation = await layFoundation(options, (note) => hearAll(note));
  const { pools, state, cluster, log } = foundation;
  const telemetry = await startTelemetry(config, pools, log);
  watchStatements(() => state.statements.value);
  const data = await startData(foundation);
  const access = await startAccess(foundation, data);
  const licensing = createLicensing(foundation);
  const stopLicensing = await startLicensing(licensing, foundation);
  const alertDispatch = createAlertDispatch(foundation, data);
  const alertRules = createAlertRules(foundation, data, alertDispatch);
  const health = createHealth(foundation, data, { alertDispatch });
  const { opsHealth } = health;
  const services = { alertDispatch, alertRules, opsHealth, ...licensing };
  const management = manage(foundation, data, access, services);
  const idempotency = new Idempotency(state.replies, foundation.instance, log, cluster);
  const operations =
    config.server.role === 'worker'
      ? workerOperations(foundation, data, access, licensing)
      : withReference(
          [
            ...dataOperations(foundation, data, access, { ...management, ...licensing }),
            ...createAlertPages(foundation, data, { alertDispatch, alertRules }),
            ...management.operations,
          ],
          data,
        );

  await publishFirst(foundation, data, settings);
  management.start();
  const webhooks = sendWebhooks(foundation, data);
  alertDispatch.start();
  const stopEvaluation =
    config.server.role === 'worker' ? async () => {} : startEvaluation(foundation, data, access);
  const { backlog, server } = await startServing(foundation, { operations, access, idempotency, health });
  hearAll = (note) => hear(note, foundation, data);
  await cluster.start();
  const endMinutes = await health.start();
  const port = await server.listen(config.server.host, config.server.port);
  const unwatch = await keepCertificate(server, config.server, log);
  foundation.hostChecks.start();
  return {
    port,
    catalog: data.catalog,
    firstKey: access.firstKey,
    hear: hearAll,
    async close(graceMs) {
      unwatch();
      stopLicensing();
      foundation.hostChecks.close();
      server.refuse();
      management.endWaits();
      data.extents.close();
      foundation.alerts.close();
      // Streams are requests in flight: they end first. Edits in flight need the cluster.
      await data.events.close();
      await server.close(graceMs);
      await endMinutes();
      idempotency.close();
      backlog.close();
      await cluster.close();
      await stopEvaluation();
      await webhooks.close();
      await alertDispatch.close();
      await management.close();
      await data.edits.close();
      data.display.close();
      data.databases.close();
      data.imagery.close();
      data.versions.close();
      await data.catalog.close();
      await data.caching.close();
      await pools.close();
      await access.close();
      await state.close();
      await telemetry?.shutdown();
    },
  };
}

/** Operations with the pages that describe them. */
function withReference(operations: readonly Operation[], { visible }: Data): readonly Operation[] {
  return [...operations, ...referenceOperations({ operations, visible: (one) => visible.of(one) })];
}

function manage(
  foundation: Foundation,
  data: Data,
  { authenticator, tenants, limits, embedKeys, identity, certificates, presentRights }: AccessServices,
  services: AlertServices & LicensingServices & Pick<Health, 'opsHealth'>,
): Management {
  const { tiles, control } = data.caching;
  return startManagement({
    ...foundation,
    ...data,
    visible: (principal) => data.visible.of(principal),
    keys: authenticator.keys,
    users: authenticator.users,
    tenants,
    limits,
    embedKeys,
    identity,
    certificates: certificates.trust,
    presentRights,
    createFindings: (audit) => createFindings(foundation, data, { ...services, audit }),
    ...services,
    tiles,
    cache: control,
  });
}

function sendWebhooks(
  { config, pools, state, log, alerts, instance }: Foundation,
  { events, catalog }: Data,
): Webhooks {
  return startWebhooks({
    webhooks: config.events.webhooks,
    cdn: config.cdn,
    allow: config.remote.allow,
    pools,
    store: state.deliveries,
    feed: events.feed,
    log,
    notices: alerts,
    instance,
    catalog: () => catalog.current,
  });
}

async function startServing(foundation: Foundation, served: Omit<ServerParts, 'backlog'>) {
  const { dataDir, state, log } = foundation;
  const onError = (error: unknown) => log.write('audit.failed', { Error: String(error) });
  const backlog = new AuditBacklog(dataDir, state.audit, onError);
  // Rows that the last run left come before those of this one.
  await backlog.drain(true);
  return { backlog, server: serve(foundation, { ...served, backlog }) };
}

interface ServerParts {
  operations: readonly Operation[];
  access: AccessServices;
  idempotency: Idempotency;
  health: Health;
  backlog: AuditBacklog;
}

function serve(
  { config, cluster, pools, state, log, dataFolder, serverMark, observer, requestRecords }: Foundation,
  { operations, access, idempotency, health, backlog }: ServerParts,
): HttpServer {
  const { vendor, publicUrl, trustProxy, port, tls } = config.server;
  // Browsers prompt users for a certificate if the server requests one.
  const asks = config.security.clientCertificates.mode !== 'Disabled';
  const certificate = certificateFiles(asks ? tls : { ...tls, clientCa: '' });
  const { authenticator } = access;
  return new HttpServer({
    dispatcher: new Dispatcher({
      once: (request, work) => idempotency.once(request, work),
      operations,
      pools,
      authenticate: (credentials) => authenticator.authenticate(credentials),
      certificates: access.certificates.callers,
      permits,
      count: access.count,
      current: () => cluster.pauses.current(),
      currentForChanges: () => cluster.pauses.currentForChanges(),
      serverMark,
      lost: () => dataFolder.lost(),
      ...(config.state.url === '' ? { full: () => dataFolder.full() } : {}),
      audit: auditTrail({
        state,
        backlog,
        onError: (error) => log.write('audit.failed', { Error: String(error) }),
      }),
    }),
    log,
    observer,
    records: requestRecords,
    latency: health.recorder,
    vendor,
    ...(certificate ? { certificate } : {}),
    strayFailure,
    pages: { headers: pageHeaders(), jsonPage, problemPage },
    forwarding: new ForwardedHeaders({
      publicUrl: publicUrl || undefined,
      trustProxy,
      fallbackHost: `localhost:${port}`,
      tagHeader: config.cdn.header,
      isSecure: certificate !== undefined,
    }),
  });
}

function hear(note: Note, { alerts, cluster }: Foundation, { caching, events }: Data): void {
  if ('fed' in note) return events.fed();
  if ('notice' in note) return alerts.hear(note.notice);
  if ('alert' in note) return alerts.hearAlert(note.alert);
  if ('ask' in note || 'answerTo' in note) return cluster.peers.hear(note);
  if ('announced' in note || 'applied' in note || 'members' in note) return cluster.hear(note);
  caching.hear(note);
  if ('change' in note) events.edited(note.collection);
}
