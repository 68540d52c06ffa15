import { BASE_PATH, type OperationGroup, type OperationRow } from '../../admin/kit.js';

/** Markdown table of the management operations and their support, made from their declarations. */
export function supportTable(groups: readonly OperationGroup[]): string {
  const rows = groups.flatMap((group) => group.rows);
  const built = rows.filter(works).length;
  return [
    '# Support of the management API',
    '',
    `${built} of ${rows.length} operations below \`${BASE_PATH}\` work; the others answer 501 with a problem document.`,
    'This file is generated from the declarations: `node dist/gateway/start/support.js > docs/reference/apis/operations.md`.',
    ...[...byTag(groups)].flatMap(([tag, members]) => section(tag, members)),
    '',
  ].join('\n');
}

function byTag(groups: readonly OperationGroup[]): Map<string, OperationRow[]> {
  const tags = new Map<string, OperationRow[]>();
  for (const { tag, rows } of groups) tags.set(tag, [...(tags.get(tag) ?? []), ...rows]);
  return tags;
}

function section(tag: string, rows: readonly OperationRow[]): string[] {
  const done = rows.filter(works).length;
  const lines = rows.map(
    (row) => `| ${row.method} | \`${row.path}\` | ${row.summary} | ${works(row) ? 'yes' : '-'} |`,
  );
  return [
    '',
    `## ${tag} (${done} of ${rows.length})`,
    '',
    '| Method | Path | Operation | Works |',
    '|---|---|---|---|',
    ...lines,
  ];
}

function works(row: OperationRow): boolean {
  return row.implementation !== undefined;
}
