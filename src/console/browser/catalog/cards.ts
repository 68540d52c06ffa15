/** Loads the maps of cards that are on the screen, after the map of the page. */

/** Maps that load at the same time. */
const AT_ONCE = 2;
/** Maximum milliseconds to wait for the map of the page. */
const PATIENCE_MS = 8000;

const waiting: HTMLElement[] = [];
let loading = 0;

const cards = document.querySelectorAll<HTMLElement>('[data-card-map]');
if (cards.length > 0) void start(cards);

async function start(all: Iterable<HTMLElement>): Promise<void> {
  await waitForMap();
  const observer = new IntersectionObserver((entries) => {
    for (const { isIntersecting, target } of entries) {
      if (!isIntersecting) continue;
      observer.unobserve(target);
      waiting.push(target as HTMLElement);
    }
    loadNext();
  });
  for (const card of all) observer.observe(card);
}

/** Resolves when the map of the page is drawn, or if there is none. */
function waitForMap(): Promise<void> {
  const map = document.querySelector<HTMLElement>('[data-map]');
  const isDrawn = () => ['idle', 'failed'].includes(map?.dataset.mapState ?? 'idle');
  return new Promise((resolve) => {
    if (!map || isDrawn()) return resolve();
    const observer = new MutationObserver(() => {
      if (isDrawn()) finish();
    });
    const timer = setTimeout(finish, PATIENCE_MS);
    function finish(): void {
      observer.disconnect();
      clearTimeout(timer);
      resolve();
    }
    observer.observe(map, { attributeFilter: ['data-map-state'] });
  });
}

function loadNext(): void {
  while (loading < AT_ONCE && waiting.length > 0) {
    loading += 1;
    void show(waiting.shift()!).finally(() => {
      loading -= 1;
      loadNext();
    });
  }
}

/** Shows the map of a card. Without a map, the card continues to show the outline of the extent. */
async function show(card: HTMLElement): Promise<void> {
  const image = new Image();
  image.className = 'card-map';
  image.alt = '';
  image.src = card.dataset['cardMap']!;
  await image.decode().then(
    () => {
      card.prepend(image);
      card.dataset['cardState'] = 'drawn';
    },
    () => {},
  );
}
