import { TaskFailure } from '../../../core/errors/failure.js';
import type { FeatureProcess } from '../../../core/processes/feature-processes.js';
import { PROCESS_LIMITS } from '../../../core/processes/limits.js';
import { processCollection } from '../../../native/processing.js';
import { listGeometries, type ProcessRun } from '../run.js';
import { FeatureTable } from '../table.js';

type Together = Extract<FeatureProcess, { kind: 'together' }>;

/** One operation over all geometries, which are in memory for it; a feature for each part of its result. */
export async function processTogether(run: ProcessRun, { operation }: Together): Promise<number> {
  const { input, output } = run.task;
  const blobs: (Uint8Array | null)[] = [];
  let bytes = 0;
  for await (const rows of run.rows(input)) {
    blobs.push(...listGeometries(rows));
    bytes = rows.reduce((sum, { geometry }) => sum + (geometry?.byteLength ?? 0), bytes);
    if (bytes > PROCESS_LIMITS.processTogetherBytes)
      throw new TaskFailure(
        'too-large',
        `The geometries are too large for this process. The limit is ${PROCESS_LIMITS.processTogetherBytes} bytes in all.`,
      );
  }
  const table = FeatureTable.create(output, input.source.crs, []);
  try {
    for (const part of buildResult(blobs, operation, table.srsId)) table.add(part, []);
    return table.finish();
  } finally {
    table.abandon();
  }
}

function buildResult(
  blobs: readonly (Uint8Array | null)[],
  operation: Together['operation'],
  srsId: number,
): Uint8Array[] {
  try {
    return processCollection(blobs, operation, srsId);
  } catch (error) {
    throw new TaskFailure('invalid-input', `The geometries cannot be processed: ${(error as Error).message}`);
  }
}
