import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { pin } from './support/core.js';
import { EPSG, imagery, ORIGIN, PIXEL } from './support/imagery.js';
import { median, option, publish } from './support/report.js';
import { startGraticule } from './support/server.js';

/** Resident memory of the gateway and the engine over many windows, pictures and tiles of a large COG. */
const requests = option('requests', 10_000);
const SIDE = 16_384;
const CLIENTS = 4;
const PORT = 8171;
/** Requests between two looks. */
const STEP = Math.max(1, Math.floor(requests / 100));

pin(1);
const server = await startGraticule([await imagery(SIDE)], { port: PORT, cores: '0' });
const { collections } = (await (await fetch(`${server.origin}/ogc/coverages/collections`)).json()) as {
  collections: { id: string }[];
};
const coverage = `${server.origin}/ogc/coverages/collections/${collections[0]!.id}/coverage`;

let seed = 11;
function random(below: number): number {
  seed = (Math.imul(seed, 1_103_515_245) + 12_345) & 0x7fffffff;
  return seed % below;
}

/** Another window each time: three in four small, some reprojected, some pictures, one in a hundred of 16 megapixels. */
function target(number: number): string {
  const side = number % 100 === 99 ? 4096 : 64 + random(200);
  const [left, top] = [random(SIDE - 4096), random(SIDE - 4096)];
  const [minx, maxy] = [ORIGIN[0] + left * PIXEL, ORIGIN[1] - top * PIXEL];
  const box = [minx, maxy - side * PIXEL, minx + side * PIXEL, maxy];
  const size = number % 100 === 99 ? '&properties=band_1,band_2,band_3&scale-size=3400,3400' : '';
  const kind = ['', '&crs=EPSG:3857', '&f=png', '&properties=band_2'][number % 4]!;
  return `${coverage}?bbox=${box}&bbox-crs=EPSG:${EPSG}${size || kind}`;
}

interface Look {
  requests: number;
  gatewayMb: number;
  engineMb: number;
}

const MB = 1024;
const PROCESSES = { gatewayMb: 'graticule: gateway', engineMb: 'graticule: engine' } as const;

/** Resident megabytes of the processes of this server, which share a supervisor. */
function look(done: number): Look {
  const parent = /^PPid:\s+(\d+)/m.exec(readFileSync(`/proc/${server.pid}/status`, 'utf8'))![1]!;
  const found = { requests: done, gatewayMb: 0, engineMb: 0 };
  for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
    try {
      const status = readFileSync(`/proc/${pid}/status`, 'utf8');
      if (/^PPid:\s+(\d+)/m.exec(status)?.[1] !== parent) continue;
      const title = readFileSync(`/proc/${pid}/cmdline`, 'utf8');
      for (const [name, prefix] of Object.entries(PROCESSES))
        if (title.startsWith(prefix))
          found[name as keyof typeof PROCESSES] += Number(/^VmRSS:\s+(\d+)/m.exec(status)![1]) / MB;
    } catch {
      // It ended while it was looked at.
    }
  }
  return found;
}

const looks: Look[] = [look(0)];
let next = 0;
let done = 0;
async function client(): Promise<void> {
  while (next < requests) {
    const answer = await fetch(target(next++));
    await answer.arrayBuffer();
    if (!answer.ok) throw new Error(`${answer.url}: ${answer.status}`);
    if (++done % STEP === 0) looks.push(look(done));
  }
}
await Promise.all(Array.from({ length: CLIENTS }, client));
await server.stop();

/** Lines of both processes as an SVG. */
function plot(): string {
  const [width, height, left, bottom] = [720, 320, 60, 40];
  const most = Math.max(...looks.flatMap(({ gatewayMb, engineMb }) => [gatewayMb, engineMb])) * 1.1;
  const x = (value: number) => left + (value / requests) * (width - left - 10);
  const y = (value: number) => height - bottom - (value / most) * (height - bottom - 10);
  const line = (name: keyof typeof PROCESSES, color: string) =>
    `<polyline fill="none" stroke="${color}" points="${looks.map((one) => `${x(one.requests).toFixed(1)},${y(one[name]).toFixed(1)}`).join(' ')}"/>`;
  const marks = [0, 0.25, 0.5, 0.75, 1].map((part) => {
    const value = Math.round((most * part) / 10) * 10;
    return `<text x="4" y="${y(value) + 4}">${value} MB</text><line x1="${left}" x2="${width}" y1="${y(value)}" y2="${y(value)}" stroke="#ddd"/>`;
  });
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" font-family="sans-serif" font-size="12"><rect width="100%" height="100%" fill="#fff"/>${marks.join('')}${line('engineMb', '#c33')}${line('gatewayMb', '#36c')}<text x="${left}" y="${height - 20}">0</text><text x="${width - 110}" y="${height - 20}">${requests} requests</text><text x="${left + 60}" y="${height - 4}" fill="#c33">engine</text><text x="${left + 140}" y="${height - 4}" fill="#36c">gateway</text></svg>\n`;
}

mkdirSync('bench/results', { recursive: true });
writeFileSync('bench/results/raster-memory.svg', plot());
const part = (from: number, to: number, name: keyof typeof PROCESSES) =>
  looks
    .filter((one) => one.requests >= from * requests && one.requests <= to * requests)
    .map((one) => one[name]);
const quarters = [0, 0.25, 0.5, 0.75].map((from) => [from, from + 0.25] as const);
publish({
  bench: 'raster-memory',
  command: `./run bench raster-memory --requests ${requests}`,
  about: `Resident memory while ${CLIENTS} clients ask for ${requests.toLocaleString('en')} different windows of a SYNTHETIC COG of ${SIDE} x ${SIDE} pixels: as stored, reprojected, as PNG, one band; every hundredth has 3400 x 3400 pixels and goes through a file. GDAL's block cache of 256 MB fills first. Plot: [raster-memory.svg](results/raster-memory.svg).`,
  figures: quarters.map(([from, to]) => ({
    name: `requests ${from * requests} to ${to * requests}`,
    rounds: { 'engine MB': part(from, to, 'engineMb'), 'gateway MB': part(from, to, 'gatewayMb') },
  })),
  ratios: (Object.keys(PROCESSES) as (keyof typeof PROCESSES)[]).map((name) => ({
    what: `${name.slice(0, -2)}, half of the requests / the last quarter (1: flat)`,
    rounds: [median(part(0.25, 0.5, name)) / median(part(0.75, 1, name))],
    goal: 0.9,
  })),
  notes: [
    `most at any look: engine ${Math.max(...looks.map(({ engineMb }) => engineMb)).toFixed(0)} MB, gateway ${Math.max(...looks.map(({ gatewayMb }) => gatewayMb)).toFixed(0)} MB`,
  ],
});
process.exit(0);
