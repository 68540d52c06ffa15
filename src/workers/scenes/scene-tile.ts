import { TaskFailure } from '../../core/errors/failure.js';
import { contentTag } from '../../core/http/content-tag.js';
import type {
  SceneCellsResult,
  SceneCellsTask,
  SceneCounts,
  SceneTileResult,
  SceneTileTask,
} from '../../core/scenes/scene-tiles.js';
import { gzip } from '../../native/index.js';
import { GZIP_LEVEL } from '../features/encodings.js';
import type { SceneEncoding } from '../providers/scene-options.js';
import { getFeatureStore } from '../providers/store.js';
import type { Cancellation } from '../threads/cancellation.js';

/** Offset of the JSON chunk in a glb file, whose length is in the four bytes at `JSON_LENGTH`. */
const JSON_START = 20;
const JSON_LENGTH = 12;

/** Counts before the cells. */
const HEAD_NUMBERS = 4;

/** Encodes the content of a tile of a scene. A tile without features is a file without a scene. */
export async function encodeSceneTile(
  task: SceneTileTask,
  cancellation?: Cancellation,
): Promise<SceneTileResult> {
  const file = await encode(task, cancellation);
  const content = file.length > 0 ? file : EMPTY_FILE;
  const tag = contentTag(content);
  const counts = readCounts(content);
  return task.encoding === 'identity'
    ? { data: content, encoding: 'identity', tag, ...counts }
    : { data: gzip(content, GZIP_LEVEL), encoding: 'gzip', tag, ...counts };
}

/** Counts the features of a scene in the cells of a level. */
export async function countSceneCells(
  task: SceneCellsTask,
  cancellation?: Cancellation,
): Promise<SceneCellsResult> {
  const bytes = await encode(task, cancellation);
  if (bytes.length === 0) return { cells: new Float64Array(0), features: 0 };
  // The bytes of a database's row need not be aligned.
  const numbers = new Float64Array(new Uint8Array(bytes).buffer);
  const [features, withoutHeight, withoutArea, unreadable] = numbers;
  return {
    cells: numbers.slice(HEAD_NUMBERS),
    features: features!,
    ...(withoutHeight ? { withoutHeight } : {}),
    ...(withoutArea ? { withoutArea } : {}),
    ...(unreadable ? { unreadable } : {}),
  };
}

function encode(task: SceneEncoding, cancellation: Cancellation | undefined): Promise<Uint8Array> {
  const store = getFeatureStore(task.source);
  if (!store.encodeScene)
    throw new TaskFailure('invalid-input', 'The store of this collection does not support 3D scenes.');
  return store.encodeScene(task, cancellation);
}

/** Reads the numbers that the encoder wrote to the file. */
function readCounts(file: Uint8Array): SceneCounts {
  const bytes = Buffer.from(file.buffer, file.byteOffset, file.byteLength);
  const json = bytes.subarray(JSON_START, JSON_START + bytes.readUInt32LE(JSON_LENGTH));
  return (JSON.parse(json.toString()) as { asset: { extras: SceneCounts } }).asset.extras;
}

const EMPTY_FILE = writeEmptyFile();

function writeEmptyFile(): Buffer {
  const json = '{"asset":{"version":"2.0","generator":"Graticule","extras":{"features":0}}}';
  const padded = Buffer.from(json.padEnd(Math.ceil(json.length / 8) * 8 + 4));
  const head = Buffer.alloc(JSON_START);
  head.write('glTF');
  head.writeUInt32LE(2, 4);
  head.writeUInt32LE(JSON_START + padded.length, 8);
  head.writeUInt32LE(padded.length, JSON_LENGTH);
  head.write('JSON', 16);
  return Buffer.concat([head, padded]);
}
