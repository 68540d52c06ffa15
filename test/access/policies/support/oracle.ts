import type { Values } from './database.js';

export interface Layer {
  readonly id: string;
  readonly layerId: number;
}

export type Audience =
  | 'anonymous'
  | 'reader'
  | 'limited'
  | 'claimless'
  | 'unfit'
  | 'masked'
  | 'nulled'
  | 'hashed'
  | 'truncated'
  | 'both'
  | 'revoked'
  | 'administrator';

/** Whose attributes are there, with other values than those that are stored. */
export const TREATED: readonly Audience[] = ['nulled', 'hashed', 'truncated'];

/** A row with the texts that give it away. */
export interface Row {
  readonly id: number;
  readonly level: number;
  readonly token: string;
  readonly note: string;
  readonly amount: string;
  readonly lon: number;
  readonly lat: number;
}

/** Callers of the role of the limited: without claims, and with a value that no level can have. They have no row. */
export const ROWLESS: readonly Audience[] = ['claimless', 'unfit'];

/** What one may know of a table. */
export interface Known {
  readonly audience: Audience;
  /** Undefined: the table is not theirs to read. */
  readonly refusal: number | undefined;
  readonly rows: readonly Row[];
  /** Rows that do not exist for them. */
  readonly hiddenRows: readonly Row[];
  /** The values of the two attributes are not theirs to know. */
  readonly isMasked: boolean;
  /** The attributes are told of all the same. */
  readonly isTreated: boolean;
  /** Texts that must not be in any answer. */
  readonly hidden: readonly string[];
  /** Box around the rows. */
  readonly box: readonly [number, number, number, number];
}

/** Rows that the claims of the limited let through, as SQL says it. */
const LIMITED = `country IN ('CHE', 'FRA') AND level IN (1, 2)`;

const HIDDEN_NAMES = ['hidden_note', 'hidden_amount'];

/** Says by SQL over the table what callers may know. */
export class Oracle {
  private constructor(
    private readonly all: readonly Row[],
    private readonly limited: readonly Row[],
  ) {}

  static async read(query: (sql: string) => Promise<Values[]>, table: string): Promise<Oracle> {
    const columns = 'id, level, token, hidden_note, hidden_amount, ST_X(geom) AS lon, ST_Y(geom) AS lat';
    const rows = (where: string) => query(`SELECT ${columns} FROM ${table} WHERE ${where} ORDER BY id`);
    return new Oracle((await rows('true')).map(rowOf), (await rows(LIMITED)).map(rowOf));
  }

  known(audience: Audience, table: string): Known {
    const isOpen = table !== 'sites';
    const rows = isOpen ? this.all : this.#rowsOf(audience);
    const isTreated = !isOpen && TREATED.includes(audience);
    const isMasked = isTreated || (!isOpen && (audience === 'masked' || audience === 'both'));
    const hiddenRows = this.all.filter((row) => !rows.some(({ id }) => id === row.id));
    const refusal = refusalOf(audience, table);
    const hidden = [
      ...hiddenRows.flatMap(tracesOf),
      ...(isMasked ? this.all.flatMap(({ note, amount }) => [note, amount]) : []),
      ...(isMasked && !isTreated ? HIDDEN_NAMES : []),
      ...(refusal === undefined ? [] : this.all.flatMap(tracesOf)),
    ];
    return { audience, refusal, rows, hiddenRows, isMasked, isTreated, hidden, box: boxAround(rows) };
  }

  #rowsOf(audience: Audience): readonly Row[] {
    if (ROWLESS.includes(audience)) return [];
    return audience === 'limited' || audience === 'both' ? this.limited : this.all;
  }
}

function refusalOf(audience: Audience, table: string): number | undefined {
  if (audience === 'revoked') return 401;
  if (table !== 'closed' || audience === 'administrator' || audience === 'reader') return undefined;
  return audience === 'anonymous' ? 401 : 403;
}

function rowOf(values: Values): Row {
  return {
    id: Number(values['id']),
    level: Number(values['level']),
    token: String(values['token']),
    note: String(values['hidden_note']),
    amount: String(values['hidden_amount']),
    lon: Number(values['lon']),
    lat: Number(values['lat']),
  };
}

/** The texts of a row, and its coordinates as far as answers round them. */
function tracesOf({ token, note, amount, lon, lat }: Row): string[] {
  return [token, note, amount, lon.toFixed(5).slice(0, -1), lat.toFixed(5).slice(0, -1)];
}

/** The world where there is no row. */
function boxAround(rows: readonly Row[]): [number, number, number, number] {
  if (rows.length === 0) return [-180, -90, 180, 90];
  const [lons, lats] = [rows.map(({ lon }) => lon), rows.map(({ lat }) => lat)];
  return [Math.min(...lons), Math.min(...lats), Math.max(...lons), Math.max(...lats)];
}
