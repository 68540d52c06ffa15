import type { AlertsData } from '../../../core/catalog/alert-page-data.js';
import { pageData } from '../page.js';
import { pageMap } from '../page-map.js';
import { connectActions } from './actions.js';
import { AlertMap } from './alert-map.js';
import { revealButtons } from './buttons.js';
import { followAlerts } from './follow.js';

/** The page of alerts: follows the alert stream, and offers what the caller may do. */

/** Shortest time between two updates of the page, in milliseconds. */
const PACE_MS = 1000;

async function start(root: HTMLElement): Promise<void> {
  const data = pageData<AlertsData>('alerts-data');
  let map: AlertMap | undefined;
  const draw = ({ zones, incidents }: AlertsData) => {
    map?.setZones(zones);
    map?.setIncidents(incidents);
  };
  const refresh = createRefresh(root, draw);
  connectActions(root, data, { refresh: () => refresh(), show: (zoneId) => map?.showZone(zoneId) });
  const state = root.querySelector<HTMLElement>('[data-live]');
  if (data.stream !== null && state)
    followAlerts(data.stream, data.cursor, { changed: () => void refresh(), state: tellState(state) });
  const page = await pageMap;
  if (!page) return;
  map = await AlertMap.open(page);
  draw(pageData<AlertsData>('alerts-data'));
}

const STATES = {
  connecting: 'Connecting…',
  open: 'Connected. New alerts appear here.',
  waiting: 'The connection was interrupted. The page reconnects automatically.',
} as const;

const tellState = (element: HTMLElement) => (state: keyof typeof STATES) => {
  element.hidden = false;
  if (element.dataset['liveState'] === state && element.textContent === STATES[state]) return;
  element.dataset['liveState'] = state;
  element.textContent = STATES[state];
};

/**
 * Returns a function that reads the page again and replaces its lists. Only the server writes rows, so an update and a
 * reload give the same page.
 */
function createRefresh(root: HTMLElement, draw: (data: AlertsData) => void): () => Promise<void> {
  let running: Promise<void> | undefined;
  let isWanted = false;
  const run = async () => {
    while (isWanted) {
      isWanted = false;
      const earliest = new Promise((resolve) => setTimeout(resolve, PACE_MS));
      await update(root, draw);
      if (isWanted) await earliest;
    }
  };
  return () => {
    isWanted = true;
    running ??= run().finally(() => {
      running = undefined;
    });
    return running;
  };
}

async function update(root: HTMLElement, draw: (data: AlertsData) => void): Promise<void> {
  const response = await fetch(location.href, { headers: { accept: 'text/html' }, cache: 'no-store' }).catch(
    () => undefined,
  );
  if (!response?.ok) return;
  const page = new DOMParser().parseFromString(await response.text(), 'text/html');
  const key = (document.activeElement as HTMLElement | null)?.dataset?.['key'];
  const isInside = key !== undefined && root.contains(document.activeElement);
  for (const part of root.querySelectorAll<HTMLElement>('[data-part]')) {
    const next = page.querySelector<HTMLElement>(`[data-part="${part.dataset['part']}"]`);
    if (!next || next.innerHTML === part.dataset['seen']) continue;
    part.dataset['seen'] = next.innerHTML;
    const scrolled = part.querySelector('.scroll')?.scrollLeft ?? 0;
    part.replaceChildren(...next.childNodes);
    part.querySelector('.scroll')?.scrollTo({ left: scrolled });
  }
  revealButtons(root);
  if (isInside) keepFocus(root, key);
  const data = page.getElementById('alerts-data');
  const own = document.getElementById('alerts-data');
  if (!data || !own) return;
  own.textContent = data.textContent;
  draw(JSON.parse(data.textContent ?? '') as AlertsData);
}

/** Moves the focus from a removed button to another button of its row, or to the list. */
function keepFocus(root: HTMLElement, key: string): void {
  const find = (selector: string) => root.querySelector<HTMLElement>(selector);
  const id = key.split('-').at(-1)!;
  const next =
    find(`[data-key="${CSS.escape(key)}"]`) ??
    find(`[data-event="${CSS.escape(id)}"] button`) ??
    find('[data-part="events"] .scroll');
  if (document.activeElement !== next) next?.focus({ preventScroll: true });
}

const root = document.querySelector<HTMLElement>('[data-alerts]');
if (root) void start(root);
