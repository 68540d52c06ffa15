/**
 * Which folder of src may import which, and that no files and no rooms import each other in a circle. `faults` returns what
 * is wrong; run as a program, by `./run lint`, this file prints it. `--picture` prints the picture of the layers, `--rooms`
 * the table of their rooms, both for docs/explanation/architecture.md.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { fileURLToPath } from 'node:url';
import ROOMS from './rooms.mjs';

/** Folders of src by those whose files theirs may import; their own they may always. */
const LAYERS = {
  core: [],
  native: ['core'],
  supervisor: ['core'],
  client: [],
  workers: ['core', 'native', 'supervisor'],
  stores: ['core', 'workers'],
  services: ['core', 'native', 'workers', 'stores'],
  gateway: ['core', 'native', 'supervisor', 'workers', 'stores', 'services'],
  cli: ['core', 'native', 'supervisor', 'workers', 'stores', 'services'],
  console: ['core', 'client'],
};

/** What of the workers runs where their answers are waited for: ways to threads and processes, and what goes over them. */
const DOORS = [
  'src/workers/pools/pools.ts',
  'src/workers/threads/failure.ts',
  'src/workers/state/link.ts',
  'src/workers/files/file-ledger.ts',
  'src/workers/tiles/store/link.ts',
  'src/workers/engine/settings.ts',
  'src/workers/engine/rooms.ts',
  'src/workers/storage/remote/allowed-hosts.ts',
  'src/workers/styles/symbols/font-files.ts',
];

/** Files whose types need each other; values never do. */
const LARGEST_TYPE_CIRCLE = 2;

const IMPORT =
  /^(?:import|export)\s+(?<type>type\s+)?(?:(?<names>\{[^}]*\}|\*(?:\s+as\s+\w+)?|\w+(?:\s*,\s*\{[^}]*\})?)\s+from\s+)?'(?<from>\.[^']*)'|import\('(?<later>\.[^']*)'\)(?<member>\.\w+)?/gm;

/** What a file imports: the paths of files in src, and whether it is for types alone. */
function importsOf(path, text) {
  return [...text.matchAll(IMPORT)].map(({ groups }) => {
    const { type, names, from, later, member } = groups;
    const target = normalize(join(dirname(path), from ?? later)).replace(/\.js$/, '.ts');
    const each = /^\{([^}]*)\}$/
      .exec(names ?? '')?.[1]
      .split(',')
      .filter((name) => name.trim() !== '');
    const forTypes =
      Boolean(type) || Boolean(each?.every((name) => /^\s*type\s/.test(name))) || member !== undefined;
    return { target, forTypes };
  });
}

const layerOf = (path) => path.split('/')[1];
/** Undefined for a file beside the rooms of its layer. */
const roomOf = (path) => (path.split('/').length > 3 ? path.split('/')[2] : undefined);
/** Most files of one folder. */
/** Number of used rooms from which the table names the unused ones. */
const MANY_USES = 20;
const MAX_FILES = 25;

function roomFault(path, target, rooms) {
  const layer = layerOf(path);
  const [from, to] = [roomOf(path), roomOf(target)];
  if (!rooms[layer] || layer !== layerOf(target) || from === to) return undefined;
  if (rooms[layer][from]?.uses.includes(to)) return undefined;
  return `${path} imports ${target}: test/layers/rooms.mjs does not let ${layer}/${from} use ${layer}/${to}`;
}

/** Rooms that the table lacks or invents, arrows of the table that no import needs, circles of rooms, and crowded folders. */
function tableFaults(texts, rooms) {
  const wrong = [];
  const folders = new Map();
  for (const path of texts.keys()) folders.set(dirname(path), (folders.get(dirname(path)) ?? 0) + 1);
  for (const [folder, count] of folders)
    if (count > MAX_FILES) wrong.push(`${folder} has ${count} files: at most ${MAX_FILES}`);
  for (const [layer, table] of Object.entries(rooms)) {
    const paths = [...texts.keys()].filter((path) => layerOf(path) === layer);
    for (const path of paths)
      if (!table[roomOf(path)]) wrong.push(`${path} is in no room of test/layers/rooms.mjs`);
    const found = new Set(paths.map(roomOf));
    const needed = new Set(
      paths.flatMap((path) =>
        importsOf(path, texts.get(path))
          .filter(({ target }) => texts.has(target) && layerOf(target) === layer)
          .map(({ target }) => `${roomOf(path)} ${roomOf(target)}`),
      ),
    );
    for (const [room, { uses }] of Object.entries(table)) {
      if (!found.has(room)) wrong.push(`test/layers/rooms.mjs names ${layer}/${room}, which has no files`);
      for (const other of uses)
        if (!needed.has(`${room} ${other}`))
          wrong.push(`test/layers/rooms.mjs lets ${layer}/${room} use ${layer}/${other}, and no file does`);
    }
    for (const circle of circles(new Map(Object.entries(table).map(([room, { uses }]) => [room, uses]))))
      wrong.push(`these rooms of ${layer} use each other: ${circle.join(', ')}`);
  }
  return wrong;
}

function edgeFault(path, target) {
  const [from, to] = [layerOf(path), layerOf(target)];
  if (from === to) return undefined;
  if (!LAYERS[from]?.includes(to)) return `${path} imports ${target}: ${from} may not import ${to}`;
  const hasDoors = to === 'workers' && from !== 'workers';
  if (hasDoors && !DOORS.includes(target))
    return `${path} imports ${target}, which runs in workers alone: only ${DOORS.join(', ')} may be imported`;
  return undefined;
}

/** Groups of files that reach each other (Tarjan). */
function circles(graph) {
  const found = [];
  const order = new Map();
  const low = new Map();
  const stack = [];
  const visit = (path) => {
    order.set(path, order.size);
    low.set(path, order.get(path));
    stack.push(path);
    for (const next of graph.get(path) ?? []) {
      if (!order.has(next)) visit(next);
      if (stack.includes(next)) low.set(path, Math.min(low.get(path), low.get(next)));
    }
    if (low.get(path) !== order.get(path)) return;
    const circle = stack.splice(stack.indexOf(path));
    if (circle.length > 1) found.push(circle.sort());
  };
  for (const path of graph.keys()) if (!order.has(path)) visit(path);
  return found;
}

/** What is wrong with files, texts by their paths (`src/core/geometry/box.ts`), by a table of rooms. */
export function faults(texts, rooms = ROOMS) {
  const wrong = tableFaults(texts, rooms);
  const all = new Map();
  const values = new Map();
  for (const [path, text] of texts) {
    const imports = importsOf(path, text).filter(({ target }) => texts.has(target));
    all.set(
      path,
      imports.map(({ target }) => target),
    );
    values.set(
      path,
      imports.filter(({ forTypes }) => !forTypes).map(({ target }) => target),
    );
    for (const { target } of imports) wrong.push(edgeFault(path, target), roomFault(path, target, rooms));
  }
  for (const circle of circles(values)) wrong.push(`these import each other: ${circle.join(', ')}`);
  for (const circle of circles(all))
    if (circle.length > LARGEST_TYPE_CIRCLE)
      wrong.push(`the types of more than two files need each other: ${circle.join(', ')}`);
  return wrong.filter((fault) => fault !== undefined);
}

/** The picture of the layers in docs/explanation/architecture.md: who imports whom, as the files do. Arrows to core are left out: all have one. */
export function picture(texts) {
  const edges = new Map();
  for (const [path, text] of texts)
    for (const { target } of importsOf(path, text)) {
      const [from, to] = [layerOf(path), layerOf(target)];
      if (texts.has(target) && from !== to && to !== 'core') edges.set(`  ${from} --> ${to}`, true);
    }
  return ['```mermaid', 'flowchart TD', ...[...edges.keys()].sort(), '```'].join('\n');
}

/** The rooms of each layer, as Markdown. */
export function roomTable(rooms = ROOMS) {
  return Object.entries(rooms)
    .map(([layer, table]) =>
      [
        `### src/${layer}`,
        '',
        '| Module | Content | Uses |',
        '|---|---|---|',
        ...Object.entries(table).map(
          ([room, { holds, uses }]) => `| src/${layer}/${room} | ${holds} | ${listUses(room, uses, table)} |`,
        ),
      ].join('\n'),
    )
    .join('\n\n');
}

/** Rooms that a room uses. If these are many, the others are named. */
function listUses(room, uses, table) {
  if (uses.length <= MANY_USES) return uses.join(', ');
  const others = Object.keys(table).filter((one) => one !== room && !uses.includes(one));
  return others.length === 0 ? 'all' : `all except ${others.join(', ')}`;
}

export function sources() {
  const paths = readdirSync('src', { recursive: true }).map((name) => `src/${name}`);
  const code = paths.filter((path) => /(?<!\.d|\.test)\.ts$/.test(path));
  return new Map(code.map((path) => [path, readFileSync(path, 'utf8')]));
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  if (process.argv[2] === '--picture') {
    console.log(picture(sources()));
    process.exit();
  }
  if (process.argv[2] === '--rooms') {
    console.log(roomTable());
    process.exit();
  }
  const wrong = faults(sources());
  for (const fault of wrong) console.error(fault);
  process.exit(wrong.length > 0 ? 1 : 0);
}
