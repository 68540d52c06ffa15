import { createHash } from 'node:crypto';
import {
  ANY,
  type DataAccess,
  type LayerName,
  type RuleScope,
  SERVICE,
} from '../../../core/access/access.js';
import type { LayerSettings } from '../../../core/catalog/layer-settings.js';
import type { StateCipher } from '../keys/state-cipher.js';
import type { RememberedSources } from './remembered-sources.js';

/** Other collections of a table or file when its layer was restricted, by the identities of tables and files. */
export type SourceNames = Readonly<Record<string, readonly string[]>>;

/** A layer that access rules restrict. */
export interface MarkedLayer {
  readonly id: string;
  /** Hash of the file or database and its layer: in another state the layer can have another id. */
  readonly source?: string;
  /** The tables or files that the layer had while it was restricted (`RememberedSources`). */
  readonly identities?: SourceNames;
}

/** Layers, and services with all of their layers, that access rules restrict. `*` is every service. */
export interface Marks {
  readonly layers: readonly MarkedLayer[];
  readonly services: readonly string[];
}

/** Marks of another state whose rules are lost. */
export interface LostMarks extends Marks {
  /** Id of the state that had the rules; null if the seal of the marker did not fit. */
  readonly state: string | null;
}

/**
 * Contents of the marker file: the restrictions of a state, and restrictions of former states that were not set
 * again.
 */
export interface Marker extends Marks {
  /** Id of the state that wrote the file. */
  readonly state: string;
  readonly lost: readonly LostMarks[];
}

/** A marker file after reading. */
export interface SealedMarker {
  readonly marker: Marker;
  /** False if another key sealed the file, or something changed it. */
  readonly fits: boolean;
}

/** Access rules as the state has them. */
export interface RuleDocuments {
  readonly rows: readonly RuleScope[];
  readonly masks: readonly RuleScope[];
  /** By id of a layer, or of a service (`serviceAccessId`). */
  readonly access: ReadonlyMap<string, DataAccess>;
  readonly derivations?: ReadonlyMap<string, { readonly sources: readonly LayerName[] }>;
}

/** Settings of layers by their ids. */
export type SettingsByLayer = ReadonlyMap<string, LayerSettings>;

const SERVICE_PREFIX = 'service/';
const USE = 'restriction marker';
/** Marks for an unreadable marker, which could have listed every layer. */
const UNREADABLE: LostMarks = { state: null, layers: [], services: [ANY] };

/** Id of the access document of a service; no collection has such an id. */
export function serviceAccessId(service: string): string {
  return service === SERVICE ? ANY : SERVICE_PREFIX + service;
}

/** Hash of a source; its name can contain addresses and credentials. */
export function hashSource(holder: string): string {
  return createHash('sha256').update(holder).digest('base64url');
}

/**
 * Returns what the rules and the settings of layers restrict, and which of the layers are restricted only as copies. `idOf` returns the id of a layer that a rule names by number, `sourceOf` the hashed
 * source of an id.
 */
export function collectMarks(
  { rows, masks, access, derivations = new Map() }: RuleDocuments,
  settings: SettingsByLayer,
  idOf: (name: string) => string | undefined,
  sourceOf: (id: string) => string | undefined,
): Marks & { readonly copies: ReadonlySet<string> } {
  const layers = new Set<string>();
  const services = new Set<string>();
  const addLayer = (name: string) => layers.add(idOf(name) ?? name);
  for (const { service, layer } of [...rows, ...masks])
    if (layer === ANY) services.add(service);
    else addLayer(layer);
  for (const [id, one] of access) {
    if (!restricts(one)) continue;
    if (id === ANY) services.add(ANY);
    else if (id.startsWith(SERVICE_PREFIX)) services.add(id.slice(SERVICE_PREFIX.length));
    else addLayer(id);
  }
  // Settings that move a layer into a service are also lost.
  for (const [id, one] of settings) if (hides(one) || services.has(one.service ?? '')) layers.add(id);
  const isMarked = ({ id, layerId, service }: LayerName) =>
    layers.has(id) || layers.has(String(layerId)) || services.has(ANY) || services.has(service);
  const ofMarked = [...derivations].filter(([, { sources }]) => sources.some(isMarked));
  const copies = new Set(ofMarked.map(([id]) => id).filter((id) => !layers.has(id)));
  for (const id of copies) layers.add(id);
  return {
    layers: [...layers].sort().map((id) => {
      const source = sourceOf(id);
      return source === undefined ? { id } : { id, source };
    }),
    services: [...services].sort(),
    copies,
  };
}

const restricts = ({ allowAnonymous, allowedWriteRoles }: DataAccess) =>
  !allowAnonymous || allowedWriteRoles.length > 0;

/** Whether settings hide the layer, or some of its rows or fields, from all callers. */
export const hides = ({ filter, fields = [], enabled }: LayerSettings): boolean =>
  filter !== undefined || enabled === false || fields.some(({ hidden }) => hidden);

/** Returns the text of the marker file. */
export function writeMarker(marker: Marker, sealing: StateCipher): string {
  const text = JSON.stringify(marker);
  return `${JSON.stringify({ marker, seal: sealing.authenticate(text, USE) }, null, 2)}\n`;
}

/** Undefined if the text is not a marker. */
export function readMarker(text: string, sealing: StateCipher): SealedMarker | undefined {
  try {
    const { marker, seal } = JSON.parse(text) as { marker: Marker; seal: string };
    const isSound =
      isMarks(marker) &&
      typeof marker.state === 'string' &&
      Array.isArray(marker.lost) &&
      marker.lost.every(isMarks);
    if (!isSound) return undefined;
    return { marker, fits: sealing.isAuthentic(JSON.stringify(marker), USE, seal) };
  } catch {
    return undefined;
  }
}

function isMarks({ layers, services }: Marks): boolean {
  return (
    Array.isArray(layers) &&
    layers.every(({ id, identities }) => typeof id === 'string' && isSourceNames(identities)) &&
    Array.isArray(services) &&
    services.every((name) => typeof name === 'string')
  );
}

function isSourceNames(names: SourceNames | undefined): boolean {
  if (names === undefined) return true;
  return typeof names === 'object' && names !== null && Object.values(names).every(Array.isArray);
}

/**
 * Returns the marks of other states in a marker file. `read` is undefined if the file is not a marker. If the marker
 * is of this state under another key, restrictions that the state still has are not lost.
 */
export function findLost(read: SealedMarker | undefined, state: string, present: Marks): LostMarks[] {
  if (read === undefined) return [UNREADABLE];
  const { marker, fits } = read;
  const { layers, services } = marker;
  if (!fits) {
    const own = marker.state === state ? subtract(marker, present) : { layers, services };
    return [...marker.lost, own].map((one) => ({ ...one, state: null })).filter(isFilled);
  }
  const former = marker.state === state ? [] : [{ state: marker.state, layers, services }];
  // The rules of a state that was restored apply again.
  return [...marker.lost, ...former].filter((one) => one.state !== state && isFilled(one));
}

function subtract({ layers, services }: Marks, present: Marks): Marks {
  const ids = new Set(present.layers.map(({ id }) => id));
  return {
    layers: layers.filter(({ id }) => !ids.has(id)),
    services: services.filter((name) => !present.services.includes(name)),
  };
}

/** Returns the marks without the layers and services that have an access policy in this state. */
export function omitOpened(
  lost: readonly LostMarks[],
  { access }: Pick<RuleDocuments, 'access'>,
  sourceOf: (id: string) => string | undefined,
  idOf: (name: string) => string | undefined = () => undefined,
): LostMarks[] {
  const ids = new Set([...access.keys()].map((name) => idOf(name) ?? name));
  const sources = new Set([...ids].flatMap((id) => sourceOf(id) ?? []));
  const isOpened = ({ id, source }: MarkedLayer) =>
    ids.has(id) || (source !== undefined && sources.has(source));
  return lost
    .map(({ state, layers, services }) => ({
      state,
      layers: layers.filter((layer) => !isOpened(layer)),
      services: services.filter((name) => !access.has(name === ANY ? ANY : serviceAccessId(name))),
    }))
    .filter(isFilled);
}

export function isFilled({ layers, services }: Marks): boolean {
  return layers.length > 0 || services.length > 0;
}

const NOTHING_REMEMBERED: Pick<RememberedSources, 'findFormer' | 'identityOf'> = {
  findFormer: () => [],
  identityOf: () => undefined,
};

/**
 * Restrictions of other states, and of layers whose tables or files now have another name. Only administrators can
 * access these collections.
 */
export class LostRestrictions {
  readonly #ids: ReadonlySet<string>;
  readonly #sources: ReadonlySet<string>;
  readonly #services: ReadonlySet<string>;
  readonly #identities: ReadonlyMap<string, readonly string[]>;

  /** `sourceOf` returns the hashed source of a collection. */
  constructor(
    readonly marks: readonly LostMarks[],
    private readonly sourceOf: (id: string) => string | undefined,
    private readonly remembered = NOTHING_REMEMBERED,
    /** Differs if the restrictions differ. */
    readonly signature = JSON.stringify(marks),
  ) {
    const layers = marks.flatMap((one) => one.layers);
    this.#identities = new Map(layers.flatMap(({ identities = {} }) => Object.entries(identities)));
    this.#ids = new Set(layers.map(({ id }) => id));
    this.#sources = new Set(layers.flatMap(({ source }) => source ?? []));
    this.#services = new Set(marks.flatMap(({ services }) => services));
  }

  hasLayer(id: string, service: string): boolean {
    if (this.marks.length === 0) return false;
    if (this.hasService(service) || this.#ids.has(id) || this.#sources.has(this.sourceOf(id) ?? ''))
      return true;
    const others = this.#identities.get(this.remembered.identityOf(id) ?? '');
    return others !== undefined && !others.includes(id);
  }

  /** The restricted layers of this state whose table or file a collection has. `sources`: those it is a copy of. */
  findFormer(id: string, sources: readonly Pick<LayerName, 'id'>[]): readonly string[] {
    return this.remembered.findFormer(id, sources);
  }

  hasService(service: string): boolean {
    return this.#services.has(ANY) || this.#services.has(service);
  }

  /** Names of the layers and services, as a log line lists them. */
  names(): string[] {
    const services = [...this.#services].map((name) =>
      name === ANY ? 'all layers' : `all layers of the service ${name}`,
    );
    return [...services, ...this.#ids];
  }
}

export const NOTHING_LOST = new LostRestrictions([], () => undefined);
