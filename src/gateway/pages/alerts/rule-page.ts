import { ALERT_SEVERITIES, CHANNELS, TRIGGER_TYPES } from '../../../core/alerts/alerts.js';
import type { RuleFormData } from '../../../core/catalog/alert-page-data.js';
import type { VectorCollection } from '../../../core/catalog/collection.js';
import type { MapData } from '../../../core/catalog/page-data.js';
import { html, type Markup, scriptJson } from '../../../core/values/html.js';
import { type PageFrame, page, sitePath } from '../layout.js';
import { basemapData } from '../maps/basemap.js';
import { mapFrame } from '../maps/map-frame.js';
import {
  ALERTS_CRUMB,
  ALERTS_PATH,
  alertsHead,
  CHANNEL_NAMES,
  findZoneBounds,
  renderOptions,
  TRIGGER_NAMES,
} from './parts.js';

export interface RulePage extends PageFrame {
  /** Undefined for a new rule. */
  readonly rule: { readonly id: number; readonly name: string } | undefined;
  /** Layers that rules can watch. */
  readonly layers: readonly VectorCollection[];
  /** The layer on the map. */
  readonly layer: VectorCollection | undefined;
  readonly zones: readonly { readonly id: number; readonly name: string }[];
  readonly configured: ReadonlySet<string>;
  readonly data: RuleFormData;
}

/** Form of a rule and its zone, next to a map on which the zone is drawn. */
export function rulePage(input: RulePage): string {
  const { baseUrl, rule, layer, data } = input;
  const title = rule ? `Rule ${rule.name}` : 'New rule';
  const map: MapData = {
    baseUrl,
    bounds: layer?.extent84 ?? findZoneBounds(data.zones) ?? null,
    // The script draws the chosen layer.
    layers: [],
    basemap: basemapData(baseUrl),
    features: null,
  };
  const body = html`<h1>${rule ? html`Rule <bdi>${rule.name}</bdi>` : 'New rule'}</h1>
<p class="lead">The server sends an alert when a feature of a layer meets the condition.</p>
<noscript><p class="map-note">The form requires JavaScript. Without it, use the management API.</p></noscript>
<div class="process-place" data-rule-form hidden>
${ruleForm(input)}
<div class="rule-map">${mapFrame({ data: map, label: 'Map of the zone' })}
<p class="hint" role="status" data-draw-help></p>
<p class="actions"><button type="button" class="button" data-finish hidden>Finish</button><button type="button" class="button" data-undo hidden>Undo the last point</button><button type="button" class="button" data-cancel-drawing hidden>Cancel</button></p></div>
</div>
<script type="application/json" id="rule-data">${scriptJson(data)}</script>`;
  const href = `${baseUrl}${ALERTS_PATH}/rules/${rule ? rule.id : 'new'}`;
  return page({
    baseUrl,
    reader: input.reader,
    title,
    crumbs: [
      { title: ALERTS_CRUMB, href: `${baseUrl}${ALERTS_PATH}` },
      { title: rule?.name ?? title, href },
    ],
    body,
    head: alertsHead(baseUrl),
    scripts: ['alert-rule.js'],
  });
}

const OPERATORS = [
  ['>', 'greater than'],
  ['>=', 'at least'],
  ['<', 'less than'],
  ['<=', 'at most'],
  ['=', 'equal to'],
  ['<>', 'not equal to'],
  ['in', 'one of'],
  ['between', 'between'],
  ['changed', 'changes'],
] as const;

function ruleForm({ layers, layer, zones, configured, rule, baseUrl }: RulePage): Markup {
  const layerNames = layers.map(({ layerId, title }) => [String(layerId), title] as const);
  const zoneNames = [['', 'New zone'] as const, ...zones.map(({ id, name }) => [String(id), name] as const)];
  const number = (name: string, label: string, hint: string, more: Markup) =>
    html`<label>${label}<input name="${name}" type="number" inputmode="decimal" ${more} aria-describedby="${name}-hint"></label><span class="hint" id="${name}-hint">${hint}</span>`;
  return html`<form class="builder process-form" novalidate>
<p role="alert" class="fault" data-fault hidden></p>
<label>Name<input name="ruleName" required maxlength="200" autocomplete="off"></label>
<label>Layer<select name="layerId">${renderOptions(layerNames, layer ? String(layer.layerId) : '')}</select></label>
${layers.length === 0 ? html`<p class="note">No layer reports its edits, so no rule can watch one.</p>` : undefined}
<label>Alert if a feature<select name="triggerType">${renderOptions(
    TRIGGER_TYPES.map((one) => [one, TRIGGER_NAMES[one]] as const),
    'enter',
  )}</select></label>
<fieldset data-for="enter exit dwell"><legend>Zone</legend>
<label>Zone<select name="zoneId">${renderOptions(zoneNames, '')}</select></label>
<label>Name of the zone<input name="zoneName" maxlength="200" autocomplete="off"></label>
<label>Area<textarea name="wkt" rows="4" spellcheck="false" placeholder="POLYGON ((7.4 46.9, 7.5 46.9, 7.5 47, 7.4 46.9))" aria-describedby="wkt-hint"></textarea></label><span class="hint" id="wkt-hint">POLYGON or MULTIPOLYGON as well-known text, longitude first. Draw it on the map, or take it from a feature.</span>
<p class="actions"><button type="button" class="button" data-draw>Draw on the map</button></p>
<p class="hint" role="status" data-draw-status></p>
<details><summary>Area of a feature</summary><div class="builder-options">
<label>Layer of the feature<select name="areaLayer">${renderOptions(layerNames, '')}</select></label>
<label>Feature id<input name="areaFeature" autocomplete="off"></label>
<p><button type="button" class="button" data-take-area>Use its area</button></p></div></details>
</fieldset>
<fieldset data-for="threshold" hidden><legend>Value</legend>
<label>Field<select name="field"></select></label>
<label>Comparison<select name="operator">${renderOptions(OPERATORS, '>')}</select></label>
<label data-value>Value<input name="value" autocomplete="off" aria-describedby="value-hint"></label><span class="hint" id="value-hint">For “one of” and “between”, separate values with commas.</span>
</fieldset>
<div data-for="dwell" hidden>${number('dwellSeconds', 'Stays for at least (seconds)', 'The alert needs no further edit.', html`min="1" step="any"`)}</div>
<label>Severity<select name="severity">${renderOptions(
    ALERT_SEVERITIES.map((one) => [one, one] as const),
    'warning',
  )}</select></label>
${number('cooldownSeconds', 'Cooldown (seconds)', 'After an alert, the rule sends nothing about the same feature for this time.', html`min="0" step="1" value="0"`)}
<fieldset><legend>Channels</legend>
<div class="checks">${CHANNELS.map(
    (one) =>
      html`<label><input type="checkbox" name="channels" value="${one}"> ${CHANNEL_NAMES[one]}${configured.has(one) ? undefined : html` <span class="muted">not configured</span>`}</label>`,
  )}</div></fieldset>
<details data-more><summary>More conditions</summary><div class="builder-options">
<label>Other conditions (JSON)<textarea name="other" rows="3" spellcheck="false" aria-describedby="other-hint" placeholder="{&quot;exitBuffer&quot;: 20}"></textarea></label><span class="hint" id="other-hint">Members of conditionsJson, for example exitBuffer, settleSeconds, filter and notifyEnd. The manual describes them.</span>
</div></details>
<p class="actions"><button type="button" class="button" data-test>Test with the last hour</button><button type="submit" class="button primary">${rule ? 'Save' : 'Create the rule'}</button>${rule ? html`<button type="button" class="button" data-toggle>Disable</button><button type="button" class="button" data-delete>Delete</button>` : undefined}<a class="button" href="${`${sitePath(baseUrl)}${ALERTS_PATH}`}">Back</a></p>
<div class="test-result" role="status" data-result tabindex="-1"></div>
</form>`;
}
