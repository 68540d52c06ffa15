import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { open, rename, rm } from 'node:fs/promises';
import { createInterface } from 'node:readline';
import type {
  NetworkBuildOutcome,
  NetworkEdge,
  NetworkTasks,
  SnapshotRecord,
  TurnRestriction,
} from '../../core/networks/networks.js';
import { buildNetworkFile } from '../../native/networks.js';
import { analyzeTopology } from './analysis.js';

async function readSnapshot(
  path: string,
): Promise<{ edges: NetworkEdge[]; restrictions: TurnRestriction[] }> {
  const edges: NetworkEdge[] = [];
  const restrictions: TurnRestriction[] = [];
  for await (const line of createInterface({ input: createReadStream(path) })) {
    const record = JSON.parse(line) as SnapshotRecord;
    if ('edge' in record) {
      edges.push(record.edge);
    } else {
      restrictions.push(record.restriction);
    }
  }
  return { edges, restrictions };
}

/** Writes a file that appears under its name when all bytes are on the disk. */
async function writeWhole(path: string, bytes: Uint8Array): Promise<void> {
  const part = `${path}.part`;
  try {
    const file = await open(part, 'w');
    try {
      await file.writeFile(bytes);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(part, path);
  } catch (error) {
    await rm(part, { force: true });
    throw error;
  }
}

const computeDigest = (bytes: Uint8Array | string) => createHash('sha256').update(bytes).digest('hex');

/** Analyses a snapshot, and builds a network file unless a finding is an error. */
export async function buildNetwork({
  snapshot,
  output,
  isGeographic,
  tolerance,
}: NetworkTasks['network.build']['input']): Promise<NetworkBuildOutcome> {
  const { edges, restrictions } = await readSnapshot(snapshot);
  const findings = analyzeTopology(edges, restrictions, tolerance);
  if (findings.some(({ isError }) => isError)) {
    return { findings, evidenceDigest: computeDigest(JSON.stringify({ findings })) };
  }
  const bytes = buildNetworkFile(edges, restrictions, isGeographic);
  await writeWhole(output, bytes);
  const digest = computeDigest(bytes);
  const vertices = new Set(edges.flatMap(({ source, target }) => [source, target])).size;
  return {
    findings,
    evidenceDigest: computeDigest(JSON.stringify({ findings, digest })),
    file: { digest, bytes: bytes.byteLength, edges: edges.length, vertices },
  };
}
