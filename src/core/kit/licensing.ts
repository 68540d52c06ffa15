import { ApiError } from '../errors/errors.js';

/** Entitlements of the operator's licence. They are checked only if licensing is enabled. */
export interface Licensing {
  readonly enabled: boolean;
  readonly entitlements: readonly string[];
}

export type Entitlement = 'spatial-analytics' | 'raster.temporal-mosaic';

/** Throws 402 `entitlement-missing` when licensing is enabled and does not cover this. */
export function requireEntitlement({ enabled, entitlements }: Licensing, entitlement: Entitlement): void {
  if (!enabled || entitlements.includes(entitlement)) return;
  throw new ApiError(
    'entitlement-missing',
    `The license does not include ${entitlement}. Install a license that does.`,
  );
}
