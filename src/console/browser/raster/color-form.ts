import { appendQuery, formatLegendText } from '../../../core/rasters/color-query.js';

/** Form for the bands and colours of a raster: the same fields on the page of a raster and in the viewer. */

/** Parameters that the form can change. */
const FIELDS = ['bands', 'rescale', 'colormap'] as const;
/** Value of the option with which any three bands can be chosen. */
const ANY = 'any';

export class ColorForm {
  readonly #bands: HTMLSelectElement | null;
  readonly #ramp: HTMLSelectElement | null;
  readonly #range: HTMLInputElement | null;
  readonly #channels: HTMLElement | null;
  readonly #selects: readonly HTMLSelectElement[];
  /** Values of the fields in the default style. */
  readonly #usual: Readonly<Record<string, string>>;
  #query: string;

  /** `query` has the parameters that the fields show; absent: the default style. */
  constructor(
    private readonly form: HTMLFormElement,
    private readonly onChange: (query: string) => void,
    query = '',
  ) {
    this.#bands = form.querySelector('[data-colors-bands]');
    this.#ramp = form.querySelector('[data-colors-ramp]');
    this.#range = form.querySelector('[data-colors-range]');
    this.#channels = form.querySelector('[data-colors-channels]');
    this.#selects = [...form.querySelectorAll<HTMLSelectElement>('[data-colors-channel]')];
    this.#usual = {
      bands: this.#bands?.dataset.usual ?? '',
      colormap: this.#ramp?.dataset.usual ?? '',
    };
    this.#query = query;
    if (this.#selects.length === 3) this.#bands?.append(new Option('Choose three bands', ANY));
    this.#connect();
    this.#arrange();
  }

  /** Parameters of maps, tiles and legends. Empty for the default style. */
  get query(): string {
    return this.#query;
  }

  /** Shows the parameters in the fields, without a call of the listener. */
  restore(query: string): void {
    this.#query = query;
    const parameters = new URLSearchParams(query);
    if (this.#range) this.#range.value = parameters.get('rescale') ?? '';
    if (this.#ramp) select(this.#ramp, parameters.get('colormap') ?? this.#usual['colormap']!);
    if (this.#bands) select(this.#bands, parameters.get('bands') ?? this.#usual['bands']!);
    this.#arrange();
  }

  /** Shows the default range in the empty field. */
  showRange(range: readonly [number, number] | undefined): void {
    if (this.#range) this.#range.placeholder = range?.join() ?? '';
  }

  #connect(): void {
    this.form.addEventListener('submit', (event) => {
      event.preventDefault();
      this.#read();
    });
    for (const field of [this.#ramp, this.#range]) field?.addEventListener('change', () => this.#read());
    for (const field of [this.#bands, ...this.#selects])
      field?.addEventListener('change', () => {
        // Bands differ in their ranges.
        if (this.#range) this.#range.value = this.#usualRange();
        this.#read();
      });
    const reset = this.form.querySelector<HTMLButtonElement>('[data-colors-reset]');
    if (!reset) return;
    reset.hidden = false;
    reset.addEventListener('click', () => {
      this.restore('');
      this.onChange('');
    });
  }

  #read(): void {
    this.#arrange();
    const query = new URLSearchParams(this.#query);
    const bands = this.#chosenBands();
    const isComposition = bands.includes(',');
    if (bands !== '') query.delete('expression');
    const values = {
      bands,
      rescale: this.#range?.value.replaceAll(/\s/g, '') ?? '',
      colormap: isComposition ? '' : (this.#ramp?.value ?? ''),
    };
    for (const name of FIELDS)
      if (values[name] === '') query.delete(name);
      else query.set(name, values[name]);
    const isUsual =
      values.rescale === '' &&
      values.bands === this.#usual['bands'] &&
      (isComposition || values.colormap === this.#usual['colormap']);
    if (isUsual) for (const name of FIELDS) query.delete(name);
    this.#query = query.toString().replaceAll('%2C', ',');
    this.onChange(this.#query);
  }

  #chosenBands(): string {
    if (this.#bands?.value === ANY) return this.#selects.map(({ value }) => value).join();
    return this.#bands?.value ?? '';
  }

  /** Range of the chosen bands; empty for the default range. */
  #usualRange(): string {
    const lists = this.#bands?.value === ANY ? this.#selects : this.#bands ? [this.#bands] : [];
    return lists.flatMap((list) => list.selectedOptions[0]?.dataset.range || []).join();
  }

  /** Shows the fields that apply to the chosen bands. */
  #arrange(): void {
    const chosen = this.#bands?.value ?? '';
    if (this.#channels) this.#channels.hidden = chosen !== ANY;
    if (chosen.includes(','))
      chosen.split(',').forEach((band, i) => {
        if (this.#selects[i]) this.#selects[i].value = band;
      });
    const label = this.#ramp?.closest('label');
    if (label) label.hidden = chosen === ANY || chosen.includes(',');
  }
}

/** Selects a value, which can be one that the list does not have yet. */
function select(list: HTMLSelectElement, value: string): void {
  if (![...list.options].some((option) => option.value === value))
    list.prepend(new Option(value.replaceAll(',', ', '), value));
  list.value = value;
}

/** Description of a legend, from its JSON document. */
interface LegendData {
  readonly name?: string;
  readonly unit?: string;
  readonly range?: [number, number];
  readonly entries: readonly { readonly label: string }[];
}

/** Shows a legend in an image, and its text for readers who do not see it. Returns the range of its values. */
export async function showLegend(
  image: HTMLImageElement,
  query: string,
): Promise<[number, number] | undefined> {
  const url = appendQuery(image.dataset.colored!, query);
  image.src = url;
  // The links of a page can have another origin.
  const { pathname, search } = new URL(url, location.href);
  const response = await fetch(pathname + search.replace('f=svg', 'f=json'));
  if (!response.ok) return undefined;
  const { name, unit, range, entries } = (await response.json()) as LegendData;
  image.alt = formatLegendText(
    { name, unit },
    entries.map(({ label }) => label),
  );
  return range;
}
