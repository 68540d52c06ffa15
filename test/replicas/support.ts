import { type Answer, type EditableStore, sender } from '../edits/support.js';
import { startServer, type TestServer } from '../support/server.js';
import { layerNumbers } from '../support/shared-server.js';

// biome-ignore lint/suspicious/noExplicitAny: documents are compared member by member in tests
type Json = any;

/** A feature server as its clients speak to it: forms there, JSON back, failures with status 200. */
export interface Town {
  readonly server: TestServer;
  /** Numbers of layers by the ids of their collections. */
  readonly layers: Record<string, number>;
  post(operation: string, members: Record<string, unknown>, headers?: Record<string, string>): Promise<Json>;
  get(path: string, headers?: Record<string, string>): Promise<Json>;
  /** Edits of somebody else, over OGC API Features. */
  send(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<Answer>;
  /** A body that is a text is sent as it is. */
  admin(method: string, path: string, body?: unknown): Promise<{ status: number; body: Json }>;
}

export async function startTown(
  store: EditableStore,
  setup: { dataDir?: string; port?: number; env?: Record<string, string> } = {},
  start = startServer,
): Promise<Town> {
  const server = await start({ ...setup, sources: store.sources, env: { ...store.env, ...setup.env } });
  return townOf(server);
}

export async function townOf(server: TestServer): Promise<Town> {
  const base = `${server.url}/rest/services/default/FeatureServer`;
  const key = { 'x-api-key': server.adminKey };
  return {
    server,
    layers: await layerNumbers(server),
    async post(operation, members, headers = key) {
      const response = await fetch(`${base}/${operation}`, {
        method: 'POST',
        body: formOf(members),
        headers: { ...headers, 'content-type': 'application/x-www-form-urlencoded' },
      });
      return inBand(response);
    },
    async get(path, headers = key) {
      return inBand(await fetch(`${base}/${path}`, { headers }));
    },
    send: sender(server.url, server.adminKey),
    async admin(method, path, body) {
      const response = await fetch(`${server.url}/api/v1/admin${path}`, {
        method,
        body: body === undefined ? null : typeof body === 'string' ? body : JSON.stringify(body),
        headers: { ...key, ...(body === undefined ? {} : { 'content-type': 'application/json' }) },
      });
      return { status: response.status, body: (await response.json()) as Json };
    },
  };
}

function formOf(members: Record<string, unknown>): URLSearchParams {
  return new URLSearchParams(
    Object.entries(members).map(([name, value]) => [
      name,
      typeof value === 'string' ? value : JSON.stringify(value),
    ]),
  );
}

async function inBand(response: Response): Promise<Json> {
  if (response.status !== 200) throw new Error(`${response.status}: ${await response.text()}`);
  return response.json();
}

/** A square in Web Mercator as GeoServices write it: the exterior runs clockwise. */
export const ring = (x: number, y: number, side = 100) => ({
  rings: [
    [
      [x, y],
      [x, y + side],
      [x + side, y + side],
      [x + side, y],
      [x, y],
    ],
  ],
});

/** A parcel of a client, in Web Mercator. */
export const sent = (attributes: Record<string, unknown>, geometry?: object) => ({
  attributes,
  ...(geometry ? { geometry } : {}),
});

/** An offline copy of the parcels as a client keeps it. */
export class Device {
  generation = 0;
  readonly features = new Map<number, Json>();

  private constructor(
    readonly town: Town,
    readonly id: string,
  ) {}

  static async create(town: Town, members: Record<string, unknown> = {}): Promise<Device> {
    const created = await town.post('createReplica', { layers: `${town.layers['parcels']}`, ...members });
    if (created.error) throw new Error(created.error.message);
    const device = new Device(town, created.replicaID);
    device.generation = created.replicaServerGen;
    for (const feature of created.layers[0].features) device.features.set(feature.attributes.fid, feature);
    return device;
  }

  get layer(): number {
    return this.town.layers['parcels']!;
  }

  /** Sends edits, takes over what came back, and returns the answer of the layer. */
  async sync(edits?: Json, members: Record<string, unknown> = {}): Promise<Json> {
    const answer = await this.town.post('synchronizeReplica', {
      replicaID: this.id,
      replicaServerGen: `${this.generation}`,
      ...(edits ? { edits: [{ id: this.layer, ...edits }] } : {}),
      ...members,
    });
    if (answer.error) return answer;
    this.generation = answer.replicaServerGen;
    const [ofLayer = {}] = answer.edits;
    const { adds = [], updates = [], deleteIds = [] } = ofLayer.features ?? {};
    for (const feature of [...adds, ...updates]) this.features.set(feature.attributes.fid, feature);
    for (const id of deleteIds) this.features.delete(id);
    return ofLayer;
  }

  names(): string[] {
    return [...this.features.values()].map(({ attributes }) => attributes.name).sort();
  }
}
