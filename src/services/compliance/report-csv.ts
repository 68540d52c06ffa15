import type { ComplianceReport } from '../../core/compliance/compliance.js';
import { csvRecord } from '../../core/values/csv.js';

const HEADER = [
  ...['record', 'day', 'controlId', 'framework', 'title', 'status', 'claim', 'detail', 'source'],
  ...['collectedAt', 'gaps', 'digest'],
];

/**
 * A report as CSV: a record for the server, for each control, for each piece of evidence, and for each stored day of a
 * control. Spreadsheets cannot take a value for a formula.
 */
export function writeReportCsv({ dashboard, from, to, days }: ComplianceReport): string {
  const { generatedAt, serverVersion, summary, encryption, residency, controls } = dashboard;
  const records: string[][] = [HEADER];
  const about = (detail: string, claim: string) =>
    records.push(['server', '', '', '', '', '', claim, detail, '', iso(generatedAt), '', '']);
  about(serverVersion, 'serverVersion');
  about(`${from}/${to}`, 'period');
  for (const [name, value] of Object.entries({ ...summary, ...encryption, ...residency }))
    about(format(value), name);
  for (const { controlId, framework, title, status, description, gaps, evidence } of controls) {
    const control = ['', controlId, framework, title];
    records.push(['control', ...control, status, '', description, '', '', gaps.join(' | '), '']);
    for (const one of evidence)
      records.push([
        ...['evidence', ...control, one.status, one.claim, one.detail, one.source, iso(one.collectedAt)],
        ...['', ''],
      ]);
  }
  for (const { day, controlId, status, collectedAt, digest } of days)
    records.push(['day', day, controlId, '', '', status, '', '', '', iso(collectedAt), '', digest]);
  return records.map((record) => csvRecord(record)).join('');
}

const iso = (time: number) => new Date(time).toISOString();

function format(value: unknown): string {
  if (Array.isArray(value)) return value.join(', ');
  return value === null ? '' : String(value);
}
