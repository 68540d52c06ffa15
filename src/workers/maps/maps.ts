import mapnik, { type MapnikMap } from '@mapnik/mapnik';
import { TaskFailure } from '../../core/errors/failure.js';

const CACHED_DEFINITIONS = 200;
/** Maximum idle maps per definition, because two threads must not render the same map at the same time. */
const MAPS_PER_DEFINITION = 4;
const free = new Map<string, MapnikMap[]>();

/** Runs `use` with a map of this definition; maps are built once and kept by their text. */
export async function withMap<T>(xml: string, use: (map: MapnikMap) => Promise<T>): Promise<T> {
  const map = free.get(xml)?.pop() ?? build(xml);
  const result = await use(map);
  keep(xml, map);
  return result;
}

function build(xml: string): MapnikMap {
  const map = new mapnik.Map(1, 1);
  try {
    map.fromStringSync(xml, { strict: true });
  } catch (error) {
    throw new TaskFailure('invalid-input', 'The style cannot be used.', String(error));
  }
  return map;
}

function keep(xml: string, map: MapnikMap): void {
  const maps = free.get(xml) ?? [];
  if (maps.length < MAPS_PER_DEFINITION) maps.push(map);
  // Reinserting moves the definition to the young end.
  free.delete(xml);
  free.set(xml, maps);
  if (free.size > CACHED_DEFINITIONS) free.delete(free.keys().next().value as string);
}
