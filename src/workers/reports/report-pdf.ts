import { buffer } from 'node:stream/consumers';
import PDFDocument from 'pdfkit';
import type { ComplianceReport, ControlReport } from '../../core/compliance/compliance.js';
import { fontPath } from '../styles/symbols/font-files.js';
import { divideByFont, PAGE_FONT } from '../styles/symbols/font-runs.js';

type Page = InstanceType<typeof PDFDocument>;

const INK = '#1a1a1a';
const MUTED = '#595959';
const BODY = 9;

/** Writes a compliance report on A4 pages. */
export async function writeReportPdf(report: ComplianceReport): Promise<Uint8Array> {
  const page = new PDFDocument({
    size: 'A4',
    margin: 50,
    font: fontPath(PAGE_FONT),
    compress: true,
    info: { Title: 'Compliance report', Producer: 'Graticule' },
  });
  const bytes = buffer(page);
  writeHead(page, report);
  for (const control of report.dashboard.controls) writeControl(page, control);
  writeDays(page, report);
  page.end();
  const whole = await bytes;
  return new Uint8Array(
    whole.buffer.slice(whole.byteOffset, whole.byteOffset + whole.byteLength) as ArrayBuffer,
  );
}

function writeHead(page: Page, { dashboard, from, to }: ComplianceReport): void {
  const { generatedAt, serverVersion, summary, encryption, residency } = dashboard;
  write(page, 'Compliance report', 18);
  write(page, `Graticule ${serverVersion}, ${iso(generatedAt)}`);
  write(page, `Stored evidence from ${from} to ${to}`);
  heading(page, 'Summary');
  fields(page, {
    ...summary,
    readinessPercent: `${summary.readinessPercent} % (partially implemented controls count half)`,
  });
  heading(page, 'Encryption');
  fields(page, {
    ...encryption,
    activeKeyIssuedAt: optionalTime(encryption.activeKeyIssuedAt),
    lastRotationAt: optionalTime(encryption.lastRotationAt),
  });
  heading(page, 'Residency');
  fields(page, residency);
  heading(page, 'Controls');
}

function writeControl(page: Page, control: ControlReport): void {
  const { controlId, framework, title, status, description, gaps, evidence, relatedControls } = control;
  page.moveDown(0.6);
  write(page, `${controlId} ${title} (${framework}): ${status}`, 11);
  write(page, description);
  for (const { claim, detail, source, status: found, collectedAt } of evidence) {
    write(page, `${found}: ${claim} ${detail}`, BODY, INK, 12);
    write(page, `Source: ${source}, ${iso(collectedAt)}`, BODY - 1, MUTED, 12);
  }
  for (const gap of gaps) write(page, `Gap: ${gap}`, BODY, INK, 12);
  if (relatedControls.length > 0)
    write(page, `Related controls: ${relatedControls.join(', ')}`, BODY - 1, MUTED, 12);
}

function writeDays(page: Page, { days }: ComplianceReport): void {
  heading(page, 'Stored evidence by day');
  if (days.length === 0) write(page, 'There is no stored evidence of this period.');
  for (const { day, controlId, status, collectedAt, digest } of days) {
    write(page, `${day} ${controlId}: ${status}, collected ${iso(collectedAt)}`);
    write(page, `SHA-256 ${digest}`, BODY - 2, MUTED, 12);
  }
}

function heading(page: Page, text: string): void {
  page.moveDown(0.8);
  write(page, text, 13);
}

function fields(page: Page, values: object): void {
  for (const [name, value] of Object.entries(values)) {
    const text = Array.isArray(value) ? value.join(', ') : String(value ?? '–');
    write(page, `${name}: ${text === '' ? '–' : text}`);
  }
}

/** Writes a paragraph, each character in the first font that contains it. */
function write(page: Page, text: string, size = BODY, color = INK, indent = 0): void {
  const runs = divideByFont(text.replace(/\s+/g, ' '));
  page.fontSize(size).fillColor(color);
  const x = page.page.margins.left + indent;
  const width = page.page.width - page.page.margins.right - x;
  for (const [i, { face, text: part }] of runs.entries()) {
    page.font(fontPath(face));
    const options = { width, continued: i < runs.length - 1 };
    if (i === 0) page.text(part, x, undefined, options);
    else page.text(part, options);
  }
}

const iso = (time: number) => new Date(time).toISOString();
const optionalTime = (time: number | null) => (time === null ? null : iso(time));
