import { hasFeatures } from '../../core/catalog/abilities.js';
import type { CatalogSnapshot } from '../../core/catalog/collection.js';
import type { Config } from '../../core/config/config.js';
import type { Principal } from '../../core/http/operation.js';
import { LIMITS } from '../../core/kit/limits.js';
import type { Pools } from '../../core/tasks/tasks.js';
import { CollectionGeocoder, searchedFields } from './collection-geocoder.js';
import type { Geocoder, GeocoderAbilities } from './geocoder.js';
import { LocalGeocoder } from './local-geocoder.js';
import { Locators } from './locators.js';
import { type GeocodingProvider, ProviderChain, untried } from './providers.js';
import { RemoteGeocoder } from './remote-geocoder.js';

export interface GeocodingDeps {
  readonly pools: Pools;
  readonly dataDir: string;
  readonly settings: Config['geocoding'];
  /** The catalog as a principal may read it. */
  visible(principal: Principal): CatalogSnapshot;
}

/** Name of the provider that the locators of this server are. */
const LOCAL = 'local';
const WORLD = 'World';

const COMMON = {
  supportsForwardGeocode: true,
  supportsReverseGeocode: true,
  supportsSuggest: true,
  supportsStructuredInput: true,
  requiresAuthentication: false,
  maxResultsPerRequest: LIMITS.geocodeCandidates,
};
const LOCAL_ABILITIES: GeocoderAbilities = {
  ...COMMON,
  supportsBatch: true,
  maxBatchSize: LIMITS.geocodeBatch,
};
const REMOTE_ABILITIES: GeocoderAbilities = { ...COMMON, supportsBatch: false, maxBatchSize: 1 };

/** Finding places by their words, and words for a place. */
export class Geocoding {
  readonly locators: Locators;
  readonly #remote: ReadonlyMap<string, RemoteGeocoder>;
  /** Providers in the order of use. */
  readonly providers: readonly GeocodingProvider[];

  constructor(private readonly deps: GeocodingDeps) {
    const { pools, dataDir, settings } = deps;
    this.locators = new Locators(pools, dataDir);
    const times = { timeoutMs: this.#timeoutMs, keptMs: settings.cacheMinutes * 60_000 };
    this.#remote = new Map(
      settings.servers.map(({ name, url }) => [name, new RemoteGeocoder(name, { pools, url, ...times })]),
    );
    this.providers = this.#order().map((name) => ({
      name,
      abilities: name === LOCAL ? LOCAL_ABILITIES : REMOTE_ABILITIES,
      health: untried(),
    }));
  }

  get settings(): Config['geocoding'] {
    return this.deps.settings;
  }

  /** Names of the locators that a principal can use. */
  async names(principal: Principal): Promise<string[]> {
    if (!this.#isOpenTo(principal)) return [];
    const collections = Object.keys(this.settings.collections).filter((id) =>
      this.#collection(principal, id),
    );
    return [
      ...new Set([
        ...(await this.#localNames(principal)),
        ...collections,
        ...(principal.layers ? [] : this.#remote.keys()),
      ]),
    ];
  }

  /**
   * The locator or provider with this name. Without a name, all providers in their order. Undefined if the principal
   * has no such locator.
   */
  async geocoder(principal: Principal, name: string | undefined): Promise<Geocoder | undefined> {
    if (!this.#isOpenTo(principal)) return undefined;
    const names = await this.#localNames(principal);
    const own = (one: string) => (names.includes(one) ? this.#local(one) : this.#collection(principal, one));
    const named = name === undefined ? undefined : own(name);
    if (named) return named;
    // The default locator name of Esri's clients.
    const isDefault = name === WORLD && !this.providers.some((provider) => provider.name === WORLD);
    const { locator, failover } = this.settings;
    const [first] = names.length > 0 || !isDefault ? names : Object.keys(this.settings.collections);
    const chosen = locator === '' ? first : locator;
    const local = chosen === undefined ? undefined : own(chosen);
    const chain = this.providers.flatMap((provider) => {
      if (name !== undefined && name !== provider.name && !isDefault) return [];
      const remote = this.#remote.get(provider.name);
      if (remote && principal.layers) return [];
      const geocoder = remote ?? local;
      return geocoder ? [{ provider, geocoder }] : [];
    });
    if (chain.length === 0) return undefined;
    return new ProviderChain(failover ? chain : chain.slice(0, 1), this.#timeoutMs);
  }

  /** A collection that is a locator, if a principal can read it. */
  #collection(principal: Principal, id: string): Geocoder | undefined {
    const { collections } = this.settings;
    const settings = Object.hasOwn(collections, id) ? collections[id] : undefined;
    const collection = settings && this.deps.visible(principal).byId(id);
    if (!collection || !hasFeatures(collection)) return undefined;
    const fields = searchedFields(collection, settings);
    return fields && new CollectionGeocoder(collection, fields, this.deps.pools);
  }

  #local(name: string): Geocoder {
    return new LocalGeocoder(name, this.locators.indexOf(name), this.deps.pools);
  }

  /** Nothing but its layers exists for a caller who is bound to these. */
  async #localNames({ layers }: Principal): Promise<string[]> {
    return layers ? [] : this.locators.names();
  }

  #isOpenTo({ kind }: Principal): boolean {
    return this.settings.enabled && (this.settings.open || kind !== 'anonymous');
  }

  get #timeoutMs(): number {
    return this.settings.timeoutSeconds * 1000;
  }

  /** Providers that the order does not name come last. */
  #order(): string[] {
    const all = [LOCAL, ...this.#remote.keys()];
    const named = this.settings.order.filter((name) => all.includes(name));
    return [...new Set([...named, ...all])];
  }
}
