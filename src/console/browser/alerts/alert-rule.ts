import type { RuleFormData } from '../../../core/catalog/alert-page-data.js';
import type { DrawLayer } from '../draw.js';
import type { LayerIds } from '../layers.js';
import { pageData } from '../page.js';
import { type RequestFailure, type RequestFault, type RequestSuccess, sendJson } from '../request.js';
import { startMap } from '../start.js';
import { AlertMap } from './alert-map.js';
import { clearFaults, showFaults } from './faults.js';
import {
  FieldProblem,
  fillRule,
  findRuleField,
  type RuleDocument,
  readField,
  readRule,
} from './rule-fields.js';
import { describeTest, type RuleTestResult, showTest } from './test-result.js';
import { ZoneEditor } from './zone-editor.js';

/** The form of a rule: draws its zone, tests it, and stores both. */

async function start(element: HTMLElement, data: RuleFormData): Promise<void> {
  element.hidden = false;
  const form = element.querySelector('form')!;
  let tellOpened: (map: AlertMap | undefined) => void = () => undefined;
  const opened = new Promise<AlertMap | undefined>((resolve) => {
    tellOpened = resolve;
  });
  const rule = new RuleForm({ place: element, form, opened }, data);
  const map = await startMap(element.querySelector<HTMLElement>('[data-map]')!, {
    // A click on the map is a corner of the zone, and shows no features.
    controls: (_map, _data, ids, draw) => rule.useLayers(ids, draw),
  });
  const own = map && (await AlertMap.open(map));
  if (own) rule.useMap(own);
  tellOpened(own);
}

interface FormPlace {
  /** Contains the form and the map. */
  readonly place: HTMLElement;
  readonly form: HTMLFormElement;
  readonly opened: Promise<AlertMap | undefined>;
}

class RuleForm {
  readonly #form: HTMLFormElement;
  readonly #data: RuleFormData;
  readonly #zone: ZoneEditor;
  #map: AlertMap | undefined;
  #drawn: { readonly ids: LayerIds; readonly draw: DrawLayer } | undefined;
  #stored: RequestSuccess<RuleDocument> | undefined;
  /** JSON types of the fields of the layer. */
  #types = new Map<string, string>();

  constructor({ place, form, opened }: FormPlace, data: RuleFormData) {
    this.#form = form;
    this.#data = data;
    this.#zone = new ZoneEditor({
      ...{ place, form, opened, api: data.api, zones: data.zones },
      collectionOf: (layerId) => this.#collectionOf(layerId),
      map: () => this.#map,
    });
    const on = (selector: string, type: string, listener: () => void) =>
      form.querySelector(selector)?.addEventListener(type, listener);
    on('[name="layerId"]', 'change', () => {
      this.#drawLayer();
      void this.#loadFields();
    });
    on('[name="triggerType"]', 'change', () => this.#showParts());
    on('[name="operator"]', 'change', () => this.#showParts());
    on('[data-test]', 'click', () => void this.#attempt(() => this.#test()));
    on('[data-toggle]', 'click', () => void this.#attempt(() => this.#toggle()));
    on('[data-delete]', 'click', () => void this.#attempt(() => this.#remove()));
    form.addEventListener('submit', (event) => {
      event.preventDefault();
      void this.#attempt(() => this.#save());
    });
    void this.#load();
  }

  /** Gives the form the layers of the map. The form shows only the chosen layer. */
  useLayers(ids: LayerIds, draw: DrawLayer): void {
    this.#drawn = { ids, draw };
  }

  useMap(map: AlertMap): void {
    this.#map = map;
    map.setZones(this.#data.zones);
    this.#drawLayer();
    this.#zone.draw();
  }

  #collectionOf(layerId: string): string | undefined {
    return this.#data.layers.find((one) => String(one.layerId) === layerId)?.collection;
  }

  #drawLayer(): void {
    const layerId = readField(this.#form, 'layerId');
    const chosen = this.#data.layers.find((one) => String(one.layerId) === layerId)?.map;
    if (!this.#map || !this.#drawn) return;
    const { ids, draw } = this.#drawn;
    if (chosen && !ids.has(chosen.id)) draw(chosen);
    for (const [id, drawn] of ids)
      for (const one of drawn)
        this.#map.map.setLayoutProperty(one, 'visibility', id === chosen?.id ? 'visible' : 'none');
    if (chosen?.extent && readField(this.#form, 'wkt') === '') this.#map.showBox(chosen.extent);
  }

  get #path(): string {
    return `${this.#data.api}/alerts/rules/${this.#data.ruleId}`;
  }

  async #load(): Promise<void> {
    if (this.#data.ruleId !== null) {
      const result = await sendJson<RuleDocument>('GET', this.#path);
      if ('problem' in result) {
        this.#tellFault(result.problem);
        return;
      }
      this.#stored = result;
      fillRule(this.#form, result.value);
      this.#form.querySelector('[data-toggle]')!.textContent = result.value.isActive ? 'Disable' : 'Enable';
    }
    this.#showParts();
    await Promise.all([
      this.#loadFields(),
      readField(this.#form, 'zoneId') === '' ? undefined : this.#zone.load(),
    ]);
    this.#form.dataset['state'] = 'ready';
  }

  /** Fields of the chosen layer. */
  async #loadFields(): Promise<void> {
    const layerId = readField(this.#form, 'layerId');
    const collection = this.#collectionOf(layerId);
    if (collection === undefined) return;
    const result = await sendJson<Queryables>('GET', `${collection}/queryables?f=json`);
    if ('problem' in result || readField(this.#form, 'layerId') !== layerId) return;
    const fields = Object.entries(result.value.properties).filter(([, { type }]) => type !== undefined);
    this.#types = new Map(fields.map(([name, { type }]) => [name, type!]));
    const select = findRuleField(this.#form, 'field') as HTMLSelectElement;
    const wanted = select.dataset['wanted'] || select.value;
    select.replaceChildren(...fields.map(([name, { title }]) => new Option(title ?? name, name)));
    if (this.#types.has(wanted)) select.value = wanted;
  }

  #showParts(): void {
    const trigger = readField(this.#form, 'triggerType');
    for (const part of this.#form.querySelectorAll<HTMLElement>('[data-for]'))
      part.hidden = !part.dataset['for']!.split(' ').includes(trigger);
    this.#form.querySelector<HTMLElement>('[data-value]')!.hidden =
      readField(this.#form, 'operator') === 'changed';
  }

  get #hasZone(): boolean {
    return readField(this.#form, 'triggerType') !== 'threshold';
  }

  #read(): RuleDocument {
    const stored = this.#stored?.value;
    const rule = readRule(this.#form, this.#types, stored?.isActive ?? true);
    return stored?.editionRequired === undefined
      ? rule
      : { ...rule, editionRequired: stored.editionRequired };
  }

  async #test(): Promise<void> {
    const result = this.#form.querySelector<HTMLElement>('[data-result]')!;
    const rule = this.#read();
    const zone = this.#hasZone ? this.#zone.read() : undefined;
    const zoneId = this.#hasZone && !zone ? { zoneId: Number(readField(this.#form, 'zoneId')) } : {};
    const body = { rule: { ...rule, ...zoneId }, ...(zone ? { zone } : {}) };
    result.textContent = 'The server applies the rule to the last hour.';
    const answer = await sendJson<RuleTestResult>('POST', `${this.#data.api}/alerts/rules/test`, body);
    result.replaceChildren();
    if ('problem' in answer) return this.#refuse(answer);
    if (!answer.value.isValid) return this.#refuse(toFailure(answer.value.errors));
    const collection = this.#collectionOf(String(rule.layerId));
    result.replaceChildren(...describeTest(answer.value, rule.triggerType, collection));
    if (this.#map) showTest(this.#map, answer.value, rule.severity);
    result.focus({ preventScroll: true });
    result.scrollIntoView({ block: 'nearest' });
  }

  async #save(): Promise<void> {
    const rule = this.#read();
    if (this.#hasZone) this.#zone.read();
    const zoneId = this.#hasZone ? await this.#zone.save() : undefined;
    if (typeof zoneId === 'object') return this.#refuse(zoneId);
    const body = { ...rule, ...(zoneId === undefined ? {} : { zoneId }) };
    const stored = this.#stored;
    const result = stored
      ? await sendJson<RuleDocument>('PUT', this.#path, body, stored.etag)
      : await sendJson<RuleDocument>('POST', `${this.#data.api}/alerts/rules`, body);
    if ('problem' in result) return this.#refuse(result);
    location.assign(this.#data.alerts);
  }

  async #toggle(): Promise<void> {
    const enabled = !this.#stored?.value.isActive;
    const result = await sendJson<RuleDocument>('PUT', `${this.#path}/enabled`, { enabled });
    if ('problem' in result) return this.#refuse(result);
    location.assign(this.#data.alerts);
  }

  async #remove(): Promise<void> {
    const button = this.#form.querySelector<HTMLElement>('[data-delete]')!;
    if (button.dataset['asked'] === undefined) {
      button.dataset['asked'] = '';
      button.textContent = 'Delete the rule for ever';
      return;
    }
    const result = await sendJson('DELETE', this.#path, undefined, this.#stored?.etag);
    if ('problem' in result) return this.#refuse(result);
    location.assign(this.#data.alerts);
  }

  /** Shows the problem of a field that the browser refuses. */
  async #attempt(work: () => Promise<void>): Promise<void> {
    clearFaults(this.#form);
    this.#form.querySelector<HTMLElement>('[data-fault]')!.hidden = true;
    const buttons = [...this.#form.querySelectorAll<HTMLButtonElement>('.actions > button')];
    for (const button of buttons) button.disabled = true;
    try {
      await work();
    } catch (error) {
      if (!(error instanceof FieldProblem)) throw error;
      this.#refuse({ problem: '', status: 0, errors: [{ name: error.field, detail: error.message }] });
    } finally {
      for (const button of buttons) button.disabled = false;
    }
  }

  #refuse({ problem, errors }: RequestFailure): void {
    const field = showFaults(this.#form, errors);
    if (!field) {
      this.#tellFault(problem);
      return;
    }
    field.focus({ preventScroll: true });
    field.scrollIntoView({ block: 'center' });
  }

  #tellFault(text: string): void {
    const fault = this.#form.querySelector<HTMLElement>('[data-fault]')!;
    fault.textContent = text;
    fault.hidden = false;
    fault.scrollIntoView({ block: 'nearest' });
  }
}

interface Queryables {
  readonly properties: Readonly<Record<string, { readonly type?: string; readonly title?: string }>>;
}

/** Errors of a test start with the name of the member. */
function toFailure(errors: readonly string[]): RequestFailure {
  const faults = errors.map((text): RequestFault => {
    const [, name = '', detail = text] = /^(\w+):? (.*)$/s.exec(text) ?? [];
    return { name, detail: name === '' ? text : detail };
  });
  return { problem: errors.join(' '), status: 200, errors: faults };
}

const place = document.querySelector<HTMLElement>('[data-rule-form]');
if (place) void start(place, pageData<RuleFormData>('rule-data'));
