import type { Principal } from '../../../../core/http/operation.js';
import type { SecretReferences } from '../../remote/secret-references.js';

/** What becomes of a migration where a part of its source cannot be taken over. */
export type UnsupportedPolicy = 'skip' | 'warn' | 'fail';

/** A migration of a GeoServer as its job keeps it. */
export interface MigrationRequest {
  /** Root of the REST API. */
  readonly restUrl: string;
  readonly credentials: SecretReferences;
  readonly requestMs: number;
  readonly maxRetries: number;
  /** All when absent; so are the others. */
  readonly workspaces?: readonly string[];
  /** Names, or names behind those of their workspaces: `topp:states`. */
  readonly stores?: readonly string[];
  readonly layers?: readonly string[];
  readonly dryRun: boolean;
  readonly importStyles: boolean;
  /** Whether collections that were imported are replaced. */
  readonly overwrite: boolean;
  /** Whose rights bound what is replaced. */
  readonly principal: Principal;
  /** Layers that are under way at a time. */
  readonly lanes: number;
  /** The CRS that the data has when absent. */
  readonly targetCrs?: string;
  /** Whether a layer that fails leaves the others alone. */
  readonly continueOnFailure: boolean;
  /** Workspace of layers that lie in none. */
  readonly defaultWorkspace: string;
  /** What workspaces are called here; a layer of the empty name has its own name alone. */
  readonly workspaceNames: Readonly<Record<string, string>>;
  readonly unsupported: Readonly<Record<'layer' | 'store' | 'style', UnsupportedPolicy>>;
}
