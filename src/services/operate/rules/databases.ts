import { hasFeatures } from '../../../core/catalog/abilities.js';
import type { CatalogSnapshot } from '../../../core/catalog/collection.js';
import { withoutPassword } from '../../../core/sources/database-url.js';
import type { PostgisSource, VectorSource } from '../../../core/sources/vector-source.js';
import type { TableStatistics } from '../../../core/tasks/table-tasks.js';
import type { Pools } from '../../../core/tasks/tasks.js';
import { groupItems } from '../../../core/values/group-items.js';
import { shareWork } from '../../kit/shared-work.js';
import type { FindingDraft, Inspection, OpsRule } from '../findings/finding.js';

export interface DatabaseRuleDeps {
  catalog(): CatalogSnapshot;
  readonly pools: Pick<Pools, 'run'>;
}

/** A published table with its statistics. */
interface Table {
  /** The collections of the table, in their order. */
  readonly collections: readonly string[];
  readonly source: PostgisSource;
  readonly statistics: TableStatistics;
}

interface DatabaseReport {
  readonly tables: readonly Table[];
  readonly silent: readonly string[];
}

/** Rows from which a spatial index is worth its writes: smaller tables are read as fast without it. */
const INDEXED_ROWS = 2000;
/** Rows from which old statistics can lead to a bad plan. */
const ANALYSED_ROWS = 1000;
/** Part of the rows that changed since the last analysis. PostgreSQL analyses automatically at a tenth. */
const STALE_PART = 0.2;
const DEADLINE_MS = 3000;

/** Advice about tables of databases. The server does not change the schemas of databases of other owners. */
export function createDatabaseRules(deps: DatabaseRuleDeps): OpsRule[] {
  const read = shareWork(() => readTables(deps));
  const rule = (name: string, describe: (table: Table) => FindingDraft | undefined): OpsRule => ({
    name,
    async inspect(): Promise<Inspection> {
      const { tables, silent } = await read();
      return { findings: tables.flatMap((table) => describe(table) ?? []), silent };
    },
  });
  return [rule('spatial-index-missing', adviseIndex), rule('statistics-stale', adviseAnalysis)];
}

async function readTables({ catalog, pools }: DatabaseRuleDeps): Promise<DatabaseReport> {
  const databases = groupItems(
    catalog().collections.flatMap((one) => {
      if (!hasFeatures(one) || !isOfDatabase(one.source)) return [];
      return [{ id: one.id, source: one.source }];
    }),
    ({ source }) => source.database,
  );
  const silent: string[] = [];
  const reports = await Promise.all(
    [...databases].map(async ([database, layers]) => {
      const byTable = [
        ...groupItems(layers, ({ source: { schema, table, geometryColumn } }) =>
          JSON.stringify([schema, table, geometryColumn]),
        ).values(),
      ];
      const tables = byTable.map((same) => {
        const { schema, table, geometryColumn } = same[0]!.source;
        return { schema, table, geometryColumn: geometryColumn ?? '' };
      });
      try {
        const all = await pools.run(
          'vector.table-statistics',
          { database, tables },
          { deadlineMs: DEADLINE_MS },
        );
        return byTable.flatMap((same, i): Table[] => {
          const statistics = all[i];
          if (!statistics) return [];
          return [{ collections: same.map(({ id }) => id), source: same[0]!.source, statistics }];
        });
      } catch {
        silent.push(withoutPassword(database));
        return [];
      }
    }),
  );
  return { tables: reports.flat(), silent };
}

function adviseIndex({ collections, source, statistics }: Table): FindingDraft | undefined {
  const { isTable, hasSpatialIndex, rows, bytes, sequentialScans, rowsReadBySequentialScans, writes } =
    statistics;
  const { geometryColumn } = source;
  if (!isTable || hasSpatialIndex || rows < INDEXED_ROWS || geometryColumn === undefined) return undefined;
  const name = `${source.schema}.${source.table}`;
  const statement = `CREATE INDEX CONCURRENTLY ON ${quote(source)} USING gist (${quoteName(geometryColumn)})`;
  return {
    subject: { targetId: `table:${name}`, ...describeWorkload(source) },
    severity: 'Warning',
    title: `Table ${name} has no spatial index`,
    explanation: [
      `Each request for a part of ${collections.join(', ')} reads all of its ${describeCount(rows)} rows (${describeSize(bytes)}).`,
      `PostgreSQL read the whole table ${describeCount(sequentialScans)} times, ${describeCount(rowsReadBySequentialScans)} rows in sum; ${describeCount(writes)} rows were written, and each write would also change the index.`,
      `The owner of the table can run: ${statement}`,
    ].join(' '),
    evidenceRefs: [`table:${name}`, ...collections.map((id) => `collection:${id}`)],
    facts: { table: name, column: geometryColumn, hasSpatialIndex, statement },
  };
}

function adviseAnalysis({ collections, source, statistics }: Table): FindingDraft | undefined {
  const { isTable, rows, analysedRows, analysedAt, changesSinceAnalysis } = statistics;
  if (!isTable || rows < ANALYSED_ROWS) return undefined;
  const wasAnalysed = analysedRows !== null;
  if (wasAnalysed && changesSinceAnalysis < rows * STALE_PART) return undefined;
  const name = `${source.schema}.${source.table}`;
  const statement = `ANALYZE ${quote(source)}`;
  const since = analysedAt === null ? '' : ` at ${new Date(analysedAt).toISOString()}`;
  return {
    subject: { targetId: `table:${name}`, ...describeWorkload(source) },
    severity: 'Info',
    title: `The statistics of table ${name} are old`,
    explanation: [
      wasAnalysed
        ? `${describeCount(changesSinceAnalysis)} of ${describeCount(rows)} rows changed since the last analysis${since}.`
        : `The table has ${describeCount(rows)} rows and was never analysed.`,
      'PostgreSQL can choose a slow plan, and counts that are estimated are wrong.',
      `The owner of the table can run: ${statement}`,
    ].join(' '),
    evidenceRefs: [`table:${name}`, ...collections.map((id) => `collection:${id}`)],
    facts: { table: name, wasAnalysed, statement },
  };
}

const isOfDatabase = (source: VectorSource): source is PostgisSource => source.database !== undefined;

/** A name in SQL that a person runs. */
const quoteName = (name: string) => `"${name.replaceAll('"', '""')}"`;
const quote = ({ schema, table }: PostgisSource) => `${quoteName(schema)}.${quoteName(table)}`;

/** Tables of the same name in several databases are different subjects. */
const describeWorkload = ({ database }: PostgisSource) => ({ workloadId: withoutPassword(database) });

const describeCount = (count: number) => Math.round(count).toLocaleString('en-US');
const describeSize = (bytes: number) => `${(bytes / 2 ** 20).toFixed(1)} MiB`;
