/** The path of a FeatureServer or MapServer, also where that of one of its layers is given; undefined for others. */
export function servicePath(pathname: string): string | undefined {
  return /^(.*\/(?:Feature|Map)Server)(?:\/\d+)?\/?$/i.exec(pathname)?.[1];
}
