import type { Static } from 'typebox';
import { problem } from '../../core/http/body-problems.js';
import { SERVICE_ID } from '../../core/kit/service.js';
import { parseJsonExactly, stringifyExactly } from '../../core/values/json.js';
import { buildCaller } from '../../services/access/identity/submitter.js';
import type { RuleDraft } from '../../services/alerts/drafts.js';
import type { AlertRuleRow, NewAlertRule } from '../../stores/alerts/rules.js';
import type { AlertZoneRow, NewAlertZone } from '../../stores/alerts/zones.js';
import { createObjectError, type Entry, type ManifestKind, type Stores } from './kind.js';
import { AlertRuleSpec, AlertZoneSpec } from './schemas.js';

/** Zones and rules of alerts. The management API knows them by number, so manifests give each a name. */

const EVERYWHERE = { tenant: undefined };
const PERMISSION = 'admin:alerts:write';

const ZONE_DEFAULTS = { wkt: null, srid: 4326, isActive: true, metadata: {} };
const RULE_DEFAULTS = {
  zone: null,
  conditions: {},
  severity: 'warning',
  editionRequired: 'pro',
  cooldownSeconds: 0,
  isActive: true,
  channels: [],
};

/** Members that differ from the defaults. */
function withoutDefaults(spec: object, defaults: Readonly<Record<string, unknown>>): object {
  const isDefault = ([name, value]: [string, unknown]) =>
    name in defaults && stringifyExactly(value) === stringifyExactly(defaults[name]);
  return Object.fromEntries(Object.entries(spec).filter((member) => !isDefault(member)));
}

interface NamedRow {
  readonly id: number;
  readonly name: string;
  readonly tenant: string | null;
}

/** Rows outside of tenants by a unique name: a name that several rows have is followed by the id. */
function nameRows<R extends NamedRow>(rows: readonly R[]): Map<string, R> {
  const own = rows.filter(({ tenant }) => tenant === null);
  const counts = new Map<string, number>();
  for (const { name } of own) counts.set(name, (counts.get(name) ?? 0) + 1);
  return new Map(own.map((row) => [counts.get(row.name) === 1 ? row.name : `${row.name} #${row.id}`, row]));
}

const listZones = async (stores: Pick<Stores, 'alertZones'>) =>
  nameRows(await stores.alertZones.list(EVERYWHERE));

function zoneEntry([name, row]: [string, AlertZoneRow]): Entry {
  const { wkt, srid, is_active, metadata_json } = row;
  const spec = { wkt, srid: srid ?? ZONE_DEFAULTS.srid, isActive: is_active === 1 };
  const metadata = JSON.parse(metadata_json) as object;
  return { name, spec: withoutDefaults({ ...spec, metadata }, ZONE_DEFAULTS) };
}

export const alertZone: ManifestKind = {
  kind: 'AlertZone',
  scope: 'alerts',
  schema: AlertZoneSpec,
  normalize: (spec) => withoutDefaults(spec, ZONE_DEFAULTS),
  list: async ({ state }) => [...(await listZones(state))].map(zoneEntry),
  prepare({ name, spec }, { principal }, { alertRules }) {
    const members = spec as Static<typeof AlertZoneSpec>;
    return alertRules.buildZone({ ...members, zoneName: name, serviceId: SERVICE_ID }, principal);
  },
  async write(stores, name, spec, _by, prepared) {
    const before = (await listZones(stores)).get(name);
    if (!spec) {
      const rules = before && (await stores.alertZones.remove(before.id));
      if (rules && rules.length > 0)
        throw createObjectError(problem('metadata/name', `is a zone of the rule '${rules[0]}'`));
      return;
    }
    const zone = prepared as NewAlertZone;
    if (before) await stores.alertZones.change(before.id, { ...zone, name: before.name });
    else await stores.alertZones.add(zone, Number.POSITIVE_INFINITY);
  },
};

/** A rule that was checked, and the name of its zone. */
interface PreparedRule {
  readonly rule: NewAlertRule;
  readonly zone: string | null;
}

function ruleEntry([name, row]: [string, AlertRuleRow], zones: ReadonlyMap<number, string>): Entry {
  const spec = {
    layer: row.collection,
    trigger: row.trigger_type,
    zone: row.zone_id === null ? null : (zones.get(row.zone_id) ?? null),
    conditions: parseJsonExactly(row.conditions_json, 'all'),
    severity: row.severity,
    editionRequired: row.edition,
    cooldownSeconds: row.cooldown_seconds,
    isActive: row.is_active === 1,
    channels: JSON.parse(row.channels_json) as string[],
  };
  return { name, spec: withoutDefaults(spec, RULE_DEFAULTS) };
}

export const alertRule: ManifestKind = {
  kind: 'AlertRule',
  scope: 'alerts',
  schema: AlertRuleSpec,
  normalize: (spec) => withoutDefaults(spec, RULE_DEFAULTS),
  async list({ state }) {
    const zones = new Map([...(await listZones(state))].map(([name, { id }]) => [id, name]));
    const rules = nameRows(await state.alertRules.list(EVERYWHERE));
    return [...rules].map((named) => ruleEntry(named, zones));
  },
  async prepare({ name, spec }, { principal, catalog, zones }, { alertRules, state }): Promise<PreparedRule> {
    const { layer, trigger, zone = null, conditions = {}, ...members } = spec as Static<typeof AlertRuleSpec>;
    const collection = catalog().byId(layer);
    if (!collection) throw createObjectError(problem('spec/layer', 'must be a published layer'));
    if (zone !== null && !zones.has(zone) && !(await listZones(state)).has(zone))
      throw createObjectError(problem('spec/zone', 'must be the name of a zone'));
    const draft: RuleDraft = {
      ...members,
      ...{ ruleName: name, serviceId: SERVICE_ID, layerId: collection.layerId, triggerType: trigger },
      conditionsJson: stringifyExactly(conditions),
    };
    const author = buildCaller(principal, { permission: PERMISSION }).caller;
    return { rule: await alertRules.buildRule(draft, author, zone !== null), zone };
  },
  async write(stores, name, spec, _by, prepared) {
    const before = nameRows(await stores.alertRules.list(EVERYWHERE)).get(name);
    if (!spec) {
      if (before) await stores.alertRules.remove(before.id);
      return;
    }
    const { rule, zone } = prepared as PreparedRule;
    const zone_id = zone === null ? null : ((await listZones(stores)).get(zone)?.id ?? null);
    const row = { ...rule, zone_id };
    if (before) await stores.alertRules.change(before.id, { ...row, name: before.name });
    else await stores.alertRules.add(row, Number.POSITIVE_INFINITY);
  },
};
