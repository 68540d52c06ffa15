import type {
  GeoServerCatalog,
  GeoServerEndpoint,
  GeoServerGroup,
  GeoServerLayer,
  GeoServerResource,
  GeoServerStore,
  GeoServerStyle,
  GeoServerTask,
  GeoServerWorkspace,
} from '../../../../core/exchange/geoserver.js';
import { geoServerId } from '../../../../core/exchange/geoserver.js';
import { LIMITS } from '../../../../core/kit/limits.js';
import { refused } from '../../../storage/remote/allowed-hosts.js';
import type { RemoteAccess } from '../http.js';
import { object, type RemoteJson } from '../json.js';
import { listRestNames, listRestObjects, parseRestFlag, parseRestString } from './documents.js';
import { GeoServerReader, type Path } from './reader.js';
import {
  parseCoverage,
  parseFeatureType,
  parseGeoServerLayer,
  parseGeoServerStore,
  parseGeoServerStyle,
  parseLayerGroup,
  type ResourcePlace,
} from './resources.js';
import { readTileCache } from './tile-cache.js';

const SLD = 'application/vnd.ogc.sld+xml';
const SERVICES = ['wfs', 'wms', 'wcs'] as const;

/**
 * Task `ingest.geoserver`. Fails with `source-unreadable` if the server is not a GeoServer, and with `access-denied`
 * if the credentials are refused. An unreadable part is a gap in the result.
 */
export async function readGeoServer(
  { withStyles, ...request }: GeoServerTask,
  asking: RemoteAccess,
): Promise<GeoServerCatalog> {
  const reading = new GeoServerReader(request, asking);
  const about = parseAbout(await reading.first(['about', 'version']));
  const walk = new Walk(reading, request.url, withStyles);
  const workspaces = await walk.workspaces();
  const stores = await walk.stores(workspaces);
  const resources = await walk.resources(stores);
  return {
    ...about,
    settings: await walk.settings(),
    endpoints: await walk.endpoints(),
    workspaces,
    stores,
    layers: await walk.layers(resources),
    groups: await walk.groups(workspaces),
    styles: await walk.styles(workspaces),
    ...(await readTileCache(reading)),
    gaps: reading.gaps.sort((a, b) => (a.path < b.path ? -1 : 1)),
  };
}

function parseAbout(
  document: RemoteJson,
): Pick<GeoServerCatalog, 'version' | 'gitRevision' | 'buildTimestamp'> {
  const product = listRestObjects(document, 'about', 'resource').find(
    (one) => parseRestString(one['@name'])?.toLowerCase() === 'geoserver',
  );
  if (!product) throw refused('it is not a GeoServer');
  return {
    version: parseRestString(product['Version']),
    gitRevision: parseRestString(product['Git-Revision']),
    buildTimestamp: parseRestString(product['Build-Timestamp']),
  };
}

/** Lists and documents of the REST API: `{"workspaces": {"workspace": [{"name": ..}]}}`. */
interface Listing {
  readonly path: Path;
  readonly member: string;
  readonly entry: string;
}

class Walk {
  constructor(
    private readonly reading: GeoServerReader,
    private readonly root: string,
    private readonly withStyles: boolean,
  ) {}

  async workspaces(): Promise<GeoServerWorkspace[]> {
    const names = await this.#names({ path: ['workspaces'], member: 'workspaces', entry: 'workspace' });
    const main = names.length === 0 ? undefined : await this.reading.object(['workspaces', 'default']);
    const mainName = parseRestString(object(main?.['workspace'])['name']);
    return this.reading.each(names, async (name) => {
      const document = object((await this.reading.object(['workspaces', name]))?.['workspace']);
      return { name, isDefault: name === mainName, isIsolated: parseRestFlag(document['isolated'], false) };
    });
  }

  async stores(workspaces: readonly GeoServerWorkspace[]): Promise<GeoServerStore[]> {
    const all: GeoServerStore[] = [];
    for (const { name: workspace } of workspaces) {
      const base = ['workspaces', workspace];
      for (const [kind, folder, member, entry] of [
        ['data', 'datastores', 'dataStores', 'dataStore'],
        ['coverage', 'coveragestores', 'coverageStores', 'coverageStore'],
      ] as const) {
        const path = [...base, folder];
        const names = await this.#names({ path, member, entry });
        all.push(
          ...(await this.reading.each(names, async (name) => {
            const document = await this.reading.object([...path, name]);
            return parseGeoServerStore(kind, workspace, name, object(document?.[entry]));
          })),
        );
      }
    }
    return all;
  }

  /** Feature types and coverages by their names. */
  async resources(stores: readonly GeoServerStore[]): Promise<ReadonlyMap<string, GeoServerResource>> {
    const places = await this.reading.each(stores, (store) => this.#placesOf(store));
    const all = await this.reading.each(places.flat(), async ({ kind, place, path }) => {
      const document = await this.reading.object(path);
      if (document === undefined) return undefined;
      return kind === 'data'
        ? parseFeatureType(place, object(document['featureType']))
        : parseCoverage(place, object(document['coverage']));
    });
    return new Map(
      all.flatMap((resource) =>
        resource ? [[geoServerId(resource.workspace, resource.name), resource] as const] : [],
      ),
    );
  }

  async #placesOf({ kind, workspace, name: store }: GeoServerStore) {
    const [stores, folder, member, entry] =
      kind === 'data'
        ? (['datastores', 'featuretypes', 'featureTypes', 'featureType'] as const)
        : (['coveragestores', 'coverages', 'coverages', 'coverage'] as const);
    const path = ['workspaces', workspace, stores, store, folder];
    const names = await this.#names({ path, member, entry });
    return names.map((name) => ({
      kind,
      place: { workspace, store, name } satisfies ResourcePlace,
      path: [...path, name],
    }));
  }

  async layers(resources: ReadonlyMap<string, GeoServerResource>): Promise<GeoServerLayer[]> {
    const names = await this.#names({ path: ['layers'], member: 'layers', entry: 'layer' });
    const layers = await this.reading.each(names, async (name) => {
      const document = await this.reading.object(['layers', name]);
      return document && parseGeoServerLayer(name, object(document['layer']), resources);
    });
    return layers.filter((layer) => layer !== undefined);
  }

  async groups(workspaces: readonly GeoServerWorkspace[]): Promise<GeoServerGroup[]> {
    return this.#everywhere(
      workspaces,
      { path: ['layergroups'], member: 'layerGroups', entry: 'layerGroup' },
      async (workspace, name, document) => parseLayerGroup(workspace, name, document),
    );
  }

  async styles(workspaces: readonly GeoServerWorkspace[]): Promise<GeoServerStyle[]> {
    return this.#everywhere(
      workspaces,
      { path: ['styles'], member: 'styles', entry: 'style' },
      async (workspace, name, document, path) => {
        const style = parseGeoServerStyle(workspace, name, document);
        if (!this.withStyles || style.format !== 'sld') return style;
        const content = await this.reading.text(path, '.sld', SLD);
        if (content === undefined || Buffer.byteLength(content) <= LIMITS.sldBytes)
          return { ...style, content };
        this.reading.gap(path, `The style has more than ${LIMITS.sldBytes} bytes.`);
        return style;
      },
    );
  }

  async settings(): Promise<GeoServerCatalog['settings']> {
    const document = await this.reading.object(['settings']);
    if (document === undefined) return undefined;
    const global = object(document['global']);
    const settings = object(global['settings']);
    const contact = object(settings['contact']);
    const members = {
      charset: settings['charset'],
      numDecimals: settings['numDecimals'],
      onlineResource: settings['onlineResource'],
      proxyBaseUrl: settings['proxyBaseUrl'],
      title: settings['title'],
      contactOrganization: contact['contactOrganization'],
      globalServices: global['globalServices'],
    };
    return Object.fromEntries(
      Object.entries(members).filter(([, value]) => /^(string|number|boolean)$/.test(typeof value)),
    ) as Record<string, string | number | boolean>;
  }

  endpoints(): Promise<GeoServerEndpoint[]> {
    return this.reading.each(SERVICES, async (service) => {
      const document = await this.reading.object(['services', service, 'settings']);
      const settings = object(document?.[service]);
      return {
        service,
        url: new URL(`../${service}`, `${this.root}/`).href,
        isEnabled: parseRestFlag(settings['enabled'], true),
        title: parseRestString(settings['title']),
      };
    });
  }

  /** Reads resources of each workspace, and resources without a workspace. */
  async #everywhere<T>(
    workspaces: readonly GeoServerWorkspace[],
    { path, member, entry }: Listing,
    work: (workspace: string | undefined, name: string, document: RemoteJson, path: Path) => Promise<T>,
  ): Promise<T[]> {
    const all: T[] = [];
    for (const workspace of [undefined, ...workspaces.map(({ name }) => name)]) {
      const folder = workspace === undefined ? path : ['workspaces', workspace, ...path];
      const names = await this.#names({ path: folder, member, entry });
      const parts = await this.reading.each(names, async (name) => {
        const own = [...folder, name];
        const document = await this.reading.object(own);
        return document && work(workspace, name, object(document[entry]), own);
      });
      all.push(...parts.filter((part) => part !== undefined));
    }
    return all;
  }

  async #names({ path, member, entry }: Listing): Promise<string[]> {
    return listRestNames(await this.reading.object(path), member, entry);
  }
}
