/**
 * Preloaded into every process and thread of a server (bench/ways.bench.ts): takes the coverage of V8 and resets its
 * counters whenever the file that WAYS_SIGNAL names has another text.
 */
const { readFileSync } = require('node:fs');
const { takeCoverage } = require('node:v8');

const POLL_MS = 20;
const { WAYS_SIGNAL: path } = process.env;

const read = () => {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
};

if (path) {
  let taken = read();
  setInterval(() => {
    const signal = read();
    if (signal === taken) return;
    taken = signal;
    takeCoverage();
  }, POLL_MS).unref();
}
