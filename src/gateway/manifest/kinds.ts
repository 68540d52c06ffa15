import { randomUUID } from 'node:crypto';
import type { Static } from 'typebox';
import {
  BUILT_IN_ROLES,
  type DataAccess,
  listLayerNames,
  listPermissionLabels,
  OPEN_ACCESS,
  type Role,
  type RuleScope,
  SERVICE,
} from '../../core/access/access.js';
import { isDrawable } from '../../core/catalog/abilities.js';
import type { LayerSettings } from '../../core/catalog/layer-settings.js';
import { ApiError } from '../../core/errors/errors.js';
import { problem } from '../../core/http/body-problems.js';
import type { Principal } from '../../core/http/operation.js';
import { StyleError } from '../../core/styles/check.js';
import { permits, requireHeld } from '../../services/access/permissions.js';
import { RATE_LIMIT_KIND } from '../../services/access/rate-limits.js';
import { chooseHidden } from '../../services/access/rules/derivations.js';
import { hidingSettings } from '../../services/access/rules/hidden.js';
import { isAdministrator } from '../../services/access/rules/policy.js';
import { RULE_KINDS } from '../../services/access/rules/rules.js';
import { checkLayer } from '../../services/catalog/layers/checks.js';
import { LAYER_KIND, SERVICE_KIND } from '../../services/catalog/layers/layers.js';
import type { Topic } from '../../stores/database/announcements.js';
import type { Services } from '../admin/deps.js';
import {
  listAccessLayers,
  listRuleLayers,
  requireWhole,
  requireWholeLayers,
  ruledLayer,
} from '../admin/layer-rights.js';
import { requireMask, requireRowPolicy } from '../admin/rule-checks.js';
import { alertRule, alertZone } from './alerts.js';
import { layerCopy } from './copies.js';
import { createObjectError, type ManifestKind } from './kind.js';
import { connection, publishedLayer } from './publication.js';
import {
  AccessSpec,
  FieldMaskSpec,
  LayerSpec,
  RateLimitSpec,
  RoleSpec,
  RowPolicySpec,
  ServiceSpec,
  StyleSpec,
} from './schemas.js';
import { sourceCrs } from './source-crs.js';

/** Objects that are documents of the state, by their ids. */
function documentKind(
  about: Pick<ManifestKind, 'kind' | 'scope' | 'schema' | 'prepare' | 'requireRight'>,
  documentsOf: string,
  topic: Topic,
): ManifestKind {
  return {
    ...about,
    list: async ({ state }) =>
      (await state.documents.list<object>(documentsOf)).map(({ id, body }) => ({ name: id, spec: body })),
    async write({ documents }, name, spec, by) {
      const announcing = documents.announcing(topic);
      if (spec) await announcing.put(documentsOf, name, spec, by);
      else await announcing.remove(documentsOf, name);
    },
  };
}

const role: ManifestKind = {
  kind: 'Role',
  scope: 'roles',
  schema: RoleSpec,
  list: async ({ state }) =>
    (await state.documents.list<Role>(RULE_KINDS.role)).map(({ body: { name, ...spec } }) => ({
      name,
      spec,
    })),
  prepare({ name, spec }, { principal }) {
    if (BUILT_IN_ROLES.some((one) => one.name === name))
      throw createObjectError(problem('name', 'is the name of a built-in role. Choose another name'));
    requireHeld(principal, (spec as Static<typeof RoleSpec>).permissions.flatMap(listPermissionLabels));
  },
  requireRight(_name, { before }, principal) {
    // A caller may revoke only permissions that it could also grant.
    if (before)
      requireHeld(principal, (before as Static<typeof RoleSpec>).permissions.flatMap(listPermissionLabels));
  },
  async write({ documents }, name, spec, by) {
    const announcing = documents.announcing('access');
    const before = (await documents.list<Role>(RULE_KINDS.role)).find(({ body }) => body.name === name);
    const id = before?.id ?? randomUUID();
    if (spec) await announcing.put(RULE_KINDS.role, id, { name, ...spec }, by);
    else await announcing.remove(RULE_KINDS.role, id);
  },
};

const rowPolicy = documentKind(
  {
    kind: 'RowPolicy',
    scope: 'row-level-security',
    schema: RowPolicySpec,
    requireRight: requireRuleRight,
    prepare: ({ spec }, targets) => requireRowPolicy(spec as Static<typeof RowPolicySpec>, targets),
  },
  RULE_KINDS.rows,
  'access',
);

const fieldMask = documentKind(
  {
    kind: 'FieldMask',
    scope: 'field-masks',
    schema: FieldMaskSpec,
    requireRight: requireRuleRight,
    prepare({ spec }, targets) {
      const { treatment = 'hide', length = null, ...mask } = spec as Static<typeof FieldMaskSpec>;
      requireMask({ ...mask, treatment, length }, targets);
    },
  },
  RULE_KINDS.mask,
  'access',
);

const accessPolicy = documentKind(
  {
    kind: 'AccessPolicy',
    scope: 'services',
    schema: AccessSpec,
    requireRight: requireAccessRight,
  },
  RULE_KINDS.access,
  'access',
);

const rateLimit = documentKind(
  { kind: 'RateLimit', scope: 'rate-limits', schema: RateLimitSpec },
  RATE_LIMIT_KIND,
  'access',
);

const service = documentKind(
  { kind: 'Service', scope: 'services', schema: ServiceSpec, requireRight: requireServiceRight },
  SERVICE_KIND,
  'layer',
);

const layerSettings = documentKind(
  {
    kind: 'Layer',
    scope: 'layer-metadata',
    schema: LayerSpec,
    requireRight: requireLayerRight,
    prepare({ name, spec }, { catalog }) {
      const collection = catalog().byId(name);
      if (!collection) throw createObjectError(problem('name', 'must be a published layer'));
      const errors = checkLayer(collection, spec as LayerSettings, catalog().collections).filter(
        ({ severity }) => severity === 'error',
      );
      if (errors.length > 0)
        throw createObjectError(problem('spec', errors.map(({ message }) => message).join(' ')));
    },
  },
  LAYER_KIND,
  'layer',
);
const layer: ManifestKind = {
  ...layerSettings,
  async prepare(entry, targets, deps) {
    await layerSettings.prepare!(entry, targets, deps);
    return { isByAdministrator: isAdministrator(targets.principal) };
  },
  async write(stores, name, spec, by, prepared) {
    await layerSettings.write(stores, name, spec, by, prepared);
    const { isByAdministrator = false } = (prepared ?? {}) as { isByAdministrator?: boolean };
    if (!spec || !isByAdministrator) return;
    await chooseHidden(stores.documents.announcing('access'), name, hidingSettings(spec), by);
  },
  /** Settings of a removed layer are not listed, because they could not be applied. */
  list: async (deps) =>
    (await layerSettings.list(deps)).filter(
      ({ name, spec }) => Object.keys(spec).length > 0 || deps.catalog().byId(name),
    ),
};

const style: ManifestKind = {
  kind: 'Style',
  scope: 'styles',
  schema: StyleSpec,
  async list({ state, catalog }) {
    const styles = await state.styles.inForce();
    return styles.flatMap(({ layerId, document, drawingInfo, popupInfo }) => {
      const collection = catalog().byLayerId(layerId);
      const spec = { document: document!, drawingInfo, popupInfo };
      return collection ? [{ name: collection.id, spec }] : [];
    });
  },
  async prepare({ name, spec }, { catalog }, { styles }) {
    const collection = catalog().byId(name);
    if (!isDrawable(collection))
      throw createObjectError(problem('name', 'must be a layer that can be drawn'));
    try {
      await styles.check(collection, (spec as Static<typeof StyleSpec>).document);
    } catch (error) {
      if (error instanceof StyleError) throw createObjectError(problem('spec/document', error.message));
      throw error;
    }
  },
  async write({ styles, collections }, name, spec, by) {
    const layerId = await collections.idOf(name);
    const {
      document = null,
      drawingInfo = null,
      popupInfo = null,
    } = (spec ?? {}) as Partial<Static<typeof StyleSpec>>;
    const change = { document: document as never, drawingInfo, popupInfo };
    await styles.put(layerId, { ...change, changedBy: by, changeSummary: 'manifest applied' });
  },
};

/** In the order in which they are written. */
export const MANIFEST_KINDS: readonly ManifestKind[] = [
  role,
  connection,
  publishedLayer,
  layerCopy,
  sourceCrs,
  service,
  layer,
  style,
  accessPolicy,
  rowPolicy,
  fieldMask,
  rateLimit,
  alertZone,
  alertRule,
];

type RightCheck = NonNullable<ManifestKind['requireRight']>;

/** Policies for rows and masks. */
function requireRuleRight(...[, { before, after }, principal, deps]: Parameters<RightCheck>): void {
  for (const rule of [before, after] as (RuleScope | undefined)[])
    if (rule) requireWhole(listRuleLayers(rule, deps.catalog()), 'read', principal, deps);
}

async function requireAccessRight(...[name, { before, after }, principal, deps]: Parameters<RightCheck>) {
  const layers = listAccessLayers(name, deps.rules.current, deps.catalog());
  requireWhole(layers, 'read', principal, deps);
  const off = await switchedOffLayers(name, deps);
  requireWholeLayers(off, 'read', principal, deps.rules);
  const [was, becomes] = [before, after].map((one) => {
    const { allowAnonymousWrite, allowedWriteRoles } = (one ?? OPEN_ACCESS) as DataAccess;
    return JSON.stringify([allowAnonymousWrite, allowedWriteRoles]);
  });
  if (was === becomes) return;
  requireWhole(layers, 'write', principal, deps);
  requireWholeLayers(off, 'write', principal, deps.rules);
}

/** The published table behind a disabled layer, whose name no collection of the catalog has. */
async function switchedOffLayers(
  name: string,
  { publishedLayers, catalog }: Services<'catalog' | 'publishedLayers'>,
) {
  if (catalog().byId(name)) return [];
  return (await publishedLayers.list()).map(ruledLayer).filter((one) => listLayerNames(one).includes(name));
}

/** Protocols of a service. */
function requireServiceRight(...[name, { before, after }, principal, deps]: Parameters<RightCheck>): void {
  if (!isChanged('protocols', before, after)) return;
  const layers = deps.catalog().collections.filter(({ service = SERVICE }) => service === name);
  requireWhole(layers, 'read', principal, deps);
}

/** Permanent filters, fields, the service of the layer, and whether it is on any surface. */
async function requireLayerRight(...[name, { before, after }, principal, deps]: Parameters<RightCheck>) {
  const collection = deps.catalog().byId(name);
  const isAccess = ['filter', 'fields', 'enabled', 'service'].some((member) =>
    isChanged(member, before, after),
  );
  if (!collection) {
    if (isAccess) requireWholeLayers(await switchedOffLayers(name, deps), 'read', principal, deps.rules);
    return;
  }
  if (isAccess) requireWhole([collection], 'read', principal, deps);
  // The other service may allow others to write.
  if (isChanged('service', before, after)) requireWhole([collection], 'write', principal, deps);
}

function isChanged(member: string, before: object | undefined, after: object | undefined): boolean {
  const [was, becomes] = [before, after].map((one) =>
    JSON.stringify((one as Record<string, unknown> | undefined)?.[member]),
  );
  return was !== becomes;
}

/** Throws `forbidden` if the caller may not change such objects through their own operations. */
export function requireRight({ kind, scope }: ManifestKind, principal: Principal): void {
  if (!permits(principal, `admin:${scope}:write`))
    throw new ApiError('forbidden', `Changing a ${kind} requires the permission admin:${scope}:write.`);
}
