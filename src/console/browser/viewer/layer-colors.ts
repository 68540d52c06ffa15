import { ColorForm, showLegend } from '../raster/color-form.js';
import type { LayerColors } from './permalink.js';
import type { TileParameters } from './tile-parameters.js';

/** Bands and colours of the rasters in the list of layers. */
export class ColorForms {
  readonly #forms = new Map<string, { form: ColorForm; legend: HTMLImageElement | null }>();
  readonly #listeners: (() => void)[] = [];

  constructor(private readonly tiles: TileParameters) {
    for (const row of document.querySelectorAll<HTMLElement>('[data-layer-row]')) this.add(row);
  }

  onChange(listener: () => void): void {
    this.#listeners.push(listener);
  }

  /** Connects the form in the row of a layer. */
  add(row: HTMLElement): void {
    const element = row.querySelector<HTMLFormElement>('[data-colors]');
    if (!element) return;
    const id = element.dataset.colors!;
    const legend = row.querySelector<HTMLImageElement>('img[data-colored]');
    const form = new ColorForm(element, (query) => {
      this.#show(id, query);
      for (const listener of this.#listeners) listener();
    });
    this.#forms.set(id, { form, legend });
  }

  remove(id: string): void {
    this.#forms.delete(id);
    this.tiles.remove(id);
  }

  /** Rasters that do not have their default colours. */
  state(): LayerColors[] {
    return [...this.#forms].flatMap(([id, { form }]) =>
      form.query === '' ? [] : [{ id, query: form.query }],
    );
  }

  /** Shows these colours, and the default colours of all other rasters. */
  restore(colors: readonly LayerColors[] = []): void {
    const queries = new Map(colors.map(({ id, query }) => [id, query]));
    for (const [id, { form }] of this.#forms) {
      const query = queries.get(id) ?? '';
      if (query === form.query) continue;
      form.restore(query);
      this.#show(id, query);
    }
  }

  #show(id: string, query: string): void {
    this.tiles.set(id, { colors: query });
    const { form, legend } = this.#forms.get(id)!;
    if (legend) void showLegend(legend, query).then((range) => form.showRange(range));
  }
}
