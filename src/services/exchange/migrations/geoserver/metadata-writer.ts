import { hasFeatures, isDrawable } from '../../../../core/catalog/abilities.js';
import type { CatalogSnapshot } from '../../../../core/catalog/collection.js';
import { type LayerAbout, type LayerSettings, WEB_ADDRESS } from '../../../../core/catalog/layer-settings.js';
import { LIMITS } from '../../../../core/kit/limits.js';
import { drawnLayers, StyleError } from '../../../../core/styles/check.js';
import type { FileStyle } from '../../../../core/styles/model.js';
import type { Pools } from '../../../../core/tasks/tasks.js';
import type { NamedSld } from '../../../../core/tasks/vector-tasks.js';
import type { Layers } from '../../../catalog/layers/layers.js';
import type { RasterImports } from '../../../catalog/rasters/import.js';
import type { StyledCollection, Styles } from '../../../styles/index.js';
import { buildStyleDocument, describeSldTarget } from '../../../styles/translations.js';
import type { ImportService } from '../../import.js';
import { shownCollection } from '../../remote/shown-collection.js';
import { IMPORT, putSourceStyle } from '../../remote/source-style.js';
import type { LayerNotes } from './notes.js';

/** Maximum characters that are imported. The management API accepts more. */
const CHARACTERS = 2000;
const TITLE = 200;

/** Imports the metadata and styles of a GeoServer layer as settings and style of the collection. */
export class LayerMetadataWriter {
  constructor(
    readonly layers: Pick<Layers, 'settingsOf' | 'serviceSettings' | 'put' | 'putService'>,
    private readonly styles: Styles,
    private readonly pools: Pick<Pools, 'run'>,
    private readonly catalog: () => CatalogSnapshot,
    private readonly imports: Pick<ImportService, 'addStyles'>,
    private readonly rasters: Pick<RasterImports, 'addStyles'>,
  ) {}

  collection(id: string, signal: AbortSignal): Promise<StyledCollection> {
    return shownCollection(this.catalog, id, isDrawable, signal);
  }

  /** Whether there is a service of that name, but for these collections. */
  hasService(name: string, collections: ReadonlySet<string>): boolean {
    return this.catalog().collections.some(({ id, service }) => service === name && !collections.has(id));
  }

  /** Sets title, description and other metadata. Settings by operators are kept. Can be called again. */
  async setMetadata(collection: StyledCollection, notes: LayerNotes): Promise<void> {
    const current = this.layers.settingsOf(collection);
    const { title, abstract } = notes;
    const about = { ...buildAbout(notes), ...current.about };
    const words: LayerSettings = {
      ...(title === undefined ? {} : { title: title.slice(0, TITLE) }),
      ...(abstract === undefined ? {} : { description: abstract.slice(0, CHARACTERS) }),
    };
    const change: LayerSettings = {
      ...Object.fromEntries(Object.entries(words).filter(([name]) => !Object.hasOwn(current, name))),
      ...(Object.keys(about).length === 0 ? {} : { about }),
    };
    if (Object.keys(change).length > 0) await this.layers.put(collection, change, IMPORT);
  }

  /**
   * Sets a style from SLD. Returns warnings about parts that are drawn differently or not at all. Can be called
   * again.
   */
  async setDefaultStyle(
    collection: StyledCollection,
    sld: string,
    signal: AbortSignal,
  ): Promise<{ isDrawn: boolean; warnings: string[] }> {
    const task = { xml: Buffer.from(sld), target: describeSldTarget(collection) };
    const { layers, diagnostics, name } = await this.pools.run('vector.sld', task, { signal });
    const lost = diagnostics.map(({ construct, message }) => `Style: ${construct}: ${message}`);
    if (layers.length === 0)
      return { isDrawn: false, warnings: ['Nothing of the style can be drawn.', ...lost] };
    const change = { drawingInfo: null, changeSummary: `SLD ${name ?? ''} of GeoServer`.replace('  ', ' ') };
    const refusals = await putSourceStyle(this.styles, collection, layers, change);
    return { isDrawn: refusals.length === 0, warnings: [...refusals, ...lost] };
  }

  /**
   * Offers styles by name in addition to the active one. Resolves with warnings about parts that are not drawn. Can
   * be called again.
   */
  async addStyles(
    collection: StyledCollection,
    styles: readonly NamedSld[],
    signal: AbortSignal,
  ): Promise<string[]> {
    const warnings: string[] = [];
    const offers: FileStyle[] = [];
    for (const { name, sld } of styles) {
      const { layers, diagnostics } = await this.#drawable(collection, sld, signal);
      if (layers.length === 0) {
        warnings.push(`Nothing of the style ${name} can be drawn.`);
        continue;
      }
      offers.push({ name, isDefault: false, layers, diagnostics });
      for (const { construct, message } of diagnostics)
        warnings.push(`Style ${name}: ${construct}: ${message}`);
    }
    for (const { name } of offers.splice(LIMITS.fileStyles))
      warnings.push(`The style ${name} was left behind.`);
    if (offers.length === 0 || (await this.#keep(collection, offers, styles))) return warnings;
    return offers.map(({ name }) => `The style ${name} was left behind.`);
  }

  /** The layers of a style in drawable form. Empty if the style cannot be drawn. */
  async #drawable(
    collection: StyledCollection,
    sld: string,
    signal: AbortSignal,
  ): Promise<Pick<FileStyle, 'layers' | 'diagnostics'>> {
    const task = { xml: Buffer.from(sld), target: describeSldTarget(collection) };
    const { layers, diagnostics } = await this.pools.run('vector.sld', task, { signal });
    if (layers.length === 0) return { layers, diagnostics };
    try {
      const document = await this.styles.check(collection, buildStyleDocument(layers));
      return { layers: drawnLayers(document), diagnostics };
    } catch (error) {
      if (!(error instanceof StyleError)) throw error;
      return { layers: [], diagnostics };
    }
  }

  /**
   * Stores styles. Tables store the SLD, which is parsed on reading. Rasters store the parsed layers. Returns false
   * if no style was stored.
   */
  #keep(
    collection: StyledCollection,
    offers: readonly FileStyle[],
    styles: readonly NamedSld[],
  ): Promise<boolean> {
    if (!hasFeatures(collection)) return this.rasters.addStyles(collection.layerId, offers);
    const names = new Set(offers.map(({ name }) => name));
    return this.imports.addStyles(
      collection,
      styles.filter(({ name }) => names.has(name)),
    );
  }
}

function buildAbout({ keywords, attribution, attributionUrl }: LayerNotes): LayerAbout {
  return {
    ...(keywords.length === 0
      ? {}
      : {
          keywords: keywords.slice(0, LIMITS.layerKeywords).map((one) => one.slice(0, LIMITS.layerKeyword)),
        }),
    ...(attribution === undefined ? {} : { attribution: attribution.slice(0, LIMITS.layerAttribution) }),
    // A part of an address is another one.
    ...(attributionUrl && attributionUrl.length <= CHARACTERS && WEB_ADDRESS.test(attributionUrl)
      ? { sourceUrl: attributionUrl }
      : {}),
  };
}
