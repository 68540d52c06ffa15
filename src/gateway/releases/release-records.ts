import type { Services } from '../admin/deps.js';
import { listCoordinated } from './coordination.js';
import { listPackages } from './packages.js';
import { listReleaseOperations } from './release-operations.js';

/** A release package or an operation that applies one, in its current state. */
export interface ReleaseRecord {
  readonly id: string;
  readonly kind: 'package' | 'release' | 'coordinated release';
  readonly packageId: string;
  /** Time of the last change. Milliseconds since 1970. */
  readonly at: number;
  readonly by: string | null;
  readonly status: string;
  readonly reason: string | null;
  /** Why it failed. Null if it did not fail. */
  readonly message: string | null;
  readonly correlationId: string | null;
}

/** Packages and operations, in no order. */
export async function listReleaseRecords(deps: Services<'state'>): Promise<ReleaseRecord[]> {
  const [packages, operations, coordinated] = await Promise.all([
    listPackages(deps),
    listReleaseOperations(deps),
    listCoordinated(deps),
  ]);
  return [
    ...packages.map(({ id, createdAt, createdBy, body: { view } }) => ({
      ...{ id, kind: 'package' as const, packageId: id, at: createdAt, by: createdBy },
      ...{ status: view.status, reason: view.metadata.description ?? view.metadata.name },
      ...{ message: null, correlationId: null },
    })),
    ...operations.map(({ operationId, metadataRelease, updatedAt, requestedBy, status, ...rest }) => ({
      ...{ id: operationId, kind: 'release' as const, packageId: metadataRelease.packageId },
      ...{ at: Date.parse(updatedAt), by: requestedBy, status, reason: rest.reason },
      ...{ message: rest.errorMessage, correlationId: rest.correlationId },
    })),
    ...coordinated.map(({ id, updatedAt, updatedBy, createdBy, body }) => ({
      ...{ id, kind: 'coordinated release' as const, packageId: body.request.packageId, at: updatedAt },
      ...{ by: updatedBy ?? createdBy, status: body.status, reason: body.request.reason ?? null },
      ...{ message: body.errorMessage, correlationId: body.request.correlationId ?? null },
    })),
  ];
}
