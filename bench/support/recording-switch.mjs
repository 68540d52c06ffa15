import { createRequire } from 'node:module';

/**
 * Loaded before a server: SIGUSR2 turns the recording of latency off and on again. The switch is put into the text of
 * the bundle, so the server itself has none.
 */
const METHOD = 'record(ms, isError) {';
const vm = createRequire(import.meta.url)('node:vm');

class SwitchedScript extends vm.Script {
  constructor(text, options) {
    if (!text.includes(METHOD)) super(text, options);
    // Compiled code belongs to the former text.
    else
      super(text.replace(METHOD, `${METHOD} if (globalThis.isRecordingOff) return;`), {
        filename: options.filename,
      });
  }
}
vm.Script = SwitchedScript;
process.on('SIGUSR2', () => {
  globalThis.isRecordingOff = !globalThis.isRecordingOff;
});
