import type { CatalogSnapshot } from '../../core/catalog/collection.js';
import type { Principal } from '../../core/http/operation.js';
import type { Pools } from '../../core/tasks/tasks.js';
import type { AccessPolicy } from '../../services/access/access.js';
import type { CertificateTrust } from '../../services/access/certificates/trust.js';
import type { IdentityParts } from '../../services/access/identity/identity-parts.js';
import type { Users } from '../../services/access/identity/users.js';
import type { ApiKeys } from '../../services/access/keys/api-keys.js';
import type { EmbedKeys } from '../../services/access/keys/embed-keys.js';
import type { StateCipher } from '../../services/access/keys/state-cipher.js';
import type { RateLimits } from '../../services/access/rate-limits.js';
import type { Derivations } from '../../services/access/rules/derivations.js';
import type { AccessRules } from '../../services/access/rules/rules.js';
import type { Tenants } from '../../services/access/tenants.js';
import type { AlertDispatch } from '../../services/alerts/dispatch.js';
import type { AlertRules } from '../../services/alerts/rules.js';
import type { AlertStream } from '../../services/alerts/stream.js';
import type { AuditCheckpoints } from '../../services/audit/checkpoints.js';
import type { CrsList } from '../../services/catalog/crs/crs-list.js';
import type { SourceCrs } from '../../services/catalog/crs/source-crs.js';
import type { Layers } from '../../services/catalog/layers/layers.js';
import type { PublishedLayers } from '../../services/catalog/publish/layers.js';
import type { SourceLayers } from '../../services/catalog/publish/source-layers.js';
import type { ManagedRasters } from '../../services/catalog/rasters/raster-management.js';
import type { SourceStates } from '../../services/catalog/source-states.js';
import type { Compliance } from '../../services/compliance/compliance.js';
import type { Connections } from '../../services/connections/connections.js';
import type { Deployments } from '../../services/deploy/deployments.js';
import type { DiagnosticBundles } from '../../services/diagnostics/bundles.js';
import type { LayerCopies } from '../../services/exchange/copies/copies.js';
import type { Exports } from '../../services/exchange/exports/service.js';
import type { ImportService } from '../../services/exchange/import.js';
import type { MigrationBatches } from '../../services/exchange/migrations/batches.js';
import type { GeoServerMigrations } from '../../services/exchange/migrations/geoserver/migrations.js';
import type { CoverageImports } from '../../services/exchange/remote/coverages.js';
import type { ResumableUploads } from '../../services/exchange/resumable-uploads.js';
import type { TilePackages } from '../../services/exchange/tiles/packages.js';
import type { Tilesets } from '../../services/exchange/tiles/tilesets.js';
import type { WmtsImports } from '../../services/exchange/tiles/wmts.js';
import type { Uploads } from '../../services/exchange/uploads.js';
import type { Federation } from '../../services/federation/federation.js';
import type { FieldExports } from '../../services/forms/exports.js';
import type { FormPackages } from '../../services/forms/form-packages.js';
import type { FieldReviews } from '../../services/forms/reviews.js';
import type { Geocoding } from '../../services/geocoding/service.js';
import type { JobEngine } from '../../services/jobs/engine.js';
import type { Capacity } from '../../services/licensing/capacity.js';
import type { Licences } from '../../services/licensing/licences.js';
import type { OpsHealth } from '../../services/observability/health/ops-health.js';
import type { Observer } from '../../services/observability/observer.js';
import type { ProcessReports } from '../../services/observability/process-reports.js';
import type { RequestRecords } from '../../services/observability/request-records.js';
import type { Autonomy } from '../../services/operate/autonomy/autonomy.js';
import type { FindingActions } from '../../services/operate/findings/finding-actions.js';
import type { Findings } from '../../services/operate/findings/findings.js';
import type { Ledger } from '../../services/operate/ledger.js';
import type { PackageReviews } from '../../services/packages/reviews.js';
import type { Replicas } from '../../services/replicas/service.js';
import type { LiveScenes } from '../../services/scenes/live-scenes.js';
import type { SceneRegistry } from '../../services/scenes/registry.js';
import type { SessionDirectory } from '../../services/streams/directory.js';
import type { Styles } from '../../services/styles/index.js';
import type { CacheControl } from '../../services/tiles/cache/cache-control.js';
import type { TileJobs } from '../../services/tiles/jobs/service.js';
import type { State } from '../../stores/state/state.js';
import type { ConfigDocument } from './config-document.js';

/** Facts about this server that do not change while it runs. */
interface ServerFacts {
  /** Version with three numeric parts, which clients compare. */
  version: string;
  releaseChannel: 'stable' | 'lts' | 'preview' | 'alpha' | 'beta' | 'rc' | 'nightly' | 'dev';
}

/** Everything that management operations act on; assembled once at start. Each group of operations receives only the services that it lists. */
export interface AdminDeps {
  readonly server: ServerFacts;
  readonly state: State;
  readonly keys: ApiKeys;
  readonly rules: AccessRules;
  /** Permissions of a principal for a collection. */
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
  /** Encrypts secrets that jobs send to other servers. */
  readonly sealing: StateCipher;
  readonly tileJobs: TileJobs;
  readonly tilePackages: TilePackages;
  readonly tilesets: Tilesets;
  readonly wmtsImports: WmtsImports;
  readonly rasters: ManagedRasters;
  readonly coverageImports: CoverageImports;
  readonly migrationBatches: MigrationBatches;
  readonly replicas: Replicas;
  readonly ledger: Ledger;
  readonly geoServerMigrations: GeoServerMigrations;
  readonly styles: Styles;
  readonly layers: Layers;
  readonly connections: Connections;
  readonly publishedLayers: PublishedLayers;
  readonly derivations: Pick<Derivations, 'choose'>;
  readonly layerCopies: LayerCopies;
  readonly sourceLayers: SourceLayers;
  readonly sources: SourceStates;
  readonly sourceCrs: SourceCrs;
  readonly crsList: CrsList;
  readonly pools: Pools;
  readonly cache: CacheControl;
  readonly alerts: AlertStream;
  readonly alertDispatch: AlertDispatch;
  readonly alertRules: AlertRules;
  readonly streams: SessionDirectory;
  readonly config: ConfigDocument;
  readonly observer: Observer;
  readonly requestRecords: Pick<RequestRecords, 'list' | 'find'>;
  readonly bundles: DiagnosticBundles;
  readonly checkpoints: AuditCheckpoints;
  readonly opsHealth: OpsHealth;
  readonly findings: Findings;
  readonly findingActions: Pick<FindingActions, 'propose'>;
  readonly autonomy: Autonomy;
  readonly licences: Licences;
  readonly capacity: Capacity;
  readonly deployments: Deployments;
  readonly compliance: Compliance;
  readonly packageReviews: PackageReviews;
  readonly federation: Federation;
  readonly forms: FormPackages;
  readonly fieldReviews: FieldReviews;
  readonly fieldExports: FieldExports;
  readonly scenes: SceneRegistry;
  readonly liveScenes: LiveScenes;
  readonly reports: Pick<ProcessReports, 'statements' | 'resources' | 'caches'>;
  /** `environment`: release environment of this server. `key`: signing key, empty if releases are not signed. */
  readonly releases: { readonly environment: string; readonly key: string };
  /** Waits until all processes have applied the changes that the request announced, at most one second. */
  settle(): Promise<void>;
  /** The published collections. */
  catalog(): CatalogSnapshot;
  /** The collections that a principal can read, with its filters and masks. */
  visible(principal: Principal): CatalogSnapshot;
  /** All permissions that operations of this server require. */
  permissions(): ReadonlySet<string>;
  /** Returns the OpenAPI document of the management API as JSON data, for a server whose paths start with a prefix. */
  openApi(prefix: string): unknown;
}

export type AdminServiceName = keyof AdminDeps;

/** The services of these names. */
export type Services<N extends AdminServiceName> = Pick<AdminDeps, N>;

/** The services of a list of names: `ServicesOf<typeof SERVICES>`. */
export type ServicesOf<L extends readonly AdminServiceName[]> = Services<L[number]>;

export function pickServices<N extends AdminServiceName>(all: AdminDeps, names: readonly N[]): Services<N> {
  const picked: Partial<Services<N>> = {};
  for (const name of names) picked[name] = all[name];
  return picked as Services<N>;
}
