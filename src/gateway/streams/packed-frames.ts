import { Packr } from 'msgpackr';
import { depthOver } from '../../core/features/feature-values.js';
import { LIMITS } from '../../core/kit/limits.js';
import { isExactNumber, toDouble, toInt64 } from '../../core/values/exact-number.js';
import { mayHoldExactNumbers, parseJsonExactly } from '../../core/values/json.js';
import { JsonBoundsError } from '../../core/values/json-bounds.js';
import type { Addressee } from '../../services/streams/frames.js';

/** Frames as MessagePack maps. */

const packr = new Packr({ useRecords: false });

/** Members of a change that many subscriptions share: their pairs, without the header of a map. */
interface PackedBody {
  readonly pairs: Uint8Array;
  readonly count: number;
}

/** Characters of bodies that are kept packed: those of a batch, which go to one session after the other. */
const MAX_KEPT = 8_388_608;
const bodies = new Map<string, PackedBody>();
let bytesKept = 0;

const MAP16 = 0xde;
const MAP32 = 0xdf;
const HEAD = Buffer.concat(['type', 'feature-change', 'subscriptionId'].map(packed));
const SEQUENCE = packed('sequence');

/** Throws for invalid or too deeply nested MessagePack. */
export function unpackFrame(frame: Uint8Array): unknown {
  const value: unknown = packr.unpack(frame);
  if (depthOver(value, LIMITS.textDepth)) throw new JsonBoundsError('it is nested too deep', false);
  return value;
}

/** Creates a frame from its JSON text. */
export function packedFrame(text: string): Uint8Array {
  return packed(exactlyParsed(text));
}

/**
 * The frame that `changeFrame` makes as text. Numbers it. A map16 header, the pairs of the subscription, and then the
 * shared pairs.
 */
export function packedChange(addressee: Addressee, body: string): Uint8Array {
  const shared = bodies.get(body) ?? keep(body);
  const sequence = addressee.next();
  const own = [HEAD, packed(addressee.id), ...(sequence === undefined ? [] : [SEQUENCE, packed(sequence)])];
  const head = Buffer.alloc(3);
  head[0] = MAP16;
  head.writeUInt16BE(shared.count + (sequence === undefined ? 2 : 3), 1);
  return Buffer.concat([head, ...own, shared.pairs]);
}

function keep(body: string): PackedBody {
  const result = packedBody(body);
  bytesKept += body.length;
  bodies.set(body, result);
  for (const oldest of bodies.keys()) {
    if (bytesKept <= MAX_KEPT || oldest === body) break;
    bodies.delete(oldest);
    bytesKept -= oldest.length;
  }
  return result;
}

function packedBody(body: string): PackedBody {
  const members = exactlyParsed(`{${body}`) as object;
  const map = packed(members);
  const header = map[0] === MAP16 ? 3 : map[0] === MAP32 ? 5 : 1;
  return { pairs: map.subarray(header), count: Object.keys(members).length };
}

/** Values of JSON, with integers of 64 bits as such: MessagePack has them. It has no decimals but doubles. */
function exactlyParsed(text: string): unknown {
  return mayHoldExactNumbers(text) ? withIntegers(parseJsonExactly(text, 'all')) : JSON.parse(text);
}

function withIntegers(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (isExactNumber(value)) return toInt64(value) ?? toDouble(value);
  if (Array.isArray(value)) return value.map(withIntegers);
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, withIntegers(member)]));
}

/** The packer lends parts of one buffer: what is kept is copied. */
function packed(value: unknown): Buffer {
  return Buffer.from(packr.pack(value));
}
