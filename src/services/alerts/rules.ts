import type { Channel } from '../../core/alerts/alerts.js';
import { ALERT_LIMITS } from '../../core/alerts/limits.js';
import type { ZoneArea } from '../../core/alerts/tasks.js';
import { ApiError, badMember, fieldFailure, notFound } from '../../core/errors/errors.js';
import type { Principal } from '../../core/http/operation.js';
import type { Pools } from '../../core/tasks/tasks.js';
import type { AlertRuleRow, AlertRuleStore, NewAlertRule } from '../../stores/alerts/rules.js';
import type { AlertZoneRow, AlertZoneStore, NewAlertZone } from '../../stores/alerts/zones.js';
import type { JobCaller } from '../access/identity/submitter.js';
import {
  type CheckedRule,
  checkRule,
  checkService,
  computeArea,
  type DraftDeps,
  type DraftProblem,
  isProblem,
  type RuleDraft,
  WGS84_SRID,
  type ZoneDraft,
} from './drafts.js';
import { type Simulation, type SimulationDeps, simulateRule } from './simulation.js';

export interface AlertRulesDeps extends Omit<DraftDeps, 'hasZone'> {
  readonly zones: AlertZoneStore;
  readonly rules: AlertRuleStore;
  readonly pools: Pools;
  readonly simulation: SimulationDeps;
  /** Whether a channel has a target. */
  isConfigured(channel: Channel): boolean;
}

/** Zones and rules of alerts. Callers of a tenant have their own. */
export class AlertRules {
  constructor(private readonly deps: AlertRulesDeps) {}

  isConfigured(channel: Channel): boolean {
    return this.deps.isConfigured(channel);
  }

  /** Services for `checkRule`. */
  get checks(): DraftDeps {
    const { zones } = this.deps;
    return {
      ...this.deps,
      hasEvents: (id) => this.deps.hasEvents(id),
      visible: (principal) => this.deps.visible(principal),
      hasZone: async (id, principal) => (await zones.get(id, ownerOf(principal))) !== undefined,
    };
  }

  listZones(principal: Principal, service: string | undefined): Promise<AlertZoneRow[]> {
    return this.deps.zones.list({ ...ownerOf(principal), service });
  }

  async getZone(id: number, principal: Principal): Promise<AlertZoneRow> {
    const zone = await this.deps.zones.get(id, ownerOf(principal));
    if (!zone) throw notFound('alert zone', String(id));
    return zone;
  }

  async addZone(draft: ZoneDraft, principal: Principal): Promise<AlertZoneRow> {
    const zone = await this.deps.zones.add(await this.buildZone(draft, principal), ALERT_LIMITS.zones);
    if (!zone)
      throw new ApiError(
        'conflict',
        `The server has ${ALERT_LIMITS.zones} zones, which is the maximum. Delete zones first.`,
      );
    return zone;
  }

  async changeZone(id: number, draft: ZoneDraft, principal: Principal): Promise<AlertZoneRow> {
    const { tenant } = await this.getZone(id, principal);
    const zone = await this.deps.zones.change(id, { ...(await this.buildZone(draft, principal)), tenant });
    if (!zone) throw notFound('alert zone', String(id));
    return zone;
  }

  async removeZone(id: number, principal: Principal): Promise<void> {
    await this.getZone(id, principal);
    const rules = await this.deps.zones.remove(id);
    if (!rules) throw notFound('alert zone', String(id));
    if (rules.length === 0) return;
    const names = rules.slice(0, 5).map((name) => `'${name}'`);
    const more = rules.length > 5 ? ` and ${rules.length - 5} more` : '';
    throw new ApiError(
      'conflict',
      `Rules use the zone: ${names.join(', ')}${more}. Delete or change them first.`,
    );
  }

  /** Checks a zone, and returns the row to store. */
  async buildZone(draft: ZoneDraft, principal: Principal): Promise<NewAlertZone> {
    refuse(checkService(draft.serviceId));
    const area = await computeArea(draft, this.deps.pools);
    if (isProblem(area)) throw badMember(area.name, area.detail);
    return makeZone(draft, area, principal);
  }

  listRules(
    principal: Principal,
    where: { service?: string | undefined; layerId?: number | undefined },
  ): Promise<AlertRuleRow[]> {
    return this.deps.rules.list({ ...ownerOf(principal), ...where });
  }

  async getRule(id: number, principal: Principal): Promise<AlertRuleRow> {
    const rule = await this.deps.rules.get(id, ownerOf(principal));
    if (!rule) throw notFound('alert rule', String(id));
    return rule;
  }

  async addRule(draft: RuleDraft, author: JobCaller): Promise<AlertRuleRow> {
    const rule = await this.deps.rules.add(await this.buildRule(draft, author), ALERT_LIMITS.rules);
    if (!rule)
      throw new ApiError(
        'conflict',
        `The server has ${ALERT_LIMITS.rules} rules, which is the maximum. Delete rules first.`,
      );
    return rule;
  }

  /** The caller becomes the author, so the rule then has the rights of the caller. */
  async changeRule(id: number, draft: RuleDraft, author: JobCaller): Promise<AlertRuleRow> {
    const { tenant } = await this.getRule(id, author.principal);
    const rule = await this.deps.rules.change(id, { ...(await this.buildRule(draft, author)), tenant });
    if (!rule) throw notFound('alert rule', String(id));
    return rule;
  }

  async enableRule(id: number, isEnabled: boolean, principal: Principal): Promise<AlertRuleRow> {
    const before = await this.getRule(id, principal);
    const to = isEnabled ? 1 : 0;
    if (before.is_active === to) return before;
    const rule = await this.deps.rules.change(id, { is_active: to });
    if (!rule) throw notFound('alert rule', String(id));
    return rule;
  }

  async removeRule(id: number, principal: Principal): Promise<void> {
    await this.getRule(id, principal);
    if (!(await this.deps.rules.remove(id))) throw notFound('alert rule', String(id));
  }

  /** Checks a rule, and applies it to the edits of the last hour. Has no effect on the state. */
  async testRule(draft: RuleDraft, zone: ZoneDraft | undefined, author: JobCaller): Promise<RuleTest> {
    const { principal } = author;
    const area = zone && (await this.#testZone(zone, principal));
    const checked = await checkRule(draft, zone !== undefined, principal, this.checks);
    const problems = [
      ...(area && 'problems' in area ? area.problems : []),
      ...(isRefused(checked) ? checked : []),
    ];
    const channels = [...new Set(draft.channels ?? [])];
    const deliveryChannels = channels.map((channel) => this.#testChannel(channel));
    const errors = problems.map(({ name, detail }) => `${name} ${detail}${/[.?]$/.test(detail) ? '' : '.'}`);
    const warnings = deliveryChannels
      .filter(({ isConfigured }) => !isConfigured)
      .map(({ message }) => message);
    if (channels.length === 0)
      warnings.push('The rule has no channels: its alerts are stored, and not sent.');
    if (isRefused(checked) || problems.length > 0)
      return { isValid: false, errors, warnings, deliveryChannels, simulation: null };
    const { zoneId } = draft;
    const stored = area ? undefined : await this.deps.zones.get(zoneId ?? 0, ownerOf(principal));
    if (stored && !stored.is_active)
      warnings.push('The zone is not active: the rule triggers nothing until it is.');
    const rule = makeRule(draft, checked, author);
    const used = area && 'zone' in area ? area.zone : stored;
    const simulation = await simulateRule(rule, used, this.deps.visible(principal), this.deps.simulation);
    return { isValid: true, errors, warnings, deliveryChannels, simulation };
  }

  async #testZone(
    draft: ZoneDraft,
    principal: Principal,
  ): Promise<{ zone: NewAlertZone } | { problems: DraftProblem[] }> {
    const problems = checkService(draft.serviceId);
    const area = await computeArea(draft, this.deps.pools);
    if (isProblem(area)) problems.push(area);
    if (area === undefined) problems.push({ name: 'wkt', detail: 'is required for a test' });
    return area && !isProblem(area) && problems.length === 0
      ? { zone: makeZone(draft, area, principal) }
      : { problems };
  }

  #testChannel(channel: Channel): ChannelTest {
    const isConfigured = this.deps.isConfigured(channel);
    const message = isConfigured
      ? `The channel ${channel} is configured.`
      : `The channel ${channel} is not configured: see the setting alerts.channels.`;
    return {
      channel,
      status: isConfigured ? 'configured' : 'unconfigured',
      isAllowed: true,
      isConfigured,
      message,
    };
  }

  /** Checks a rule, and returns the row to store. `hasOwnZone`: the caller adds the zone. */
  async buildRule(draft: RuleDraft, author: JobCaller, hasOwnZone = false): Promise<NewAlertRule> {
    const checked = await checkRule(draft, hasOwnZone, author.principal, this.checks);
    if (isRefused(checked)) throw fieldFailure('invalid-body', checked);
    return makeRule(draft, checked, author);
  }
}

/** A channel that a draft names. */
export interface ChannelTest {
  readonly channel: Channel;
  readonly status: 'configured' | 'unconfigured';
  readonly isAllowed: boolean;
  readonly isConfigured: boolean;
  readonly message: string;
}

export interface RuleTest {
  readonly isValid: boolean;
  readonly errors: readonly string[];
  readonly warnings: readonly string[];
  readonly deliveryChannels: readonly ChannelTest[];
  /** Null for a draft that is refused. */
  readonly simulation: Simulation | null;
}

const isRefused = (checked: CheckedRule | DraftProblem[]): checked is DraftProblem[] =>
  Array.isArray(checked);

function makeZone(draft: ZoneDraft, area: ZoneArea | undefined, { tenantId }: Principal): NewAlertZone {
  const { zoneName: name, serviceId: service, isActive = true, metadata, srid } = draft;
  return {
    name,
    service,
    is_active: isActive ? 1 : 0,
    srid: area ? (srid ?? WGS84_SRID) : (srid ?? null),
    wkt: area?.wkt ?? null,
    area_json: area?.area ?? null,
    metadata_json: JSON.stringify(metadata ?? {}),
    tenant: tenantId ?? null,
  };
}

function makeRule(draft: RuleDraft, { collection }: CheckedRule, author: JobCaller): NewAlertRule {
  const { tenantId } = author.principal;
  return {
    name: draft.ruleName,
    service: draft.serviceId,
    layer_id: draft.layerId,
    collection: collection.id,
    zone_id: draft.zoneId ?? null,
    trigger_type: draft.triggerType,
    severity: draft.severity ?? 'warning',
    edition: draft.editionRequired ?? 'pro',
    conditions_json: draft.conditionsJson ?? '{}',
    cooldown_seconds: draft.cooldownSeconds ?? 0,
    is_active: (draft.isActive ?? true) ? 1 : 0,
    channels_json: JSON.stringify([...new Set(draft.channels ?? [])]),
    author_json: JSON.stringify(author),
    tenant: tenantId ?? null,
  };
}

const ownerOf = ({ tenantId }: Principal) => ({ tenant: tenantId });

/** Throws the problems of a draft, if there are any. */
function refuse(problems: readonly DraftProblem[]): void {
  if (problems.length > 0) throw fieldFailure('invalid-body', problems);
}
