import type { DataSettings } from '../../services/catalog/publish/settings.js';
import { isInOwnFolder } from '../../services/catalog/snapshots.js';
import type { Data } from './data.js';
import type { Foundation } from './foundation.js';

/** A source in texts: options of its URL can be secrets. */
const formatSource = (source: string): string => source.replace(/\?.*$/, '');

/** Publishes the first catalog and follows its sources. Sources that do not respond are tried again. */
export async function publishFirst(
  { dataDir, names, requestReload }: Foundation,
  { catalog, chosenCrs, databases, display, imagery, layers, rules, styles }: Data,
  settings: DataSettings,
): Promise<void> {
  // Before anything is published: no layer is open for a moment that a rule closes.
  await Promise.all([rules.load(), layers.load(), chosenCrs.load()]);
  await styles.load();
  await display.load();
  catalog.commit(await catalog.prepare(settings));
  const own = catalog.current.collections.filter(({ file }) => isInOwnFolder(dataDir, file));
  await names.keepAll(own.map(({ id }) => id));
  display.watch();
  databases.watch(
    (source) => requestReload(`${source} answers`, [{ source }]),
    () => void display.look(),
  );
  imagery.watch((source) => requestReload(`${formatSource(source)} has other scenes`, [{ source }]));
  catalog.retry((sources) => {
    const named = sources.map(formatSource).join(', ');
    const changes = sources.map((source) => ({ source }));
    requestReload(`${named} ${sources.length === 1 ? 'is' : 'are'} tried again`, changes);
  });
}
