import { closeSync, existsSync, openSync, readFileSync, renameSync, utimesSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import Database from '../../../dist/native/sqlite.js';
import { FileLedger, isUnnoted } from '../../../dist/workers/files/file-ledger.js';

/** Replaces an edited file on a full disk, and prints what the ledger made of its log. Usage: FOLDER room|none */

const [, , folder, room] = process.argv;
const path = join(folder, 'town.db');
const draft = join(folder, 'draft.db');

/** Takes what is left of the disk, to the last block. */
function fill() {
  const file = openSync(join(folder, 'filler'), 'a');
  for (const size of [1 << 16, 1]) {
    try {
      while (writeSync(file, Buffer.alloc(size)) === size);
    } catch (error) {
      if (error.code !== 'ENOSPC') throw error;
    }
  }
  closeSync(file);
}

function make(file) {
  const db = new Database(file);
  db.exec('CREATE TABLE spots (id INTEGER PRIMARY KEY, name TEXT)');
  return db;
}

/** Keeps the log of the ledger from beginning anew, until the disk has no room for another note. */
function exhaust(ledger, file) {
  const reader = new Database(join(folder, 'write-ahead-logs', 'ledger.db'));
  reader.exec('BEGIN; SELECT * FROM files;');
  reader.prepare('SELECT count(*) FROM files').get();
  for (let second = 1; second < 1000; second++) {
    utimesSync(file, second, second);
    if (isUnnoted(ledger.settle(file))) return;
  }
  throw new Error('the ledger has room without end');
}

make(draft).close();
make(join(folder, 'other.db')).close();
const db = make(path);
const ledger = new FileLedger(folder, 0);
ledger.claim(join(folder, 'other.db'), false);
ledger.claim(path, false);
ledger.addLog(path, db);
db.pragma('wal_autocheckpoint = 0');
for (let i = 0; i < 50; i++) db.prepare('INSERT INTO spots (name) VALUES (?)').run('acknowledged');
fill();
if (room === 'none') exhaust(ledger, join(folder, 'other.db'));
const former = ledger.settle(path);
renameSync(draft, path);
const settled = ledger.settle(path);
const [finding] = ledger.takeFindings();
console.log(
  JSON.stringify({
    raised: settled.generation - former.generation,
    isUnnoted: isUnnoted(settled),
    kind: finding?.kind,
    hasEdits: finding?.kept ? readFileSync(finding.kept).includes('acknowledged') : false,
    hasLog: existsSync(`${path}-wal`),
  }),
);
