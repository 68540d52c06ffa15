import { build } from 'esbuild';
import { gunzip } from '../src/native/index.js';
import { closeAll } from '../src/workers/providers/geopackage/connection.js';
import { launchBrowser } from '../test/support/browser.js';
import { option, publish } from './support/report.js';
import { type Encoding, encode, SERIES } from './support/tile-series.js';

/**
 * What tiles of both encodings take in Chromium, by the code of MapLibre GL JS's own worker: reading everything, and
 * everything until a tile is ready to be drawn by a style (reading, buckets, triangles).
 */
const rounds = option('rounds', 7);
/** Bytes that readers of gzip take at most. */
const MOST = 64 << 20;
const STYLES = ['fill', 'fill, line'];

const { outputFiles } = await build({
  entryPoints: ['bench/support/map-worker.mjs'],
  ...{ bundle: true, format: 'iife', write: false, logLevel: 'error' },
  // As MapLibre's own build has it: fields without a value do not cover those of the class above.
  tsconfigRaw: { compilerOptions: { useDefineForClassFields: false } },
});
const browser = await launchBrowser();
const page = await browser.newPage();
await page.addScriptTag({ content: outputFiles[0]!.text });

interface MapWorker {
  take(texts: Record<Encoding, string[]>, style: string): Promise<void>;
  repeat(act: Act, format: Encoding): Promise<number>;
}
type Act = 'read' | 'parse';

const processes = await browser.newBrowserCDPSession();

/** Seconds of processor time that the process of the page has had, with its collector of garbage. */
async function pageSeconds(): Promise<number> {
  const { processInfo } = await processes.send('SystemInfo.getProcessInfo');
  return processInfo.filter(({ type }) => type === 'renderer').reduce((sum, { cpuTime }) => sum + cpuTime, 0);
}

/** Milliseconds of processor time per tile. */
async function measure(act: Act, format: Encoding): Promise<number> {
  const start = await pageSeconds();
  const count = await page.evaluate(
    ([act, format]) => (globalThis as unknown as MapWorker).repeat(act, format),
    [act, format] as const,
  );
  return (1e3 * ((await pageSeconds()) - start)) / count;
}

const stylesOf = (type: string) =>
  type.endsWith('Point') ? ['circle'] : type.endsWith('Polygon') ? STYLES : ['line'];

const KEYS = ['MVT read, CPU ms', 'MLT read, CPU ms', 'MVT parsed, CPU ms', 'MLT parsed, CPU ms'] as const;
const figures: { name: string; rounds: Record<(typeof KEYS)[number], number[]> }[] = [];
for (const { name, source, tiles } of SERIES) {
  const texts: Record<Encoding, string[]> = { mvt: [], mlt: [] };
  for (const format of ['mvt', 'mlt'] as const) {
    const encoded = await Promise.all(tiles.map((bbox) => encode(source, bbox, format)));
    texts[format] = encoded
      .filter(({ data }) => data.length > 0)
      .map(({ data }) => gunzip(data, MOST).toString('base64'));
  }
  for (const style of stylesOf(source.geometryType)) {
    await page.evaluate(([texts, style]) => (globalThis as unknown as MapWorker).take(texts, style), [
      texts,
      style,
    ] as const);
    const values: number[][] = [[], [], [], []];
    for (let round = -2; round < rounds; round++) {
      for (const [i, act] of (['read', 'parse'] as const).entries())
        for (const [k, format] of (['mvt', 'mlt'] as const).entries()) {
          const value = await measure(act, format);
          // The first rounds warm up.
          if (round >= 0) values[2 * i + k]!.push(value);
        }
    }
    figures.push({
      name: `${name}, ${style}`,
      rounds: Object.fromEntries(KEYS.map((key, i) => [key, values[i]!])) as Record<
        (typeof KEYS)[number],
        number[]
      >,
    });
  }
}
closeAll();
await browser.close();

type Key = (typeof KEYS)[number];
const ratio = (over: Key, under: Key) => (figure: (typeof figures)[number]) =>
  figure.rounds[over].map((value, r) => value / figure.rounds[under][r]!);
const mean = (over: Key, under: Key) => {
  const all = figures.map(ratio(over, under));
  return all[0]!.map((_, r) => all.reduce((sum, one) => sum + one[r]!, 0) / all.length);
};
publish({
  bench: 'mlt-browser',
  command: `./run bench mlt-browser --rounds ${rounds}`,
  about: `The tiles of \`./run bench mlt\` in Chromium, processor time of the page's process per tile that holds something, by MapLibre GL JS's own classes on one thread: read (all features, attributes and geometry, as @mapbox/vector-tile and @maplibre/mlt do it for MapLibre), and parsed (until it is ready to be drawn by a style with these layers).`,
  figures,
  ratios: [
    { what: 'read, MVT / MLT, mean of all', rounds: mean(KEYS[0], KEYS[1]), goal: 1.5 },
    ...figures.map((figure) => ({
      what: `read, MVT / MLT, ${figure.name}`,
      rounds: ratio(KEYS[0], KEYS[1])(figure),
    })),
    { what: 'parsed, MVT / MLT, mean of all', rounds: mean(KEYS[2], KEYS[3]), goal: 1.5 },
    ...figures.map((figure) => ({
      what: `parsed, MVT / MLT, ${figure.name}`,
      rounds: ratio(KEYS[2], KEYS[3])(figure),
    })),
  ],
});
