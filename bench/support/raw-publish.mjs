/** The limit for fan-out: uWebSockets.js publishes the same text to all who are connected. */
import { uwsPackage } from '../../dist/core/kit/runtime.js';

const { default: uWS } = await import(uwsPackage(process.version));
const [port, bytes] = process.argv.slice(2);
const text = 'x'.repeat(Number(bytes));
const app = uWS.App();
app
  .ws('/stream', {
    maxBackpressure: 64 * 1024 * 1024,
    open: (ws) => void ws.subscribe('all'),
  })
  .get('/publish', (res, req) => {
    let left = Number(new URLSearchParams(req.getQuery()).get('n'));
    res.end('ok');
    const some = () => {
      for (let i = 0; i < 200 && left > 0; i++, left--) app.publish('all', text);
      if (left > 0) setImmediate(some);
    };
    setImmediate(some);
  })
  .any('/*', (res) => res.end('ready'))
  .listen('127.0.0.1', Number(port), (socket) => {
    if (!socket) process.exit(1);
  });
