import Type, { type Static } from 'typebox';
import { type DataAccess, listLayerNames, OPEN_ACCESS, SERVICE } from '../../../core/access/access.js';
import { hasCoverage } from '../../../core/catalog/abilities.js';
import type { Collection, RasterCollection } from '../../../core/catalog/collection.js';
import {
  type MapSettings,
  MERGE_STRATEGIES,
  type MergeStrategy,
  PROTOCOLS,
  WEB_ADDRESS,
} from '../../../core/catalog/layer-settings.js';
import { findMosaicMerge, mergeProblem } from '../../../core/catalog/raster-sources.js';
import { layerFailure } from '../../../core/catalog/unread.js';
import { notFound } from '../../../core/errors/errors.js';
import { problem, requireSound } from '../../../core/http/body-problems.js';
import { formatActor, type Principal } from '../../../core/http/operation.js';
import { pathString } from '../../../core/http/params.js';
import { LIMITS } from '../../../core/kit/limits.js';
import { MERGES } from '../../../core/rasters/rasters.js';
import { serviceAccessId } from '../../../services/access/rules/marker.js';
import { isLayerInScope } from '../../../services/access/rules/policy.js';
import { RULE_KINDS } from '../../../services/access/rules/rules.js';
import { mapSettings } from '../../../services/catalog/layers/map-settings.js';
import type { Services, ServicesOf } from '../../admin/deps.js';
import { createRowBuilders, group, jsonBody, resource } from '../../admin/kit.js';
import { layerIdParam } from '../../admin/layer-lookup.js';
import { listAccessLayers, requireWhole } from '../../admin/layer-rights.js';
import { layerExport } from './layer-export.js';
import {
  AccessChange,
  AccessPolicyBody,
  MapServer,
  TimeInfoChange,
  TimeInfoSchema,
} from './service-schemas.js';
import { changedTime, requireTimeFields } from './time-info.js';

const SERVICES = ['access', 'catalog', 'layers', 'rules', 'settle', 'state'] as const;
type Deps = ServicesOf<typeof SERVICES>;
const { action, implement, report } = createRowBuilders(SERVICES);

const Protocols = Type.Array(Type.String(), { maxItems: 50 });
const ServiceSummary = Type.Object({
  serviceName: Type.String(),
  description: Type.String(),
  layerCount: Type.Integer(),
  enabledProtocols: Protocols,
});

const Settings = Type.Object({
  serviceName: Type.String(),
  enabledProtocols: Protocols,
  availableProtocols: Protocols,
  accessPolicy: AccessPolicyBody,
  timeInfo: TimeInfoSchema,
  mapServer: MapServer,
});

/** Null keeps a member, an empty text clears it. */
const words = (maxLength: number) => Type.Optional(Type.Union([Type.String({ maxLength }), Type.Null()]));
const Words = {
  license: words(256),
  attribution: words(LIMITS.layerAttribution),
  publisher: words(256),
  licenseUrl: words(2048),
  sourceUrl: words(2048),
};
const LayerChange = Type.Object({
  ...Words,
  title: words(256),
  description: words(4000),
  keywords: Type.Optional(
    Type.Union([
      Type.Array(Type.String({ maxLength: LIMITS.layerKeyword }), { maxItems: LIMITS.layerKeywords }),
      Type.Null(),
    ]),
  ),
  timeInfo: Type.Optional(Type.Union([TimeInfoChange, Type.Null()])),
  rasterMosaic: Type.Optional(
    Type.Union([
      Type.Object({
        mergeStrategy: Type.Optional(Type.Union([Type.Enum([...MERGE_STRATEGIES]), Type.Null()])),
      }),
      Type.Null(),
    ]),
  ),
  accessPolicy: Type.Optional(Type.Union([AccessChange, Type.Null()])),
  enabled: Type.Optional(
    Type.Union([Type.Boolean({ description: 'False: the layer is on no surface.' }), Type.Null()]),
  ),
});
type LayerChange = Static<typeof LayerChange>;

const OptionalText = Type.Union([Type.String(), Type.Null()]);
const LayerMetadata = Type.Object({
  layerId: Type.Integer(),
  layerName: Type.String(),
  description: Type.String(),
  keywords: Type.Array(Type.String()),
  enabled: Type.Boolean(),
  accessPolicy: AccessPolicyBody,
  timeInfo: TimeInfoSchema,
  rasterMosaic: Type.Union([Type.Object({ mergeStrategy: Type.Enum([...MERGE_STRATEGIES]) }), Type.Null()], {
    description: 'Merge strategy of overlapping rasters. null: the newest raster is on top.',
  }),
  license: OptionalText,
  licenseUrl: OptionalText,
  attribution: OptionalText,
  publisher: OptionalText,
  sourceUrl: OptionalText,
});

const SETTINGS = '/services/{serviceName}/settings';
const serviceName = pathString('serviceName', `Name of a service: ${SERVICE}, or one that layers belong to.`);

const ABOUT = { tag: 'Services', scope: 'services', envelope: 'wrapped', isForTenants: true } as const;

/** Services, which are groups of layers with their own settings, and the metadata of layers. */
export const services = group(ABOUT, [
  report('GET /services', 'List Services', {
    data: Type.Array(ServiceSummary),
    answer: async ({ principal }, deps) =>
      serviceNames(deps).map((name) => buildSummary(name, principal, deps)),
  }),
  report(`GET ${SETTINGS}`, 'Get Service Settings', {
    params: { serviceName },
    data: Settings,
    errors: [404],
    async answer({ params }, deps) {
      requireServiceName(params.serviceName, deps);
      return describeSettings(params.serviceName, deps);
    },
  }),
  action('PUT /services/{serviceName}/protocols', 'Update Service Protocols', {
    description:
      'Sets the APIs that serve the layers of the service. Other APIs neither list nor serve them. The body can be the list itself. The server ignores protocols that it does not support.',
    params: { serviceName },
    isForTenants: false,
    shownBy: SETTINGS,
    body: jsonBody(Type.Union([Protocols, Type.Object({ enabledProtocols: Protocols })])),
    data: Settings,
    errors: [400, 404],
    async answer({ params, body, principal }, deps) {
      requireServiceName(params.serviceName, deps);
      const names = Array.isArray(body) ? body : body.enabledProtocols;
      requireWhole(listLayers(params.serviceName, deps), 'read', principal, deps);
      const enabled = new Set(names.map((name) => name.toLowerCase()));
      const protocols = PROTOCOLS.filter((one) => enabled.has(one.toLowerCase()));
      const change = { protocols: protocols.length === PROTOCOLS.length ? undefined : protocols };
      await deps.layers.putService(params.serviceName, change, formatActor(principal));
      return describeSettings(params.serviceName, deps);
    },
  }),
  action('PUT /services/{serviceName}/mapserver', 'Update MapServer Settings', {
    description:
      'Sets the defaults of maps (size, resolution, format, background), the maximum size, and the maximum number of features of a layer in a map.',
    params: { serviceName },
    isForTenants: false,
    shownBy: SETTINGS,
    body: jsonBody(Type.Partial(MapServer)),
    data: Settings,
    errors: [400, 404],
    async answer({ params, body, principal }, deps) {
      requireServiceName(params.serviceName, deps);
      const before = deps.layers.serviceSettings(params.serviceName).mapServer;
      const mapServer = { ...before, ...(body as Partial<MapSettings>) };
      requireMapServer(mapServer);
      await deps.layers.putService(params.serviceName, { mapServer }, formatActor(principal));
      return describeSettings(params.serviceName, deps);
    },
  }),
  action('PUT /services/{serviceName}/access-policy', 'Update Service Access Policy', {
    description: 'Omitted members keep their values. An empty list of roles removes the restriction.',
    params: { serviceName },
    isForTenants: false,
    shownBy: SETTINGS,
    body: jsonBody(AccessChange),
    data: Settings,
    errors: [400, 404],
    async answer({ params, body, principal }, deps) {
      const { serviceName: name } = params;
      requireServiceName(name, deps);
      const before = deps.rules.current.accessOfNamed(name);
      await putAccess(deps, serviceAccessId(name), body, before, principal);
      return describeSettings(name, deps);
    },
  }),
  action('PUT /services/{serviceName}/timeinfo', 'Update Service Time Info', {
    description: 'Fields with the start and end times of features. Settings of a layer override them.',
    params: { serviceName },
    isForTenants: false,
    shownBy: SETTINGS,
    body: jsonBody(TimeInfoChange),
    data: Settings,
    errors: [400, 404],
    async answer({ params, body, principal }, deps) {
      const { serviceName: name } = params;
      requireServiceName(name, deps);
      const timeInfo = changedTime(body, deps.layers.serviceSettings(name).timeInfo);
      requireTimeFields(timeInfo, listLayers(name, deps), '');
      await deps.layers.putService(name, { timeInfo }, formatActor(principal));
      return describeSettings(name, deps);
    },
  }),
  action('PUT /services/{serviceName}/layers/{layerId}/metadata', 'Update Layer Metadata', {
    description:
      'Omitted members and null keep their values. An empty string or list clears a member. title, description, keywords and enabled are extensions.',
    params: { serviceName, layerId: layerIdParam },
    current: ({ params }, deps) => layerView(requireLayer(params.serviceName, params.layerId, deps), deps),
    body: jsonBody(LayerChange),
    data: LayerMetadata,
    errors: [400, 404, 501],
    async answer({ params, body, principal }, deps) {
      const collection = requireLayer(params.serviceName, params.layerId, deps);
      await putMetadata(collection, body, deps, principal);
      return layerView(deps.catalog().byLayerId(params.layerId) ?? collection, deps);
    },
  }),
  layerExport({ serviceName, layerId: layerIdParam }, ({ serviceName, layerId }, deps) =>
    requireLayer(serviceName, layerId, deps),
  ),
]);

/** Beyond the contract: metadata of one layer can be read. */
export const singleLayerMetadata = group(ABOUT, [
  ...resource(
    '/services/{serviceName}/layers/{layerId}/metadata',
    { get: 'Get Layer Metadata' },
    {
      get: implement({
        description: 'The entity tag is the one that If-Match names to change the metadata.',
        params: { serviceName, layerId: layerIdParam },
        data: LayerMetadata,
        errors: [400, 404],
        answer: ({ params }, deps) => layerView(requireLayer(params.serviceName, params.layerId, deps), deps),
      }),
    },
  ),
]);

function serviceNames({ catalog }: Services<'catalog'>): string[] {
  const named = catalog().collections.flatMap(({ service }) => service ?? []);
  return [...new Set([SERVICE, ...named.sort()])];
}

function listLayers(name: string, { catalog }: Services<'catalog'>): Collection[] {
  return catalog().collections.filter(({ service = SERVICE }) => service === name);
}

export function requireServiceName(name: string, deps: Services<'catalog'>): void {
  const names = serviceNames(deps);
  if (!names.includes(name)) throw notFound('service', name.slice(0, 100), names);
}

function requireLayer(name: string, id: number, deps: Services<'catalog'>): Collection {
  requireServiceName(name, deps);
  const collection = listLayers(name, deps).find((one) => one.layerId === id);
  if (!collection) throw layerFailure(deps.catalog(), id);
  return collection;
}

function buildSummary(name: string, principal: Principal, deps: Deps): Static<typeof ServiceSummary> {
  const { description } = deps.layers.serviceSettings(name);
  const words = name === SERVICE ? 'Collections that are in no other service.' : `Layers of ${name}.`;
  return {
    serviceName: name,
    description: description ?? words,
    layerCount: listLayers(name, deps).filter((one) => isLayerInScope(principal, one)).length,
    enabledProtocols: [...deps.layers.protocolsOf(name)],
  };
}

/** Throws 400 for sizes that contradict each other. */
function requireMapServer(change: Partial<MapSettings>): void {
  const settings = mapSettings(change);
  requireSound(
    (['Width', 'Height'] as const).map((side) =>
      settings[`defaultImage${side}`] > settings[`maxImage${side}`]
        ? problem(`defaultImage${side}`, `must not be above maxImage${side}`)
        : undefined,
    ),
  );
}

async function putMetadata(
  collection: Collection,
  change: LayerChange,
  deps: Deps,
  principal: Principal,
): Promise<void> {
  const { accessPolicy, rasterMosaic, timeInfo, title, description, keywords, enabled, ...words } = change;
  const { layers } = deps;
  const before = layers.settingsOf(collection);
  // If the caller lacks permission for a part of the change, nothing is written.
  if (enabled) requireWhole([collection], 'read', principal, deps);
  const access = deps.rules.current.accessOf(collection);
  if (accessPolicy) requireAccessRight(listLayerNames(collection)[0], accessPolicy, access, principal, deps);
  const mergeStrategy = rasterMosaic
    ? findStrategy(rasterMosaic.mergeStrategy, collection, before.mergeStrategy)
    : undefined;
  requireUrls(words);
  const time = timeInfo ? changedTime(timeInfo, before.timeInfo) : before.timeInfo;
  if (timeInfo) requireTimeFields(time, [collection], 'timeInfo/');
  const settings = {
    ...(rasterMosaic ? { mergeStrategy } : {}),
    title: changed(before.title, title),
    description: changed(before.description, description),
    timeInfo: time,
    enabled: (enabled ?? before.enabled) === false ? false : undefined,
    about: {
      keywords: keywords ? (keywords.length > 0 ? keywords : undefined) : before.about?.keywords,
      ...Object.fromEntries(WORDS.map((member) => [member, changed(before.about?.[member], words[member])])),
    },
  };
  await layers.put(collection, settings, formatActor(principal));
  if (accessPolicy) await putAccess(deps, listLayerNames(collection)[0], accessPolicy, access, principal);
}

/** Undefined for null, which clears it. Throws 400 for a layer without rasters, and for values that cannot be merged. */
function findStrategy(
  strategy: MergeStrategy | null | undefined,
  collection: Collection,
  before: MergeStrategy | undefined,
): MergeStrategy | undefined {
  requireSound([hasCoverage(collection) ? undefined : problem('rasterMosaic', 'is only for raster layers')]);
  if (strategy === undefined || strategy === null) return undefined;
  const isMerge = (of: MergeStrategy | undefined) => MERGES.some((one) => one === of);
  const wrong =
    hasCoverage(collection) && isMerge(strategy) ? findProblem(collection, isMerge(before)) : undefined;
  requireSound([wrong === undefined ? undefined : problem('rasterMosaic/mergeStrategy', wrong)]);
  return strategy;
}

/** Reasons why the values of a layer cannot be merged, unless its settings already merge them. */
function findProblem({ raster }: RasterCollection, isMerged: boolean): string | undefined {
  const isOfSource = !isMerged && findMosaicMerge(raster.source) !== undefined;
  return isOfSource ? 'the source merges values by itself' : mergeProblem(raster.bands);
}

const WORDS = ['license', 'licenseUrl', 'attribution', 'publisher', 'sourceUrl'] as const;

const changed = (before: string | undefined, value: string | null | undefined) =>
  value === undefined || value === null ? before : value === '' ? undefined : value;

function requireUrls(words: Pick<LayerChange, 'licenseUrl' | 'sourceUrl'>): void {
  requireSound(
    (['licenseUrl', 'sourceUrl'] as const).map((member) =>
      !words[member] || WEB_ADDRESS.test(words[member])
        ? undefined
        : problem(member, 'must be an http or https URL'),
    ),
  );
}

/** Callers may open only layers that they can read, and allow writes only to layers that they can write. */
function requireAccessRight(
  id: string,
  change: AccessChange,
  before: DataAccess,
  principal: Principal,
  deps: Deps,
): void {
  const layers = listAccessLayers(id, deps.rules.current, deps.catalog());
  requireWhole(layers, 'read', principal, deps);
  if (changesWriting(change, before)) requireWhole(layers, 'write', principal, deps);
}

function changesWriting(change: AccessChange, before: DataAccess): boolean {
  const { allowAnonymousWrite = before.allowAnonymousWrite, allowedWriteRoles = before.allowedWriteRoles } =
    change;
  return (
    allowAnonymousWrite !== before.allowAnonymousWrite ||
    JSON.stringify(allowedWriteRoles) !== JSON.stringify(before.allowedWriteRoles)
  );
}

/** Once this resolves, all processes keep to it. */
async function putAccess(
  deps: Deps,
  id: string,
  change: AccessChange,
  before: DataAccess,
  principal: Principal,
): Promise<void> {
  const { state, settle } = deps;
  requireAccessRight(id, change, before, principal, deps);
  const members = Object.fromEntries(Object.entries(change).filter(([, value]) => value !== undefined));
  const access: DataAccess = { ...before, ...members };
  await state.documents.announcing('access').put(RULE_KINDS.access, id, access, formatActor(principal));
  await settle();
}

function describeSettings(name: string, { layers, rules }: Deps): Static<typeof Settings> {
  const { timeInfo, mapServer } = layers.serviceSettings(name);
  return {
    serviceName: name,
    enabledProtocols: [...layers.protocolsOf(name)],
    availableProtocols: [...PROTOCOLS],
    accessPolicy: accessView(rules.current.accessOfNamed(name)),
    timeInfo: timeInfo ?? null,
    mapServer: mapSettings(mapServer ?? {}),
  };
}

function layerView(collection: Collection, { layers, rules }: Deps): Static<typeof LayerMetadata> {
  const { layerId, title, description, isDisabled = false } = collection;
  const { about = {}, timeInfo, mergeStrategy } = layers.settingsOf(collection);
  const { keywords = [], license, licenseUrl, attribution, publisher, sourceUrl } = about;
  return {
    layerId,
    layerName: title,
    description,
    keywords: [...keywords],
    enabled: !isDisabled,
    accessPolicy: accessView(rules.current.accessOf(collection)),
    timeInfo: timeInfo ?? null,
    rasterMosaic: mergeStrategy === undefined ? null : { mergeStrategy },
    license: license ?? null,
    licenseUrl: licenseUrl ?? null,
    attribution: attribution ?? null,
    publisher: publisher ?? null,
    sourceUrl: sourceUrl ?? null,
  };
}

function accessView({
  allowedRoles,
  allowedWriteRoles,
  ...access
}: DataAccess): Static<typeof AccessPolicyBody> {
  return {
    ...OPEN_ACCESS,
    ...access,
    allowedRoles: [...allowedRoles],
    allowedWriteRoles: [...allowedWriteRoles],
  };
}
