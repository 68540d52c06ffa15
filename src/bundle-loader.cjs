const { chmodSync, existsSync, readFileSync, renameSync, writeFileSync } = require('node:fs');
const { createRequire } = require('node:module');
const { dirname } = require('node:path');
const { Script } = require('node:vm');

/** Names a file: when it exists, every bundle that is loaded writes its compiled code next to itself (compile-cache.mjs). */
const RECORD_VARIABLE = 'GRATICULE_RECORD_COMPILED';
const RECORD_MS = 50;

/**
 * Runs a bundle of src/bundle.mjs and returns its exports. Compiled code next to it, in `<bundle>.compiled`, makes this
 * several times faster; code of another version of V8, or with other flags, is ignored.
 */
module.exports = function loadBundle(file) {
  const compiled = `${file}.compiled`;
  const text = readFileSync(file, 'latin1');
  const script = new Script(`(function (exports, require, module, __filename, __dirname) {${text}\n})`, {
    filename: file,
    ...(existsSync(compiled) ? { cachedData: readFileSync(compiled) } : {}),
  });
  const module = { exports: {} };
  const record = process.env[RECORD_VARIABLE];
  if (record) recordCompiled(script, compiled, record);
  script.runInThisContext()(module.exports, createRequire(file), module, file, dirname(file));
  return module.exports;
};

function recordCompiled(script, path, signal) {
  const timer = setInterval(() => {
    if (!existsSync(signal)) return;
    clearInterval(timer);
    const part = `${path}.${process.pid}`;
    writeFileSync(part, script.createCachedData());
    // The server writes files for its user alone; programs are for all.
    chmodSync(part, 0o644);
    renameSync(part, path);
  }, RECORD_MS);
  timer.unref();
}
