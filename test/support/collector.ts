import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { gunzipSync } from 'node:zlib';
import { PbfReader } from 'pbf';

/** Stands where an OpenTelemetry collector would: keeps the bytes of every push by path. */
export interface Collector {
  url: string;
  /** Status of the answers: it can be set while the collector runs. */
  status: number;
  readonly received: Map<string, Buffer[]>;
  readonly server: Server;
}

export async function startCollector(): Promise<Collector> {
  const received = new Map<string, Buffer[]>();
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const body = Buffer.concat(chunks);
      const plain = request.headers['content-encoding'] === 'gzip' ? gunzipSync(body) : body;
      const path = request.url ?? '';
      if (collector.status === 200) received.set(path, [...(received.get(path) ?? []), plain]);
      response.writeHead(collector.status, { 'content-type': 'application/x-protobuf' }).end();
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  const collector: Collector = { url: `http://127.0.0.1:${port}`, status: 200, received, server };
  return collector;
}

type Attributes = Record<string, unknown>;

/** A log record as OTLP has it (opentelemetry/proto/logs/v1/logs.proto). */
export interface LogRecord {
  resource: Attributes;
  scope: string;
  timeMs: number;
  severityNumber: number;
  severityText: string;
  body: unknown;
  attributes: Attributes;
  flags: number;
  traceId: string;
  spanId: string;
  eventName: string;
}

/** The log records of everything that a collector received. */
export function logRecords({ received }: Collector): LogRecord[] {
  return (received.get('/v1/logs') ?? []).flatMap((body) =>
    groupsOf(body).flatMap(({ resource, scopes }) =>
      scopes.flatMap(({ name, records }) =>
        records.map((record) => ({ resource, scope: name, ...logRecord(record) })),
      ),
    ),
  );
}

/** A span as OTLP has it (opentelemetry/proto/trace/v1/trace.proto). */
export interface TraceSpan {
  /** The source that made it. */
  scope: string;
  traceId: string;
  spanId: string;
  parentSpanId: string;
  name: string;
  attributes: Attributes;
}

/** The spans of everything that a collector received. */
export function traceSpans({ received }: Collector): TraceSpan[] {
  return (received.get('/v1/traces') ?? []).flatMap((body) =>
    groupsOf(body).flatMap(({ scopes }) =>
      scopes.flatMap(({ name, records }) => records.map((record) => ({ scope: name, ...traceSpan(record) }))),
    ),
  );
}

function traceSpan(bytes: Uint8Array): Omit<TraceSpan, 'scope'> {
  const hex = (number: number) => Buffer.from(messages(bytes, number)[0] ?? []).toString('hex');
  return {
    traceId: hex(1),
    spanId: hex(2),
    parentSpanId: hex(4),
    name: text(messages(bytes, 5)[0]),
    attributes: attributesOf(messages(bytes, 9)),
  };
}

/** The resources that spans of a collector come from. */
export function resourcesOf({ received }: Collector, path: string): Attributes[] {
  return (received.get(path) ?? []).flatMap((body) => groupsOf(body).map(({ resource }) => resource));
}

interface Group {
  resource: Attributes;
  scopes: { name: string; records: Uint8Array[] }[];
}

/** What requests of logs and of traces have in common: records by scope by resource. */
function groupsOf(body: Buffer): Group[] {
  return messages(body, 1).map((group) => ({
    resource: attributesOf(messages(messages(group, 1)[0] ?? new Uint8Array(), 1)),
    scopes: messages(group, 2).map((scope) => ({
      name: text(messages(messages(scope, 1)[0] ?? new Uint8Array(), 1)[0]),
      records: messages(scope, 2),
    })),
  }));
}

function logRecord(bytes: Uint8Array): Omit<LogRecord, 'resource' | 'scope'> {
  const record = {
    timeMs: 0,
    severityNumber: 0,
    severityText: '',
    body: undefined as unknown,
    attributes: {} as Attributes,
    flags: 0,
    traceId: '',
    spanId: '',
    eventName: '',
  };
  const hex = (pbf: PbfReader) => Buffer.from(pbf.readBytes()).toString('hex');
  new PbfReader(bytes).readFields((tag, _, pbf) => {
    if (tag === 1) record.timeMs = pbf.readFixed64() / 1e6;
    else if (tag === 2) record.severityNumber = pbf.readVarint();
    else if (tag === 3) record.severityText = pbf.readString();
    else if (tag === 5) record.body = anyValue(pbf.readBytes());
    else if (tag === 6) Object.assign(record.attributes, attributesOf([pbf.readBytes()]));
    else if (tag === 8) record.flags = pbf.readFixed32();
    else if (tag === 9) record.traceId = hex(pbf);
    else if (tag === 10) record.spanId = hex(pbf);
    else if (tag === 12) record.eventName = pbf.readString();
  }, undefined);
  return record;
}

/** The fields of a number, as bytes. */
function messages(bytes: Uint8Array, number: number): Uint8Array[] {
  const found: Uint8Array[] = [];
  new PbfReader(bytes).readFields((tag, _, pbf) => {
    if (tag === number) found.push(pbf.readBytes());
  }, undefined);
  return found;
}

function attributesOf(pairs: Uint8Array[]): Attributes {
  return Object.fromEntries(
    pairs.map((pair) => [text(messages(pair, 1)[0]), anyValue(messages(pair, 2)[0] ?? new Uint8Array())]),
  );
}

/** An `AnyValue`. */
function anyValue(bytes: Uint8Array): unknown {
  let value: unknown;
  new PbfReader(bytes).readFields((tag, _, pbf) => {
    if (tag === 1) value = pbf.readString();
    else if (tag === 2) value = pbf.readBoolean();
    else if (tag === 3) value = pbf.readVarint();
    else if (tag === 4) value = pbf.readDouble();
    else if (tag === 5) value = messages(pbf.readBytes(), 1).map(anyValue);
  }, undefined);
  return value;
}

function text(bytes: Uint8Array | undefined): string {
  return Buffer.from(bytes ?? []).toString();
}
