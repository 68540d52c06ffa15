import { SERVICE } from '../../../core/access/access.js';
import type { Collection } from '../../../core/catalog/collection.js';
import type {
  LayerSettings,
  ServiceProtocol,
  ServiceSettings,
} from '../../../core/catalog/layer-settings.js';
import { PROTOCOLS } from '../../../core/catalog/layer-settings.js';
import type { Pools } from '../../../core/tasks/tasks.js';
import type { DocumentStore } from '../../../stores/state/documents.js';
import type { Announcements } from '../../cluster/announcements.js';
import type { Catalog } from '../catalog.js';
import { Measurements } from '../visible-facts.js';
import { settled } from './effective-collection.js';

/** Kinds of the documents that settings are kept in. */
export const LAYER_KIND = 'layer settings';
export const SERVICE_KIND = 'service settings';

const NOTHING: LayerSettings = {};
const DEFAULTS: ServiceSettings = {};

export interface LayersDeps {
  readonly documents: DocumentStore;
  readonly announcements: Pick<Announcements, 'on'>;
  readonly catalog: Pick<Catalog, 'settle'>;
  readonly pools: Pick<Pools, 'run'>;
  /** Waits until every process has applied the stored settings. */
  settle(): Promise<unknown>;
  /** Called before changed settings count as applied. */
  changed?(): Promise<void>;
}

/** A document that changed. */
interface Subject {
  readonly kind: string;
  readonly id: string;
}

interface EffectiveCollection {
  readonly of: Collection;
  readonly settings: LayerSettings;
  readonly service: ServiceSettings;
  readonly facts: number;
  readonly result: Collection;
}

/**
 * Settings of layers and services: kept as documents, and laid over what is published by every process that shares the
 * state, as soon as they change.
 */
export class Layers {
  readonly #deps: LayersDeps;
  readonly #documents: DocumentStore;
  #layers: ReadonlyMap<string, LayerSettings> = new Map();
  #services: ReadonlyMap<string, ServiceSettings> = new Map();
  readonly #measurements: Measurements;
  /** Counts what was measured. */
  #facts = 0;
  /** Effective collections by id. */
  readonly #settled = new Map<string, EffectiveCollection>();

  constructor(deps: LayersDeps) {
    this.#deps = deps;
    this.#documents = deps.documents.announcing('layer');
    this.#measurements = new Measurements(deps.pools, () => {
      this.#facts += 1;
      this.#show();
    });
    deps.announcements.on('layer', (subjects) => this.load(subjects as readonly Subject[] | 'all'));
  }

  /** Loads stored settings: all, or the changed ones. */
  async load(subjects: readonly Subject[] | 'all' = 'all'): Promise<void> {
    if (subjects === 'all') await this.#loadAll();
    else {
      this.#layers = await this.#reload(this.#layers, LAYER_KIND, subjects);
      this.#services = await this.#reload(this.#services, SERVICE_KIND, subjects);
    }
    this.#show();
    await this.#deps.changed?.();
  }

  async #loadAll(): Promise<void> {
    const [layers, services] = await Promise.all([
      this.#documents.list<LayerSettings>(LAYER_KIND),
      this.#documents.list<ServiceSettings>(SERVICE_KIND),
    ]);
    this.#layers = new Map(layers.map(({ id, body }) => [id, body]));
    this.#services = new Map(services.map(({ id, body }) => [id, body]));
  }

  /**
   * The same settings with the changed ones replaced. Unchanged settings remain the same objects, so their
   * collections are not rebuilt.
   */
  async #reload<T extends object>(
    kept: ReadonlyMap<string, T>,
    kind: string,
    subjects: readonly Subject[],
  ): Promise<ReadonlyMap<string, T>> {
    const ids = new Set(subjects.flatMap((subject) => (subject.kind === kind ? [subject.id] : [])));
    if (ids.size === 0) return kept;
    const changed = new Map(kept);
    for (const id of ids) {
      const document = await this.#documents.get<T>(kind, id);
      if (document) changed.set(id, document.body);
      else changed.delete(id);
    }
    return changed;
  }

  settingsOf({ id }: Pick<Collection, 'id'>): LayerSettings {
    return this.#layers.get(id) ?? NOTHING;
  }

  serviceSettings(name: string): ServiceSettings {
    return this.#services.get(name) ?? DEFAULTS;
  }

  protocolsOf(service: string): readonly ServiceProtocol[] {
    return this.serviceSettings(service).protocols ?? PROTOCOLS;
  }

  /** Changes settings of a layer. When it resolves, all processes show them. */
  async put({ id }: Pick<Collection, 'id'>, change: Partial<LayerSettings>, by: string): Promise<void> {
    await this.#change(LAYER_KIND, id, change, by);
  }

  async putService(name: string, change: Partial<ServiceSettings>, by: string): Promise<void> {
    await this.#change(SERVICE_KIND, name, change, by);
  }

  async #change(kind: string, id: string, change: object, by: string): Promise<void> {
    await this.#documents.merge(kind, id, change, by);
    await this.#deps.settle();
  }

  #show(): void {
    this.#deps.catalog.settle((collection) => this.#settledOf(collection));
  }

  #settledOf(collection: Collection): Collection {
    const settings = this.settingsOf(collection);
    const service = this.serviceSettings(settings.service ?? collection.service ?? SERVICE);
    if (settings === NOTHING && service === DEFAULTS) return collection;
    const facts = this.#facts;
    const before = this.#settled.get(collection.id);
    const isSame =
      before?.of === collection &&
      before.settings === settings &&
      before.service === service &&
      (before.facts === facts || settings.filter === undefined);
    if (isSame) return before.result;
    const result = settled(collection, settings, service, this.#measurements);
    this.#settled.set(collection.id, { of: collection, settings, service, facts, result });
    return result;
  }
}
