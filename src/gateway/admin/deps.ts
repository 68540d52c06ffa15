import type { Pools } from '../../core/tasks.js';
import type { ApiKeys } from '../../services/access/api-keys.js';
import type { AlertStream } from '../../services/alerts.js';
import type { CacheControl } from '../../services/cache/cache-control.js';
import type { SessionDirectory } from '../../services/events/directory.js';
import type { ImportService } from '../../services/import.js';
import type { JobEngine } from '../../services/jobs/engine.js';
import type { ManagedRasters } from '../../services/rasters/managed.js';
import type { Styles } from '../../services/styles/index.js';
import type { TileJobs } from '../../services/tile-jobs/service.js';
import type { State } from '../../stores/state.js';
import type { ConfigDocument } from './config-document.js';

/** Facts about this server that do not change while it runs. */
export interface ServerFacts {
  /** Three numeric parts: clients compare them. */
  version: string;
  releaseChannel: 'stable' | 'lts' | 'preview' | 'alpha' | 'beta' | 'rc' | 'nightly' | 'dev';
}

/** Everything that management operations act on; assembled once, at start. */
export interface AdminDeps {
  readonly server: ServerFacts;
  readonly state: State;
  readonly keys: ApiKeys;
  readonly jobs: JobEngine;
  readonly imports: ImportService;
  readonly tileJobs: TileJobs;
  readonly rasters: ManagedRasters;
  readonly styles: Styles;
  readonly pools: Pools;
  readonly cache: CacheControl;
  readonly alerts: AlertStream;
  readonly streams: SessionDirectory;
  readonly config: ConfigDocument;
  /** Every permission that something on this server asks for. */
  permissions(): ReadonlySet<string>;
  /** The OpenAPI document of the management API, as JSON data. */
  openApi(): unknown;
}
