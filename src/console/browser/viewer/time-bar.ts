import type { Map as MapLibreMap } from 'maplibre-gl';
import type { LayerTime, MapData, ViewerData } from '../../../core/catalog/page-data.js';
import type { TileParameters } from './tile-parameters.js';
import { describeUnselected, formatDatetime, listTimeSteps, shownInstant } from './times.js';

/** Milliseconds that each step is shown while it plays, once its tiles are there. */
const STEP_MS = 900;

/** The bar with the time: one step, a range of steps, or all times. It is not there for layers without times. */
export class TimeBar {
  #steps: number[] = [];
  #restoring: string | undefined;
  /** Incremented with each change of the layers, so that responses to earlier requests are ignored. */
  #turn = 0;
  /** First and last step shown; undefined for all times. */
  #range: [from: number, to: number] | undefined;
  #playing: ReturnType<typeof setTimeout> | undefined;
  readonly #bar = document.querySelector<HTMLElement>('[data-time]');
  readonly #listeners: (() => void)[] = [];
  /** Layers with times. */
  #timed: readonly string[] = [];
  #times: readonly LayerTime[] = [];

  constructor(
    private readonly map: MapLibreMap,
    private readonly data: MapData,
    private readonly viewer: ViewerData,
    private readonly tiles: TileParameters,
  ) {
    this.#connect();
    this.refresh();
  }

  /** Steps of the layers that are there now; the time that is shown stays. */
  refresh(): void {
    const { baseUrl } = this.data;
    const timed = this.viewer.layers.filter(({ time }) => time);
    this.#timed = timed.map(({ id }) => id);
    const times = timed.map(({ time }) => time as LayerTime);
    this.#times = times;
    const turn = ++this.#turn;
    const begin = (steps: number[]) => {
      if (turn === this.#turn) this.#begin(steps);
    };
    if (times.length > 0) void listTimeSteps(times, baseUrl).then(begin, console.warn);
    else begin([]);
  }

  onChange(listener: () => void): void {
    this.#listeners.push(listener);
  }

  /** The visible time as a `datetime` value; undefined for all times. */
  state(): string | undefined {
    if (!this.#range) return this.#restoring;
    return formatDatetime(this.#steps, ...this.#range);
  }

  /** Shows the steps within a time as `state` gives it; all when it is absent. */
  restore(datetime: string | undefined): void {
    this.#restoring = datetime;
    if (this.#steps.length === 0) return;
    this.#restoring = undefined;
    const [start = '', end = start] = datetime?.split('/') ?? [];
    const at = (text: string, fallback: number) => (text === '..' ? fallback : Date.parse(text));
    const [first, last] = [at(start, -Infinity), at(end, Infinity)];
    const within = this.#steps.flatMap((step, i) => (step >= first && step <= last ? [i] : []));
    this.#show(within.length > 0 ? [within[0]!, within.at(-1)!] : undefined);
  }

  #connect(): void {
    if (!this.#bar) return;
    const { from, to } = this.#sliders();
    from.addEventListener('input', () => this.#slid(from));
    to.addEventListener('input', () => this.#slid(to));
    this.#on('[data-time-back]', 'click', () => this.#step(-1));
    this.#on('[data-time-next]', 'click', () => this.#step(1));
    this.#on('[data-time-play]', 'click', () => (this.#playing ? this.#pause() : this.#play()));
    this.#on('[data-time-all]', 'click', () => this.#change(undefined));
    this.#on('[data-time-range]', 'change', () => this.#slid(to));
  }

  #begin(steps: number[]): void {
    if (!this.#bar) return;
    const restored = this.state();
    this.#pause();
    this.#range = undefined;
    this.#steps = steps.length < 2 ? [] : steps;
    this.#bar.hidden = this.#steps.length === 0;
    document.body.classList.toggle('has-time', this.#steps.length > 0);
    this.map.resize();
    const { from, to } = this.#sliders();
    for (const slider of [from, to]) slider.max = String(Math.max(0, this.#steps.length - 1));
    to.value = to.max;
    this.restore(restored);
  }

  #on(selector: string, event: string, listener: () => void): void {
    this.#bar?.querySelector(selector)?.addEventListener(event, () => {
      if (selector !== '[data-time-play]') this.#pause();
      listener();
    });
  }

  #sliders(): { from: HTMLInputElement; to: HTMLInputElement; range: HTMLInputElement } {
    const input = (name: string) => this.#bar!.querySelector<HTMLInputElement>(`[data-time-${name}]`)!;
    return { from: input('from'), to: input('to'), range: input('range') };
  }

  /** Keeps the start of a range before its end. */
  #slid(moved: HTMLInputElement): void {
    this.#pause();
    const { from, to, range } = this.#sliders();
    const [begin, end] = [Number(from.value), Number(to.value)];
    if (!range.checked) return this.#change([end, end]);
    this.#change(moved === from ? [begin, Math.max(begin, end)] : [Math.min(begin, end), end]);
  }

  /**
   * Moves the visible range by one step. From all times it moves to the first or last step, and at the end it starts
   * again.
   */
  #step(by: -1 | 1): void {
    const last = this.#steps.length - 1;
    if (!this.#range) {
      // Rasters already show the last step.
      const before = this.#showsOneTime() ? last - 1 : last;
      return this.#change(by > 0 ? [0, 0] : [before, before]);
    }
    const [from, to] = this.#range;
    const width = to - from;
    if (by > 0) this.#change(to < last ? [from + 1, to + 1] : [0, width]);
    else this.#change(from > 0 ? [from - 1, to - 1] : [last - width, last]);
  }

  #play(): void {
    const next = () => {
      this.#step(1);
      // The next step waits for the tiles of this one.
      this.map.once('idle', () => {
        if (this.#playing) this.#playing = setTimeout(next, STEP_MS);
      });
    };
    this.#playing = setTimeout(next, 0);
    this.#showPlaying(true);
  }

  #pause(): void {
    clearTimeout(this.#playing);
    this.#playing = undefined;
    this.#showPlaying(false);
  }

  #showPlaying(playing: boolean): void {
    const button = this.#bar?.querySelector('[data-time-play]');
    button?.setAttribute('aria-pressed', String(playing));
    button?.setAttribute('title', playing ? 'Pause' : 'Play');
  }

  #change(range: [number, number] | undefined): void {
    this.#show(range);
    for (const listener of this.#listeners) listener();
  }

  #show(range: [number, number] | undefined): void {
    this.#range = range;
    this.#label();
    const datetime = this.state();
    for (const id of this.#timed) this.tiles.set(id, { datetime });
  }

  /** Whether each layer shows one time, as rasters do, also within a range. */
  #showsOneTime(): boolean {
    return this.#times.every(({ kind }) => kind === 'instants');
  }

  #label(): void {
    const { from, to, range } = this.#sliders();
    const [begin, end] = this.#range ?? [0, this.#steps.length - 1];
    const isSingle = this.#showsOneTime();
    if (this.#range && begin !== end && !isSingle) range.checked = true;
    if (isSingle) range.checked = false;
    range.closest('label')!.hidden = isSingle;
    from.hidden = !range.checked;
    from.value = String(begin);
    to.value = String(end);
    to.setAttribute('aria-label', range.checked ? 'End of the range' : 'Time');
    const text = (step: number) => shownInstant(this.#steps[step]!, this.#steps);
    this.#bar!.querySelector('[data-time-first]')!.textContent = text(0);
    this.#bar!.querySelector('[data-time-last]')!.textContent = text(this.#steps.length - 1);
    from.setAttribute('aria-valuetext', text(begin));
    const selected = begin === end || isSingle ? text(end) : `${text(begin)} – ${text(end)}`;
    const label = this.#range ? selected : describeUnselected(this.#times, this.#steps);
    to.setAttribute('aria-valuetext', this.#range ? text(end) : label.toLowerCase());
    this.#bar!.querySelector('[data-time-shown]')!.textContent = label;
    this.#bar!.querySelector('[data-time-all]')!.textContent = isSingle ? 'Newest' : 'All times';
    this.#bar!.classList.toggle('is-all', !this.#range);
    this.#bar!.classList.toggle('is-single', isSingle);
  }
}
