import type { Principal } from '../../../../core/http/operation.js';
import type { SecretReferences } from '../../remote/secret-references.js';

/** Policy for parts of the source that cannot be imported. */
export type UnsupportedPolicy = 'skip' | 'warn' | 'fail';

/** A migration of a GeoServer as its job keeps it. */
export interface MigrationRequest {
  /** Root of the REST API. */
  readonly restUrl: string;
  readonly credentials: SecretReferences;
  readonly requestMs: number;
  readonly maxRetries: number;
  /** Default: all. The same applies to stores and layers. */
  readonly workspaces?: readonly string[];
  /** Names, or names behind those of their workspaces: `topp:states`. */
  readonly stores?: readonly string[];
  readonly layers?: readonly string[];
  readonly dryRun: boolean;
  readonly importStyles: boolean;
  /** Whether collections that were imported are replaced. */
  readonly overwrite: boolean;
  /** Principal whose rights limit the collections that can be replaced. */
  readonly principal: Principal;
  /** Layers that are under way at a time. */
  readonly lanes: number;
  /** Default: the CRS of the data. */
  readonly targetCrs?: string;
  /** Whether the other layers continue after a layer fails. */
  readonly continueOnFailure: boolean;
  /** Workspace of layers without a workspace. */
  readonly defaultWorkspace: string;
  /** Target names of workspaces. With an empty name, a layer keeps its name without a prefix. */
  readonly workspaceNames: Readonly<Record<string, string>>;
  readonly unsupported: Readonly<Record<'layer' | 'store' | 'style', UnsupportedPolicy>>;
}
