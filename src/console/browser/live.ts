import { type FeatureChange, FeatureStream, type StreamState } from '../../client/index.js';
import type { LiveData } from '../../core/catalog/page-data.js';
import { Flashes } from './live/flashes.js';
import { LiveList } from './live/live-list.js';
import { onThisOrigin, pageData } from './page.js';
import { startMap } from './start.js';

/** Follows the collections of the page: counts, lists and flashes what changes. */
const place = document.querySelector<HTMLElement>('[data-map]');
if (place) void follow(place);

async function follow(element: HTMLElement): Promise<void> {
  const data = pageData<LiveData>('live-data');
  const map = await startMap(element);
  const flashes = map && new Flashes(map, element, data.layers);
  const list = new LiveList(data, (change) => flashes?.show(change));
  let waiting: FeatureChange[] = [];
  // However much comes, the page is written to once per frame.
  const flush = () => {
    const changes = waiting;
    waiting = [];
    list.add(changes);
    flashes?.add(changes);
  };
  const stream = new FeatureStream(onThisOrigin(data.stream, data.baseUrl), {
    clientLabel: 'live page',
    onState,
  });
  stream.subscribe(
    { layers: data.layers.map(({ layerId }) => layerId) },
    {
      onFrame(frame) {
        if (frame.type !== 'feature-change') return;
        count(frame.operation);
        if (waiting.push(frame) === 1) requestAnimationFrame(flush);
      },
      onGap() {
        count('gap');
        flashes?.refreshAll();
      },
      onError: ({ message }) => tell('failed', `The server rejected the subscription: ${message}`),
    },
  );
}

const STATES: Record<StreamState, string> = {
  connecting: 'Connecting…',
  open: 'Connected. New changes appear here.',
  waiting: 'The connection was interrupted. The page reconnects automatically and loads missed changes.',
  closed: 'Not connected.',
};
let opened = false;

function onState(state: StreamState): void {
  if (state === 'open' && opened) count('reconnect');
  opened ||= state === 'open';
  tell(state, STATES[state]);
}

function tell(state: string, text: string): void {
  const element = document.querySelector<HTMLElement>('[data-live-state]');
  if (!element) return;
  element.dataset.liveState = state;
  element.textContent = text;
}

function count(name: string): void {
  const element = document.querySelector(`[data-live-count="${name}"]`);
  if (element) element.textContent = String(Number(element.textContent) + 1);
}
