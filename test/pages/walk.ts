import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import Database from '../../src/native/sqlite.js';
import { smallWorld } from '../support/small-world.js';

/** What a walk through the pages needs: catalogs of several sizes, and a reader with a keyboard. */

const RASTERS = ['L7_ETMs.tif', 'olinda_dem_utm25s.tif', 'years'];
const THEMES = ['roads', 'rivers', 'bus stops', 'parcels', 'trees', 'schools', 'water quality 2019'];
const TOWNS = [
  ['Bern', 7.45, 46.95],
  ['Zürich', 8.54, 47.37],
  ['Genève', 6.14, 46.2],
  ['Chur', 9.53, 46.85],
] as const;

/** Sources that make a catalog of so many collections: 1, 7, or any number above 7. */
export function catalogOf(count: number, folder: string): string[] {
  mkdirSync(folder, { recursive: true });
  const towns = join(folder, 'towns.geojson');
  const features = TOWNS.map(([name, x, y]) => ({
    type: 'Feature',
    properties: { name },
    geometry: { type: 'Point', coordinates: [x, y] },
  }));
  writeFileSync(towns, JSON.stringify({ type: 'FeatureCollection', features }));
  if (count === 1) return [towns];
  for (const name of RASTERS) cpSync(join('demo/data', name), join(folder, name), { recursive: true });
  const seven = [smallWorld(folder), ...RASTERS.map((name) => join(folder, name)), towns];
  return [...seven, ...manyTables(count - 7, towns, folder)];
}

/** So many tables of points, a hundred in a file at most. */
function manyTables(count: number, seed: string, folder: string): string[] {
  const files: string[] = [];
  const perFile = count > 200 ? 100 : THEMES.length;
  for (let made = 0; made < count; made += perFile) {
    const file = join(folder, `district-${String(files.length + 1).padStart(2, '0')}.gpkg`);
    const names = Array.from({ length: Math.min(perFile, count - made) }, (_, i) => {
      const turn = Math.floor(i / THEMES.length);
      return turn === 0 ? THEMES[i]! : `${THEMES[i % THEMES.length]} ${turn + 1}`;
    });
    execFileSync('ogr2ogr', ['-q', '-f', 'GPKG', file, seed, '-nln', 'seed', '-lco', 'SPATIAL_INDEX=NO']);
    fillTables(file, names);
    files.push(file);
  }
  return files;
}

function fillTables(file: string, names: readonly string[]): void {
  const db = new Database(file);
  db.pragma('foreign_keys = OFF');
  db.transaction(() => {
    for (const name of names) {
      db.exec(`CREATE TABLE "${name}" (fid INTEGER PRIMARY KEY, geom POINT, name TEXT, value REAL)`);
      db.exec(`INSERT INTO "${name}" SELECT fid, geom, name, fid * 1.5 FROM seed`);
      for (const table of ['gpkg_contents', 'gpkg_geometry_columns']) db.exec(copyRow(db, table, name));
    }
    for (const table of ['gpkg_contents', 'gpkg_geometry_columns', 'gpkg_ogr_contents'])
      db.exec(`DELETE FROM ${table} WHERE table_name = 'seed'`);
    db.exec('DROP TABLE seed');
  })();
  db.close();
}

/** The row of the seed again, under another name. */
function copyRow(db: Database.Database, table: string, name: string): string {
  const columns = db.prepare(`SELECT name FROM pragma_table_info('${table}')`).pluck().all() as string[];
  const values = columns.map((one) => (one === 'table_name' || one === 'identifier' ? `'${name}'` : one));
  return `INSERT INTO ${table} (${columns.join()}) SELECT ${values.join()} FROM ${table} WHERE table_name = 'seed'`;
}

/** Waits until the page has drawn its map, if it has one. */
export async function settled(page: Page): Promise<void> {
  if ((await page.locator('[data-map]').count()) > 0)
    await page
      .locator('[data-map-state="idle"], [data-map-state="folded"]')
      .first()
      .waitFor({ state: 'attached', timeout: 90_000 });
}

/** A place that the focus comes to. */
export interface Stop {
  name: string;
  /** What is wrong with it there; empty when nothing is. */
  faults: string[];
}

/** Everything that Tab comes to, in its order, and what is never reached. */
export async function walkByKeyboard(page: Page): Promise<{ stops: Stop[]; missed: string[] }> {
  await page.evaluate(PREPARE);
  const stops: Stop[] = [];
  for (let i = 0; i < 1500; i++) {
    await page.keyboard.press('Tab');
    const stop = (await page.evaluate('window.walkStop()')) as Stop | null;
    if (!stop) break;
    stops.push(stop);
  }
  return { stops, missed: (await page.evaluate('window.walkMissed()')) as string[] };
}

/** What the eye would complain of: text in columns too narrow to read, parts that touch each other, sideways scrolling. */
export async function layoutFaults(page: Page): Promise<string[]> {
  return (await page.evaluate(LAYOUT)) as string[];
}

const LAYOUT = `(() => {
  const faults = [];
  const { scrollWidth, clientWidth } = document.documentElement;
  if (scrollWidth > clientWidth) faults.push('scrolls sideways');
  for (const e of document.querySelectorAll('main dd, main dt, main td, main th, main li, main p, main h1, main h2')) {
    const text = [...e.childNodes].filter((n) => n.nodeType === 3 || n.nodeName === 'BDI').map((n) => n.textContent.trim()).join('');
    const { width, height } = e.getBoundingClientRect();
    const size = parseFloat(getComputedStyle(e).fontSize);
    if (text.length > 4 && height > 0 && width < 2.5 * size && height > 4 * size) faults.push('squeezed: ' + text.slice(0, 40));
  }
  for (const b of document.querySelectorAll('main .button, main .links, main .scroll')) {
    const next = b.nextElementSibling;
    if (!next || !next.matches('.button, .links, .scroll')) continue;
    const [r, s] = [b.getBoundingClientRect(), next.getBoundingClientRect()];
    if (s.top >= r.bottom - 1 && s.top - r.bottom < 3) faults.push('touches what is below: ' + b.textContent.trim().slice(0, 40));
  }
  return [...new Set(faults)];
})()`;

/** In the page: looks at what has the focus. */
const PREPARE = `(() => {
  const seen = new Set();
  let last;
  const label = (e) => e.tagName.toLowerCase() + ' ' + JSON.stringify((e.getAttribute('aria-label') || e.innerText || e.name || e.id || '').trim().slice(0, 40));
  const shown = (e) => e.checkVisibility({ visibilityProperty: true }) && e.getClientRects().length > 0;
  const look = (e) => { const s = getComputedStyle(e); return [s.outlineStyle, s.outlineWidth, s.outlineColor, s.boxShadow, s.borderColor, s.backgroundColor, s.color, s.textDecorationLine].join('|'); };
  // What all of them look like without the focus.
  const plain = new Map();
  const selector = 'a[href], button:not(:disabled), input:not([type=hidden]):not(:disabled), select, textarea, summary, [tabindex="0"]';
  for (const e of document.querySelectorAll(selector + ', label')) plain.set(e, look(e));
  document.activeElement?.blur?.();
  getSelection()?.removeAllRanges();
  const outlined = (e) => { const s = getComputedStyle(e); return s.outlineStyle !== 'none' && parseFloat(s.outlineWidth) > 0; };
  window.walkStop = () => {
    const e = document.activeElement;
    // A date has several parts that Tab comes to.
    if (e && e === last && e.type === 'date') return { name: label(e), faults: [] };
    if (!e || e === document.body || seen.has(e)) return null;
    seen.add(e);
    last = e;
    const faults = [];
    const r = e.getBoundingClientRect();
    const host = e.closest('label, .map, .maplibregl-map, summary') ?? e;
    if (!shown(e) && !shown(host)) faults.push('is not visible');
    if (r.width > 0 && (r.left < -1 || r.right > innerWidth + 1) && !e.closest('pre, .scroll, .table, [data-scroll]') && !(getComputedStyle(e).position === 'absolute' && r.width <= 1)) faults.push('is cut off: ' + Math.round(r.left) + ' to ' + Math.round(r.right));
    if (r.bottom < 1 || r.top > innerHeight - 1) faults.push('is out of sight');
    const changed = (x) => plain.has(x) ? plain.get(x) !== look(x) : false;
    if (!outlined(e) && !changed(e) && !outlined(host) && !changed(host)) faults.push('has no visible focus');
    const x = Math.min(Math.max(r.left + r.width / 2, 0), innerWidth - 1), y = Math.min(Math.max(r.top + Math.min(r.height, 24) / 2, 0), innerHeight - 1);
    const top = document.elementFromPoint(x, y);
    if (top && !e.contains(top) && !top.contains(e) && !host.contains(top) && r.width > 1) faults.push('is covered by ' + label(top));
    return { name: label(e), faults };
  };
  window.walkMissed = () => [...plain.keys()].filter((e) => e.isConnected && e.matches(selector) && shown(e) && !seen.has(e) && e.tabIndex >= 0 && !(e.type === 'radio' && !e.checked)).map(label);
})()`;
