import { TaskFailure } from '../../core/errors/failure.js';
import { contentTag } from '../../core/http/content-tag.js';
import type { SceneTileCounts, SceneTileResult, SceneTileTask } from '../../core/scenes/scene-tiles.js';
import { gzip } from '../../native/index.js';
import { GZIP_LEVEL } from '../features/encodings.js';
import { getFeatureStore } from '../providers/store.js';
import type { Cancellation } from '../threads/cancellation.js';

/** Offset of the JSON chunk in a glb file, whose length is in the four bytes at `JSON_LENGTH`. */
const JSON_START = 20;
const JSON_LENGTH = 12;

/** Encodes the content of a tile of a scene. A tile without features is a file without a scene. */
export async function encodeScene(
  task: SceneTileTask,
  cancellation?: Cancellation,
): Promise<SceneTileResult> {
  const store = getFeatureStore(task.source);
  if (!store.sceneTile)
    throw new TaskFailure('invalid-input', 'The store of this collection does not support 3D scenes.');
  const file = await store.sceneTile(task, cancellation);
  const content = file.length > 0 ? file : EMPTY_FILE;
  const tag = contentTag(content);
  const counts = readCounts(content);
  return task.encoding === 'identity'
    ? { data: content, encoding: 'identity', tag, ...counts }
    : { data: gzip(content, GZIP_LEVEL), encoding: 'gzip', tag, ...counts };
}

/** Reads the numbers that the encoder wrote to the file. */
function readCounts(file: Uint8Array): SceneTileCounts {
  const bytes = Buffer.from(file.buffer, file.byteOffset, file.byteLength);
  const json = bytes.subarray(JSON_START, JSON_START + bytes.readUInt32LE(JSON_LENGTH));
  return (JSON.parse(json.toString()) as { asset: { extras: SceneTileCounts } }).asset.extras;
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
