import { TaskFailure } from '../../../../core/errors/failure.js';
import type { GeoServerCatalog, GeoServerLayer } from '../../../../core/exchange/geoserver.js';
import type { RemoteRequest, WfsPlan } from '../../../../core/exchange/ingest.js';
import type { JobContext } from '../../../jobs/kinds.js';
import { askAgain } from '../../remote/retries.js';
import { type AssessmentDeps, assessGeoServer } from './assessment.js';
import { chooseLayers } from './choice.js';
import { buildLayerNotes, findFeatureType, getServiceEndpoint, type SourceNotes } from './notes.js';
import { type LeftPart, type MigrationPlan, planLayers, withoutLayers } from './plan.js';
import type { MigrationRequest } from './request.js';

export interface SourceDiscovery {
  readonly plan: MigrationPlan;
  readonly notes: SourceNotes;
}

/** Contents of a source, and the plan of its migration. */
export class MigrationDiscovery {
  readonly #services = new Map<string, Promise<WfsPlan | TaskFailure>>();

  constructor(
    private readonly deps: AssessmentDeps,
    private readonly context: JobContext<MigrationRequest>,
    /** For the root of the REST API. */
    private readonly request: RemoteRequest,
  ) {}

  async run(): Promise<SourceDiscovery> {
    const { context, deps } = this;
    const { input } = context;
    const catalog = await context.step('discover', 'Reading the GeoServer', () =>
      askAgain(deps.pools, context, input.maxRetries, 'ingest.geoserver', {
        ...this.request,
        withStyles: input.importStyles,
      }),
    );
    const assessment = await assessGeoServer(catalog, deps, context.signal);
    const { choice, plan } = await context.step('workspaces', 'Giving names to layers', async () => {
      const choice = chooseLayers(catalog, input);
      return { choice, plan: planLayers(choice, catalog, assessment, input) };
    });
    return context.step('stores', 'Looking for the layers in the services', () =>
      this.#locate(catalog, choice, plan),
    );
  }

  /** Locates layers in the services. Layers missing in their services are omitted. */
  async #locate(
    catalog: GeoServerCatalog,
    choice: readonly GeoServerLayer[],
    plan: MigrationPlan,
  ): Promise<SourceDiscovery> {
    const layers: Record<string, ReturnType<typeof buildLayerNotes>> = {};
    const left: LeftPart[] = [];
    for (const { id, kind } of plan.layers) {
      const layer = choice.find((one) => one.id === id)!;
      const { url, isEnabled } = getServiceEndpoint(catalog, layer, kind === 'featureType' ? 'wfs' : 'wcs');
      const service = kind === 'featureType' && isEnabled ? await this.#wfs(url) : undefined;
      const type = service && !(service instanceof TaskFailure) ? findFeatureType(layer, service) : undefined;
      if (!isEnabled) left.push(leftLayer(id, 'service-disabled', `The service ${url} is switched off.`));
      else if (service instanceof TaskFailure)
        left.push(leftLayer(id, 'service-unreadable', `${url}: ${service.message}`));
      else if (service && !type)
        left.push(leftLayer(id, 'not-offered', `The WFS at ${url} does not offer it.`));
      else layers[id] = buildLayerNotes(layer, catalog, type);
    }
    const used = new Set(
      plan.layers.flatMap(({ styleId, otherStyles }) => [styleId ?? [], otherStyles].flat()),
    );
    const styles = Object.fromEntries(
      catalog.styles.flatMap(({ id, content }) =>
        used.has(id) && content !== undefined ? [[id, content] as const] : [],
      ),
    );
    return { plan: withoutLayers(plan, left), notes: { layers, styles } };
  }

  /** Capabilities of a WFS, or the reason why they cannot be read. */
  #wfs(url: string): Promise<WfsPlan | TaskFailure> {
    const { deps, context, request } = this;
    const service =
      this.#services.get(url) ??
      askAgain(deps.pools, context, context.input.maxRetries, 'ingest.wfsPlan', { ...request, url }).catch(
        (error: unknown) => {
          if (error instanceof TaskFailure && error.code === 'source-unreadable') return error;
          throw error;
        },
      );
    this.#services.set(url, service);
    return service;
  }
}

function leftLayer(id: string, code: string, reason: string): LeftPart {
  const manualSteps = ['Let the service have it, and begin a migration of this layer.'];
  return { kind: 'layer', id, code, reason, manualSteps };
}
