/**
 * The path of a FeatureServer or MapServer, from its path or the path of one of its layers. Undefined for other
 * paths.
 */
export function servicePath(pathname: string): string | undefined {
  return /^(.*\/(?:Feature|Map)Server)(?:\/\d+)?\/?$/i.exec(pathname)?.[1];
}
