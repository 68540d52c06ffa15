import { deflateSync } from 'node:zlib';
import { parcel } from '../edits/support.js';
import type { Town } from '../replicas/support.js';

// biome-ignore lint/suspicious/noExplicitAny: documents are compared member by member in tests
type Json = any;

/** A PNG whose header says this size; it is one of a single pixel. */
export function png(width = 1, height = 1, extra = 0): Uint8Array {
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.set([8, 0, 0, 0, 0], 8);
  const chunk = (type: string, data: Uint8Array) => {
    const length = Buffer.alloc(4);
    length.writeUInt32BE(data.length);
    return Buffer.concat([length, Buffer.from(type), data, Buffer.alloc(4)]);
  };
  return Buffer.concat([
    Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'),
    chunk('IHDR', header),
    chunk('IDAT', deflateSync(Buffer.alloc(2))),
    chunk('tEXt', Buffer.alloc(extra, 65)),
    chunk('IEND', Buffer.alloc(0)),
  ]);
}

export interface Sent {
  bytes?: Uint8Array | string;
  name?: string;
  type?: string;
  fields?: Record<string, string>;
}

/** The attachments of a layer, as its clients speak of them. */
export class Files {
  readonly key: Record<string, string>;

  constructor(
    readonly town: Town,
    readonly layer: number,
  ) {
    this.key = { 'x-api-key': town.server.adminKey };
  }

  url(path: string): string {
    return `${this.town.server.url}/rest/services/default/FeatureServer/${this.layer}/${path}`;
  }

  fetch(path: string, headers: Record<string, string> = this.key): Promise<Response> {
    return fetch(this.url(path), { headers });
  }

  async get(path: string, headers: Record<string, string> = this.key): Promise<Json> {
    const response = await this.fetch(path, headers);
    const text = await response.text();
    if (response.status !== 200) throw new Error(`${response.status}: ${text}`);
    return JSON.parse(text);
  }

  /** Sends a form with a file. */
  async send(path: string, sent: Sent, headers: Record<string, string> = this.key): Promise<Json> {
    const { bytes, name = 'photo.png', type = 'image/png', fields = {} } = sent;
    const form = new FormData();
    for (const [field, value] of Object.entries(fields)) form.set(field, value);
    if (bytes !== undefined) form.set('attachment', new Blob([bytes as BlobPart], { type }), name);
    const response = await fetch(this.url(path), { method: 'POST', body: form, headers });
    if (response.status !== 200) throw new Error(`${response.status}: ${await response.text()}`);
    return response.json();
  }

  add(objectId: number, sent: Sent = {}, headers = this.key): Promise<Json> {
    return this.send(`${objectId}/addAttachment`, { bytes: png(), ...sent }, headers);
  }

  async post(path: string, members: Record<string, string>, headers = this.key): Promise<Json> {
    const response = await fetch(this.url(path), {
      method: 'POST',
      body: new URLSearchParams(members),
      headers,
    });
    return response.json();
  }

  async infos(objectId: number, headers = this.key): Promise<Json[]> {
    return (await this.get(`${objectId}/attachments`, headers)).attachmentInfos;
  }

  async insert(properties: object = {}): Promise<number> {
    const { status, body } = await this.town.send(
      'POST',
      'parcels/items',
      parcel(7, 46, { name: 'a', ...properties }),
    );
    if (status !== 201) throw new Error(JSON.stringify(body));
    return Number(body.id);
  }
}
