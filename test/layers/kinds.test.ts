import { readdirSync, readFileSync } from 'node:fs';
import { expect, it } from 'vitest';

/**
 * Who may ask of which kind data is: the tables of abilities, and each store's or reader's own room. Everybody else asks
 * what a collection can do (src/core/catalog/abilities.ts) or what its source declares (src/core/sources/vector-source.ts,
 * src/core/catalog/raster-sources.ts).
 */
const ROOMS = [/^src\/workers\/providers\//, /^src\/workers\/rasters\//];

const COLLECTION =
  /\b(?:(?:collections?|one|other|first)(?:\[\w+\])?(?:!|\?)?)\.kind\s*[!=]==\s*'(?:vector|raster|archive)'|\bcollections?(?:\[\w+\])?(?:!|\?)?\.kind\s*[!=]==|switch \([\w.]*collection\.kind\)/;
const SOURCE = /\bsource\??\.kind\s*[!=]==|switch \([\w.]*source\.kind\)/;
const STORE =
  /\bkind\s*[!=]==\s*'(?:geopackage|postgis|postgis-raster|mosaic|archive)'|case '(?:geopackage|postgis)'|'geopackage' \| 'postgis'/;
/** A kind that was taken out of something. */
const TAKEN = /(?<![.\w])kind\s*[!=]==\s*'(?:vector|raster|archive)'/;

/** What lists are searched for, what a style is drawn over, and the registration of grids, which takes these alone. */
const LEFT = [
  "src/core/styles/check.ts: kind === 'vector'",
  "src/core/styles/document.ts: kind === 'vector'",
  "src/services/catalog/collection-search.ts: kind === 'raster'",
  "src/services/catalog/collection-search.ts: kind === 'vector'",
  "src/services/catalog/rasters/grid-scan.ts: source.kind === 'gridded'",
];

it('nobody asks for the kind of a collection or a source outside of its own room', () => {
  const paths = readdirSync('src', { recursive: true })
    .map((name) => `src/${name}`)
    .filter((path) => path.endsWith('.ts') && !ROOMS.some((room) => room.test(path)));
  expect(paths.length).toBeGreaterThan(700);
  const questions = paths.flatMap((path) =>
    readFileSync(path, 'utf8')
      .split('\n')
      .filter((line) => [COLLECTION, SOURCE, STORE, TAKEN].some((pattern) => pattern.test(line)))
      .map((line) => `${path}: ${/[\w.?]*kind\s*[!=]==\s*'[\w-]+'/.exec(line)?.[0] ?? line.trim()}`),
  );
  expect(questions.sort()).toEqual(LEFT);
});
