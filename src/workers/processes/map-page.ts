import { createWriteStream } from 'node:fs';
import { rm } from 'node:fs/promises';
import { pipeline } from 'node:stream/promises';
import PDFDocument from 'pdfkit';
import { barMetres, type Frame, type LegendPart, type MapPageTask } from '../../core/processes/map-pages.js';
import { fontPath } from '../styles/symbols/font-files.js';
import { divideByFont, PAGE_FONT } from '../styles/symbols/font-runs.js';

/** Task `process.map-page`: writes a map with its title, legend, scale and north arrow as a PDF. */

const INK = '#1a1a1a';
const SMALL = 8;

type Page = InstanceType<typeof PDFDocument>;

/** Writes the file, which exists only when it is complete. */
export async function writeMapPage(task: MapPageTask): Promise<undefined> {
  const { layout, title, legend, output } = task;
  const { width, height } = layout;
  const page = new PDFDocument({
    size: [width, height],
    margin: 0,
    font: fontPath(PAGE_FONT),
    compress: true,
    info: { Title: title || 'Map', Producer: 'Graticule' },
  });
  const written = pipeline(page, createWriteStream(output, { flags: 'wx', mode: 0o600 }));
  try {
    page.fillColor(INK);
    if (title !== '') drawText(page, layout.title, title, 16);
    drawMap(page, task);
    drawNorth(page, layout.map, task.north);
    drawLegend(page, layout.legend, legend);
    drawScale(page, task);
    page.end();
    await written;
    return undefined;
  } catch (error) {
    page.destroy();
    await written.catch(() => {});
    await rm(output, { force: true });
    throw error;
  }
}

/** Draws each character in the first font that contains it, like maps do. */
function drawText(page: Page, [x, y, width, height]: Frame, text: string, size: number): void {
  const runs = divideByFont(text);
  page.fontSize(size);
  for (const [i, run] of runs.entries()) {
    page.font(fontPath(run.face));
    // Fonts have different ascents, but letters of all fonts share one baseline.
    const options = { width, height, baseline: 'alphabetic' as const, continued: i < runs.length - 1 };
    if (i === 0) page.text(run.text, x, y + size, options);
    else page.text(run.text, options);
  }
}

function drawMap(page: Page, { layout, map }: MapPageTask): void {
  const [x, y, width, height] = layout.map;
  page.image(Buffer.from(map.buffer, map.byteOffset, map.byteLength), x, y, { width, height });
  page.rect(x, y, width, height).lineWidth(0.7).stroke(INK);
}

const ARROW = 26;

/** In the upper right corner of the map. */
function drawNorth(page: Page, [x, y, width]: Frame, degrees: number): void {
  const [cx, cy] = [x + width - ARROW, y + ARROW];
  page.save().translate(cx, cy).rotate(degrees);
  page
    .circle(0, 0, ARROW * 0.72)
    .fillOpacity(0.8)
    .fill('#ffffff')
    .fillOpacity(1);
  page
    .polygon([0, -ARROW * 0.6], [ARROW * 0.22, ARROW * 0.3], [0, ARROW * 0.16], [-ARROW * 0.22, ARROW * 0.3])
    .fill(INK);
  page
    .fillColor(INK)
    .fontSize(SMALL)
    .text('N', -10, ARROW * 0.3, { width: 20, align: 'center', lineBreak: false });
  page.restore();
}

/** Draws as many parts as fit. */
function drawLegend(page: Page, [x, y, width, height]: Frame, parts: readonly LegendPart[]): void {
  let top = y;
  for (const { title, png, ...size } of parts) {
    const factor = Math.min(1, width / size.width);
    const own = size.height * factor;
    if (top + SMALL * 2 + own > y + height) return;
    drawText(page, [x, top, width, SMALL * 2], title, SMALL + 1);
    const bytes = Buffer.from(png.buffer, png.byteOffset, png.byteLength);
    page.image(bytes, x, top + SMALL * 2, { width: size.width * factor, height: own });
    top += SMALL * 3 + own;
  }
}

const BAR = 4;

/** A bar in two halves, the scale, and whom the data is of. */
function drawScale(page: Page, { layout, metres, note }: MapPageTask): void {
  const [x, y, width, height] = layout.foot;
  const mapWidth = layout.map[2];
  const bar = barMetres(metres);
  const length = (bar / metres) * mapWidth;
  page.rect(x, y, length / 2, BAR).fill(INK);
  page.rect(x, y, length, BAR).lineWidth(0.7).stroke(INK);
  const scale = Math.round(metres / ((mapWidth / 72) * 0.0254));
  const label = bar >= 1000 ? `${bar / 1000} km` : `${bar} m`;
  page.fillColor(INK);
  drawText(page, [x, y + BAR + 2, 200, height], `${label}   1 : ${scale.toLocaleString('en')}`, SMALL);
  const at = x + Math.max(length, 200) + 10;
  drawText(page, [at, y, x + width - at, height], note, SMALL);
}
