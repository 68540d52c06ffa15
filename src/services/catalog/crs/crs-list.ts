import type { Box } from '../../../core/geometry/box.js';
import type { CrsEntry } from '../../../core/geometry/crs.js';
import type { Pools } from '../../../core/tasks/tasks.js';

interface SearchedCrs {
  readonly entry: CrsEntry;
  readonly name: string;
  readonly text: string;
  /** Names of countries and other areas in the description of the area of use. */
  readonly areas: readonly string[];
  /** Square degrees of the area of use. */
  readonly size: number;
}

export interface CrsHits {
  readonly entries: readonly CrsEntry[];
  /** Number of entries that match. */
  readonly total: number;
}

/** Searches the CRSs of EPSG by code, name and area. The list is read once, by a worker. */
export class CrsList {
  #list: Promise<readonly SearchedCrs[]> | undefined;

  constructor(private readonly pools: Pick<Pools, 'run'>) {}

  /**
   * Entries that contain all words, best first: equal codes, names that start with the text, and CRSs of the area that
   * the text names. CRSs of an area are sorted by number of areas, projected before geographic, and by size.
   */
  async search(text: string, limit: number): Promise<CrsHits> {
    const list = await this.#read();
    const words = simplify(text.replace(/\bEPSG:+/gi, ' '))
      .split(/\s+/)
      .filter(Boolean);
    const whole = words.join(' ');
    const hits = list.filter((one) => words.every((word) => one.text.includes(word)));
    const ranked = hits.map((one, i) => ({ one, rank: rank(one, words, whole), i }));
    ranked.sort(
      (a, b) => a.rank - b.rank || (a.rank === OF_AREA ? compareAreas(a.one, b.one) : 0) || a.i - b.i,
    );
    return { entries: ranked.slice(0, limit).map(({ one }) => one.entry), total: hits.length };
  }

  async find(code: string): Promise<CrsEntry | undefined> {
    return (await this.#read()).find(({ entry }) => entry.code === code)?.entry;
  }

  /** Projected CRSs whose area of use contains a box, smallest area first. */
  async listProjectedAround(box: Box, limit: number): Promise<CrsEntry[]> {
    const list = await this.#read();
    const around = list.flatMap(({ entry }) => {
      const { areaOfUse } = entry;
      if (entry.isGeographic || !areaOfUse || !contains(areaOfUse, box)) return [];
      const [west, south, east, north] = areaOfUse;
      return [{ entry, size: (east - west) * (north - south) }];
    });
    return around
      .sort((a, b) => a.size - b.size)
      .slice(0, limit)
      .map(({ entry }) => entry);
  }

  #read(): Promise<readonly SearchedCrs[]> {
    this.#list ??= this.pools.run('vector.crsList', {}).then(
      (entries) => entries.map(describe),
      (error: unknown) => {
        this.#list = undefined;
        throw error;
      },
    );
    return this.#list;
  }
}

/** Whether a box contains another one; neither crosses the antimeridian. */
function contains([west, south, east, north]: Box, [w, s, e, n]: Box): boolean {
  return west <= w && south <= s && east >= e && north >= n;
}

function describe(entry: CrsEntry): SearchedCrs {
  const name = simplify(entry.name);
  const area = simplify(entry.areaName);
  const [west, south, east, north] = entry.areaOfUse ?? [-180, -90, 180, 90];
  const size = (east < west ? east - west + 360 : east - west) * (north - south);
  return { entry, name, text: `${entry.code} ${name} ${area}`, areas: listAreas(area), size };
}

/** `Austria; Switzerland.` and `Germany - west of 7.5°E.` name countries. Names in brackets are abbreviations. */
function listAreas(area: string): string[] {
  return area
    .replace(/\([^)]*\)/g, ' ')
    .replace(/ - .*$/, '')
    .split(/[;,.]|\band\b/)
    .map((part) => part.replace(/\s+/g, ' ').trim())
    .filter(Boolean);
}

const OF_AREA = 3;

function compareAreas(a: SearchedCrs, b: SearchedCrs): number {
  const geographic = Number(a.entry.isGeographic) - Number(b.entry.isGeographic);
  return a.areas.length - b.areas.length || geographic || a.size - b.size;
}

function rank({ entry, name, areas }: SearchedCrs, words: readonly string[], whole: string): number {
  if (entry.code === whole) return 0;
  if (name === whole) return 1;
  if (name.startsWith(whole)) return 2;
  const others = words.filter((word) => !name.includes(word)).join(' ');
  if (areas.includes(others) || areas.includes(whole)) return OF_AREA;
  return others === '' ? 4 : 5;
}

/** Text without case and accents. */
function simplify(text: string): string {
  return text
    .normalize('NFD')
    .replace(/\p{Mn}/gu, '')
    .toLowerCase();
}
