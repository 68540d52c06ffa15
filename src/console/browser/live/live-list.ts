import type { FeatureChange } from '../../../client/index.js';
import type { LiveData, LiveLayer } from '../../../core/catalog/page-data.js';
import { onThisOrigin } from '../page.js';

const ROWS = 30;
const VERBS = { insert: 'inserted', update: 'updated', delete: 'deleted' } as const;

/** List of the latest changes, newest first. It can be paused for reading. */
export class LiveList {
  readonly #list = document.querySelector<HTMLElement>('[data-live-list]')!;
  readonly #layers: ReadonlyMap<number, LiveLayer>;
  #held = false;

  constructor(
    private readonly data: LiveData,
    private readonly show: (change: FeatureChange) => void,
  ) {
    this.#layers = new Map(data.layers.map((layer) => [layer.layerId, layer]));
    const button = document.querySelector<HTMLElement>('[data-live-pause]');
    button?.addEventListener('click', () => {
      this.#held = !this.#held;
      button.setAttribute('aria-pressed', String(this.#held));
    });
  }

  add(changes: readonly FeatureChange[]): void {
    if (this.#held) return;
    document.querySelector<HTMLElement>('[data-live-none]')?.setAttribute('hidden', '');
    this.#list.prepend(
      ...changes
        .slice(-ROWS)
        .reverse()
        .map((change) => this.#row(change)),
    );
    while (this.#list.childElementCount > ROWS) this.#list.lastElementChild!.remove();
  }

  /** Names are text nodes: data is never parsed as markup. */
  #row(change: FeatureChange): HTMLElement {
    const { operation, timestamp, layerId, featureId } = change;
    const layer = this.#layers.get(layerId);
    const time = element('time', new Date(timestamp).toLocaleTimeString());
    time.setAttribute('datetime', timestamp);
    time.className = 'live-time';
    const row = document.createElement('li');
    row.className = 'live-row';
    row.dataset.operation = operation;
    row.append(time, ' ', element('bdi', layer?.title ?? String(layerId)), ' ', this.#feature(change, layer));
    row.append(` ${VERBS[operation]} ${whatChanged(change)}`);
    if (change.geometry) {
      const button = element('button', 'Show');
      button.setAttribute('type', 'button');
      button.className = 'live-show';
      button.setAttribute('aria-label', `Show feature ${featureId} on the map`);
      button.addEventListener('click', () => this.show(change));
      row.append(' ', button);
    }
    return row;
  }

  #feature({ featureId, operation }: FeatureChange, layer: LiveLayer | undefined): HTMLElement {
    if (operation === 'delete' || !layer) return element('b', featureId);
    const link = document.createElement('a');
    const { baseUrl } = this.data;
    link.href = onThisOrigin(`${layer.items}/${encodeURIComponent(featureId)}?f=html`, baseUrl);
    link.append(element('bdi', featureId));
    return link;
  }
}

function whatChanged({ operation, changedAttributes = [], geometryChanged }: FeatureChange): string {
  if (operation !== 'update') return '';
  const parts = [...(geometryChanged ? ['geometry'] : []), ...changedAttributes];
  return parts.length > 0 ? `(${parts.join(', ')})` : '';
}

function element(name: string, text: string): HTMLElement {
  const node = document.createElement(name);
  node.textContent = text;
  return node;
}
