import type { CatalogSnapshot } from '../../core/collection.js';
import type { Principal } from '../../core/operation.js';
import type { Pools } from '../../core/tasks.js';
import type { AccessPolicy } from '../../services/access/access.js';
import type { ApiKeys } from '../../services/access/api-keys.js';
import type { CertificateTrust } from '../../services/access/certificates/trust.js';
import type { Derivations } from '../../services/access/derivations.js';
import type { EmbedKeys } from '../../services/access/embed-keys.js';
import type { IdentityParts } from '../../services/access/identity-parts.js';
import type { RateLimits } from '../../services/access/rate-limits.js';
import type { AccessRules } from '../../services/access/rules.js';
import type { Sealing } from '../../services/access/sealing.js';
import type { Tenants } from '../../services/access/tenants.js';
import type { Users } from '../../services/access/users.js';
import type { AlertStream } from '../../services/alerts.js';
import type { CacheControl } from '../../services/cache/cache-control.js';
import type { SharedTurns } from '../../services/cluster/turns.js';
import type { Connections } from '../../services/connections/connections.js';
import type { SessionDirectory } from '../../services/events/directory.js';
import type { Exports } from '../../services/exports/service.js';
import type { Geocoding } from '../../services/geocoding/service.js';
import type { ImportService } from '../../services/import.js';
import type { JobEngine } from '../../services/jobs/engine.js';
import type { Layers } from '../../services/layers/layers.js';
import type { MigrationBatches } from '../../services/migrations/batches.js';
import type { GeoServerMigrations } from '../../services/migrations/geoserver/migrations.js';
import type { Proposals } from '../../services/processes/proposals.js';
import type { LayerCopies } from '../../services/publish/copies.js';
import type { PublishedLayers } from '../../services/publish/layers.js';
import type { SourceLayers } from '../../services/publish/source-layers.js';
import type { ManagedRasters } from '../../services/rasters/managed.js';
import type { CoverageImports } from '../../services/remote-imports/coverages.js';
import type { Replicas } from '../../services/replicas/service.js';
import type { ResumableUploads } from '../../services/resumable-uploads.js';
import type { Styles } from '../../services/styles/index.js';
import type { TilePackages } from '../../services/tile-imports/packages.js';
import type { Tilesets } from '../../services/tile-imports/tilesets.js';
import type { WmtsImports } from '../../services/tile-imports/wmts.js';
import type { TileJobs } from '../../services/tile-jobs/service.js';
import type { Uploads } from '../../services/uploads.js';
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
  /** Turns at resources, where other processes may change them as well. */
  readonly turns?: Pick<SharedTurns, 'run'> | undefined;
  readonly keys: ApiKeys;
  readonly rules: AccessRules;
  /** What a principal may do with a collection. */
  readonly access: AccessPolicy;
  readonly users: Users;
  readonly tenants: Tenants;
  readonly limits: RateLimits;
  readonly embedKeys: EmbedKeys;
  readonly identity: IdentityParts;
  readonly certificates: CertificateTrust;
  readonly jobs: JobEngine;
  readonly imports: ImportService;
  readonly geocoding: Geocoding;
  readonly exports: Exports;
  readonly uploads: Uploads;
  readonly resumableUploads: ResumableUploads;
  /** Of what jobs are to send to other servers. */
  readonly sealing: Sealing;
  readonly tileJobs: TileJobs;
  readonly tilePackages: TilePackages;
  readonly tilesets: Tilesets;
  readonly wmtsImports: WmtsImports;
  readonly rasters: ManagedRasters;
  readonly coverageImports: CoverageImports;
  readonly migrationBatches: MigrationBatches;
  readonly replicas: Replicas;
  readonly proposals: Proposals;
  readonly geoServerMigrations: GeoServerMigrations;
  readonly styles: Styles;
  readonly layers: Layers;
  readonly connections: Connections;
  readonly publishedLayers: PublishedLayers;
  readonly derivations: Pick<Derivations, 'choose'>;
  readonly layerCopies: LayerCopies;
  readonly sourceLayers: SourceLayers;
  readonly pools: Pools;
  readonly cache: CacheControl;
  readonly alerts: AlertStream;
  readonly streams: SessionDirectory;
  readonly config: ConfigDocument;
  /** The environment that this server is, and the key of its signatures; empty: there is none. */
  readonly releases: { readonly environment: string; readonly key: string };
  /** Resolves when all processes have taken over what was announced, or a second later. */
  settle(): Promise<void>;
  /** The collections that are published. */
  catalog(): CatalogSnapshot;
  /** Those that a principal may read, as it may read them. */
  visible(principal: Principal): CatalogSnapshot;
  /** Every permission that something on this server asks for. */
  permissions(): ReadonlySet<string>;
  /** The OpenAPI document of the management API, as JSON data. */
  /** The interface document of a server whose paths start with a prefix. */
  openApi(prefix: string): unknown;
}
