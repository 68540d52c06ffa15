import { randomUUID } from 'node:crypto';
import { bundle as createBundle } from '../../diagnostics/support/bundles.js';
import type { TestServer } from '../../support/server.js';

export const BASE = '/api/v1/admin';

/** One answer of the management API. */
export interface Answer {
  readonly status: number;
  readonly etag: string | null;
  // biome-ignore lint/suspicious/noExplicitAny: answers have any shape.
  readonly body: any;
}

export interface CallOptions {
  readonly key?: string | undefined;
  readonly body?: unknown;
  /** Sent as it is, with its media type. */
  readonly bytes?: { readonly type: string; readonly content: string | Uint8Array<ArrayBuffer> };
  readonly headers?: Readonly<Record<string, string>>;
}

/** Things that operations are tried on. Each maker makes a new one and returns its id. */
export class AuditWorld {
  #count = 0;
  readonly layers: Record<string, number> = {};

  constructor(private readonly server: Pick<TestServer, 'url' | 'adminKey'>) {}

  async open(): Promise<void> {
    const { collections } = (await (await fetch(`${this.server.url}/?f=json`)).json()) as {
      collections: { id: string; layerId: number }[];
    };
    for (const { id, layerId } of collections) this.layers[id] = layerId;
    await this.send('POST', '/migration/runs', { body: { runId: 'carded', sourceKind: 'geoserver-rest' } });
  }

  async send(method: string, path: string, sending: CallOptions = {}): Promise<Answer> {
    const { key = this.server.adminKey, body, bytes, headers } = sending;
    const type = bytes?.type ?? (body === undefined ? undefined : 'application/json');
    const response = await fetch(`${this.server.url}${BASE}${path}`, {
      method,
      headers: {
        ...(key === '' ? {} : { 'x-api-key': key }),
        ...(type === undefined ? {} : { 'content-type': type }),
        ...headers,
      },
      ...(bytes ? { body: bytes.content } : body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    const isJson = /json/.test(response.headers.get('content-type') ?? '');
    const parsed = isJson && text !== '' ? parseJson(text) : text;
    return { status: response.status, etag: response.headers.get('etag'), body: parsed };
  }

  /** A name that nothing has yet. */
  name(prefix: string): string {
    this.#count += 1;
    return `${prefix}${this.#count}`;
  }

  async #make(
    path: string,
    body: object | undefined,
    idOf: (made: Answer['body']) => unknown,
  ): Promise<string> {
    const made = await this.send('POST', path, { body });
    if (made.status >= 300) throw new Error(`POST ${path}: ${made.status} ${JSON.stringify(made.body)}`);
    return String(idOf(made.body.data ?? made.body));
  }

  role = () => this.#make('/roles', { name: this.name('role') }, ({ roleId }) => roleId);
  apiKey = (permissions: string[] = []) =>
    this.#make('/api-keys', { name: this.name('key'), permissions }, ({ apiKey }) => apiKey.id);
  secret = (permissions: string[]) =>
    this.#make('/api-keys', { name: this.name('key'), permissions }, ({ key }) => key);
  tenant = () => this.#make('/tenants', { tenantId: this.name('tenant') }, ({ tenantId }) => tenantId);
  zone = () => this.#make('/alerts/zones', this.newZone(), ({ zoneId }) => zoneId);
  alertRule = async () => this.#make('/alerts/rules', await this.newAlertRule(), ({ ruleId }) => ruleId);
  investigation = () =>
    this.#make('/investigations', { title: this.name('case') }, ({ investigationId }) => investigationId);
  formDraft = () => this.#make('/forms/packages', this.newForm(), ({ formId }) => formId);
  submission = async () => {
    const formId = await this.publishedForm();
    const answer = await fetch(`${this.server.url}/forms/${formId}/submissions`, {
      method: 'POST',
      headers: { 'x-api-key': this.server.adminKey, 'content-type': 'application/json' },
      body: JSON.stringify({
        ...{ instanceId: this.name('instance'), formVersion: 1, operation: 'update', targetFeatureId: 1 },
        values: {},
      }),
    });
    const { submissionId } = (await answer.json()) as { submissionId: string };
    return submissionId;
  };
  scene = () => this.#make('/scenes', this.newScene(), ({ datasetId }) => datasetId);
  publishedForm = async () => {
    const formId = await this.formDraft();
    await this.send('POST', `/forms/packages/${formId}/versions/1/publish`);
    return formId;
  };
  proposal = () =>
    this.#make('/proposals', { actuator: 'tiles.evict', parameters: {} }, ({ proposalId }) => proposalId);
  deployment = async () =>
    this.#make('/deploy/operations', this.newDeployment(), ({ operationId }) => operationId);
  bundle = () => this.#make('/diagnostics/bundles', createBundle(), ({ bundleId }) => bundleId);
  rateLimit = () => this.#make('/rate-limits', this.newRateLimit(), ({ policyId }) => policyId);
  mask = () => this.#make('/field-mask-policies', this.newMask(), ({ policyId }) => policyId);
  rowPolicy = () => this.#make('/rls-policies', this.newRowPolicy(), ({ policyId }) => policyId);
  embedKey = () => this.#make('/embed/keys', this.newEmbedKey(), ({ embedKey }) => embedKey.id);
  client = () => this.#make('/oauth-clients', { name: this.name('client') }, ({ client }) => client.id);
  provider = () => this.#make('/oidc/providers', this.newProvider(), ({ providerId }) => providerId);
  connection = () => this.#make('/connections', this.newConnection(), ({ connectionId }) => connectionId);
  run = () => this.#make('/migration/runs', this.newRun(), ({ runId }) => runId);
  tileJob = () => this.#make('/tile-operations/jobs', this.newTileJob(), ({ JobId }) => JobId);
  releasePackage = () =>
    this.#make('/metadata/release-packages', { sourceEnvironment: 'default' }, ({ packageId }) => packageId);
  profile = () =>
    this.#make(
      '/security/client-certificates/profiles',
      { environmentId: 'audit' },
      (made) => made.profileId,
    );

  /** The source of a collection, in the list of the server. */
  async source(): Promise<string> {
    const { body } = await this.send('GET', '/sources?q=countries');
    return body.data.sources[0].sourceId;
  }

  /** A source whose CRS was chosen. */
  async sourceWithCrs(): Promise<string> {
    const id = await this.source();
    await this.send('PUT', `/sources/${id}/crs`, { body: { crs: 'EPSG:4326' } });
    return id;
  }

  async scope(): Promise<string> {
    const scope = this.name('scope');
    await this.send('PUT', '/oauth-scopes', { body: { scope, permissions: [] } });
    return scope;
  }

  async mapping(): Promise<{ profileId: string; mappingId: string }> {
    const profileId = await this.profile();
    const path = `/security/client-certificates/profiles/${profileId}/mappings`;
    return { profileId, mappingId: await this.#make(path, this.newMapping(), (made) => made.mappingId) };
  }

  async revocation(): Promise<{ profileId: string; revocationId: string }> {
    const profileId = await this.profile();
    const path = `/security/client-certificates/profiles/${profileId}/revocations`;
    return {
      profileId,
      revocationId: await this.#make(path, this.newRevocation(), (made) => made.revocationId),
    };
  }

  newScene = () => ({ id: `scene${this.name('')}`, name: 'Scene', assetRoot: '.' });
  newForm = () => ({
    formId: this.name('form'),
    target: { layerId: this.layers['countries'] },
    submitPolicy: { allowedOperations: ['update'] },
    fields: [{ fieldId: 'note', label: 'Note', type: 'text' }],
  });
  newDeployment = () => ({
    targetId: 'servers',
    desiredRevision: `9.${this.name('')}.0`,
    submitImmediately: false,
  });
  newZone = () => ({
    zoneName: this.name('zone'),
    serviceId: 'default',
    wkt: 'POLYGON ((0 0, 1 0, 1 1, 0 0))',
  });
  newAlertRule = async () => ({
    ...{ ruleName: this.name('rule'), serviceId: 'default', layerId: this.layers['countries'] },
    ...{ triggerType: 'enter', zoneId: Number(await this.zone()) },
  });
  newRateLimit = () => ({
    ...{ name: this.name('limit'), scope: 'api-key', key: this.name('nobody') },
    ...{ requestsPerWindow: 1000, windowDurationSeconds: 60 },
  });
  newMask = () => ({ service: '*', layer: 'countries', role: 'reader', attribute: 'WB_A3' });
  newRowPolicy = () => ({
    ...{ service: '*', layer: 'countries', role: 'reader', attribute: 'NAME', claimType: 'country' },
  });
  newEmbedKey = () => ({
    ...{ name: this.name('embed'), scope: { allowedEmbedOrigins: ['https://example.org'] } },
  });
  newProvider = () => ({
    ...{ name: this.name('provider'), providerType: 'Generic', authority: 'http://127.0.0.1:9' },
    ...{ clientId: 'audit', roleMapping: { Staff: 'reader' } },
  });
  newConnection = () => ({
    ...{ name: this.name('connection'), host: '127.0.0.1', port: 9, databaseName: 'none' },
    ...{ username: 'nobody', sslRequired: false },
  });
  newRun = () => ({ runId: this.name('run-'), sourceKind: 'geoserver-rest' });
  newTileJob = () => ({ operation: 'seed', layerId: this.layers['countries'], minZoom: 0, maxZoom: 0 });
  newMapping = () => ({
    ...{
      matchType: 'subject',
      matchValue: `CN=${this.name('subject')}`,
      principalId: this.name('principal'),
    },
  });
  newRevocation = () => ({ fingerprintSha256: randomUUID().replaceAll('-', '').repeat(2) });
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
