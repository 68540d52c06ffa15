import { setImmediate as others } from 'node:timers/promises';
import { isAroundEarth, mergeChanges } from '../../../core/edits/edit-areas.js';
import type { CollectionChange, FeatureInput } from '../../../core/edits/edits.js';
import { EDIT_LIMITS } from '../../../core/edits/limits.js';
import type { FileForm, MergeCounts, MergeResult, MergeTask } from '../../../core/edits/merges.js';
import { findField } from '../../../core/features/features.js';
import { LIMITS } from '../../../core/kit/limits.js';
import type { Field } from '../../../core/sources/vector-source.js';
import { hasDoubleDigits } from '../../../core/values/exact-number.js';
import { type JsonText, membersIn, sameJson } from '../../../core/values/json-text.js';
import { hasLongitudes } from '../../../native/index.js';
import type { Cancellation } from '../../threads/cancellation.js';
import { movedOut, requireNoLoss, updateRow } from '../apply.js';
import { deletion, insertion, update } from '../events.js';
import { eventsKept } from '../retention.js';
import { isRoundedGeometry } from '../same-geometry.js';
import {
  EditRefusal,
  type GeometryForm,
  type NewEvent,
  rowsNotDeleted,
  type StoredFeature,
} from '../session.js';
import type { MergeSession } from './session.js';
import type { MatchedRow, MergeSpool, RowContent } from './spool.js';

/** Keys that one question has, and features of one deletion. */
const KEYS = 10_000;
const FEATURES = 500;
/** Decimal places that distinguish any two stored positions. */
const EXACT = 15;
/** Decimal places of exports and pages. */
const IN_DEGREES = [9, 7];
const IN_METRES = [4, 3];

interface Merge {
  session: MergeSession;
  task: MergeTask;
  spool: MergeSpool;
  cancellation: Cancellation | undefined;
}

/** The row that ends a merge. */
interface RefusedRow {
  row: number;
  reason: string;
}

type Change = Parameters<typeof mergeChanges>[0][number];

/** Writes rows and events, and returns the changes. Returns the refused row if no row may be skipped. */
export async function writeRows(merge: Merge): Promise<MergeResult | RefusedRow> {
  const { session, task, spool, cancellation } = merge;
  const { mode, keyField } = task.request;
  if (mode !== 'append') await session.lock();
  if (mode === 'upsert') await matchKeys(merge, keyField!);
  const writer = new RowWriter(merge, await areTold(merge));
  if (mode === 'replace') await writer.clear();
  const count = new Int32Array(task.count);
  for (const page of spool.rows()) {
    for (const row of page) {
      cancellation?.check();
      const refusal = await writer.write(row);
      if (refusal && !task.request.rejectRows) return refusal;
      Atomics.add(count, 0, 1);
    }
    // Database tasks also run on this thread.
    await others();
  }
  const change = await writer.record();
  return { ...buildMergeResult(writer.counts, spool), ...(change ? { change } : {}) };
}

export function buildMergeResult(counts: MergeCounts, spool: MergeSpool): MergeResult {
  return {
    ...counts,
    rejected: spool.rejectedCount,
    rejections: [...spool.rejected(LIMITS.mergeNamed)],
  };
}

async function matchKeys({ session, spool, cancellation }: Merge, keyField: string): Promise<void> {
  for (const keys of spool.keys(KEYS)) {
    cancellation?.check();
    for (const [key, id] of await session.find(keyField, keys)) spool.match(key, id);
  }
}

/** Whether each change gets a separate event. */
async function areTold({ session, task, spool }: Merge): Promise<boolean> {
  const most = Math.min(EDIT_LIMITS.mergeEvents, eventsKept().count);
  const rows = spool.count;
  if (rows > most || task.request.mode !== 'replace') return rows <= most;
  return rows + (await session.count(most + 1)) <= most;
}

class RowWriter {
  readonly counts: MergeCounts = { inserted: 0, updated: 0, unchanged: 0, deleted: 0, rejected: 0 };
  readonly #merge: Merge;
  readonly #isTold: boolean;
  /** Geometries as the file would have them with all digits. */
  readonly #shape: GeometryForm;
  readonly #form: FileForm;
  readonly #places: readonly number[];
  /** Published changes, without their long members. */
  readonly #changes: Change[] = [];

  constructor(merge: Merge, isTold: boolean) {
    this.#merge = merge;
    this.#isTold = isTold;
    const { crs, form } = merge.spool;
    this.#form = form;
    this.#shape = { crs, swapAxes: false, precision: EXACT };
    this.#places = hasLongitudes(crs) ? IN_DEGREES : IN_METRES;
  }

  /** Takes away all that was there. */
  async clear(): Promise<void> {
    const { session, cancellation } = this.#merge;
    const { edits } = session;
    if (!this.#isTold) {
      this.counts.deleted = await session.clear();
      if ((await session.count(1)) > 0) throw rowsNotDeleted();
      return;
    }
    for (let ids = await session.some(FEATURES); ids.length > 0; ids = await session.some(FEATURES)) {
      for (const id of ids) {
        cancellation?.check();
        const before = await edits.read(id);
        if (!before) throw new EditRefusal('conflict', 'Another edit changed the same features. Retry.');
        await edits.delete(id);
        this.counts.deleted++;
        this.#tell(deletion(before));
      }
    }
  }

  /** Writes a row. Returns the problem of a refused row, which then has changed no data. */
  async write(row: MatchedRow): Promise<RefusedRow | undefined> {
    const { session, task, spool } = this.#merge;
    const { edits } = session;
    const isAlone = task.request.rejectRows || row.match !== undefined;
    if (isAlone) await edits.savepoint();
    try {
      const isKept = await this.#apply(row);
      if (isAlone) await (isKept ? edits.keep() : edits.undo());
      return undefined;
    } catch (error) {
      if (!(error instanceof EditRefusal)) throw error;
      if (isAlone) await edits.undo();
      const { message, errors = [{ name: '', detail: message }] } = error;
      spool.reject({ row: row.row, id: row.fileId, reasons: errors });
      return { row: row.row, reason: message };
    }
  }

  /** Returns false if there are no changes to keep. */
  async #apply(row: MatchedRow): Promise<boolean> {
    if (row.isAmbiguous) throw new EditRefusal('conflict', 'Several features have this key.');
    if (row.match === undefined) await this.#insert(row);
    else return this.#update(row, row.match);
    return true;
  }

  async #insert({ id: newId, geometry = null, values, wrongValues }: MatchedRow): Promise<void> {
    if (wrongValues) throw EditRefusal.members([...wrongValues.values()]);
    const { session, task } = this.#merge;
    const { edits } = session;
    if (newId !== undefined && (await edits.exists(newId)))
      throw new EditRefusal('conflict', `The feature '${newId.slice(0, 100)}' already exists.`);
    const id = await edits.insert(newId, { geometry, values, reset: [] });
    if (this.#isTold || task.filter !== undefined) {
      const after = await edits.read(id);
      if (!after) throw movedOut();
      this.#tell(insertion(after));
    }
    this.counts.inserted++;
  }

  async #update(matched: MatchedRow, id: string): Promise<boolean> {
    const { session, spool } = this.#merge;
    const { edits } = session;
    const { row, geometry, sent = {} } = matched;
    const other = spool.writerOf(id);
    if (other !== undefined) throw new EditRefusal('conflict', `Row ${other} is of the same feature.`);
    const before = await edits.read(id, this.#shape);
    if (!before) throw new EditRefusal('forbidden', 'This key belongs to a feature that you may not change.');
    requireNoLoss(before, geometry);
    const written = isShown(sent, before, this.#places) ? undefined : geometry;
    const changed = this.#changedValues(matched, before);
    const after = await updateRow(edits, before, { geometry: written, values: changed, reset: [] });
    spool.wrote(id, row);
    if (isSame(before, after)) {
      this.counts.unchanged++;
      return false;
    }
    this.#tell(update(before, after));
    this.counts.updated++;
    return true;
  }

  /**
   * Returns the values of a row, except values that equal the stored values as the file can represent them. Throws
   * `EditRefusal` for other values that do not fit their fields.
   */
  #changedValues(matched: MatchedRow, before: StoredFeature): RowContent['values'] {
    const { values, sent = {}, written = {}, wrongValues = new Map(), blanks = [] } = matched;
    const { source } = this.#merge.task;
    const stored = membersIn(before.properties)!;
    const isHeld = (name: string) => {
      const was = stored.get(name);
      if (was === undefined) return false;
      if (blanks.includes(name)) return was === 'null' || was === '""';
      const [now, raw] = [sent.values?.[name], written[name]];
      if ((now !== undefined && sameJson(now, was)) || (raw !== undefined && sameJson(raw, was))) return true;
      return this.#form === 'typed' && isRounded(now, was, findField(source, name)?.type);
    };
    const errors = [...wrongValues].flatMap(([name, error]) => (isHeld(name) ? [] : [error]));
    if (errors.length > 0) throw EditRefusal.members(errors);
    return new Map([...values].filter(([name]) => !isHeld(name)));
  }

  /** Writes the events. Only the commit follows. */
  async record(): Promise<CollectionChange | undefined> {
    const { session, spool } = this.#merge;
    const { inserted, updated, deleted } = this.counts;
    if (inserted + updated + deleted === 0) return undefined;
    if (!this.#isTold) return { cursor: await session.recordGap(), features: inserted - deleted };
    let cursor = 0;
    for (const events of spool.events()) cursor = await session.edits.record(events);
    return mergeChanges(this.#changes, cursor);
  }

  #tell(event: NewEvent): void {
    if (!this.#isTold) return;
    this.#merge.spool.addEvent(event);
    const { operation, geometryChanged, envelopeBefore, envelopeAfter } = event;
    // Most geometries are represented only by their presence, because the box states their position.
    const geometry = event.geometry && (isAroundEarth(envelopeAfter) ? event.geometry : '');
    this.#changes.push({ operation, geometryChanged, envelopeBefore, envelopeAfter, geometry });
  }
}

/**
 * Whether the geometry of a row is the geometry of the stored feature as files and pages show it. The stored geometry
 * then contains more: digits, heights, the type of an empty geometry.
 */
function isShown(
  { geometry }: FeatureInput,
  { shown, loss }: StoredFeature,
  places: readonly number[],
): boolean {
  return (
    geometry !== undefined &&
    shown !== undefined &&
    loss === undefined &&
    isRoundedGeometry(geometry, shown, places)
  );
}

const FINE_TIME = /(\.\d{3})\d+(?=Z")/;

/** Whether a value is the stored one in a column of doubles, or of times in milliseconds. */
function isRounded(sent: JsonText | undefined, stored: JsonText, type: Field['type'] | undefined): boolean {
  if (sent === undefined) return false;
  if (type === 'number')
    return !stored.startsWith('"') && Number(sent) === Number(stored) && hasDoubleDigits(sent);
  return type === 'date-time' && FINE_TIME.test(stored) && isSameTime(sent, stored.replace(FINE_TIME, '$1'));
}

const isSameTime = (sent: JsonText, stored: JsonText): boolean =>
  sent.startsWith('"') &&
  !FINE_TIME.test(sent) &&
  Date.parse(JSON.parse(sent) as string) === Date.parse(JSON.parse(stored) as string);

function isSame(before: StoredFeature, after: StoredFeature): boolean {
  return before.row === after.row;
}
