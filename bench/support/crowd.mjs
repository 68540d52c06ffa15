/**
 * Clients that ask again as soon as they are answered, whatever the answer is: milliseconds of each answer of 200, and how
 * many others there were, by status. Told over IPC how many clients to be, and for how long.
 */
import { Agent, get } from 'node:http';

const [origin, ...paths] = process.argv.slice(2);

function ask(agent, path) {
  return new Promise((resolve, reject) => {
    const began = performance.now();
    get(origin + path, { agent }, (response) => {
      response.resume();
      response.on('end', () => resolve({ status: response.statusCode, ms: performance.now() - began }));
    }).on('error', reject);
  });
}

process.on('message', async ({ clients, seconds }) => {
  const agent = new Agent({ keepAlive: true, maxSockets: clients });
  const end = performance.now() + seconds * 1000;
  const answered = [];
  const others = {};
  let next = 0;
  const one = async () => {
    while (performance.now() < end) {
      const { status, ms } = await ask(agent, paths[next++ % paths.length]);
      if (status === 200) answered.push(ms);
      else others[status] = (others[status] ?? 0) + 1;
    }
  };
  await Promise.all(Array.from({ length: clients }, one));
  agent.destroy();
  process.send({ answered, others });
});
process.send({ ready: true });
