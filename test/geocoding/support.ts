import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'vitest';
import type { ReferenceTask } from '../../src/core/geocoding/geocoding.js';
import { importReference } from '../../src/workers/geocoding/import.js';
import { Cancellation } from '../../src/workers/threads/cancellation.js';
import { multipart } from '../admin/support/multipart.js';
import type { TestServer } from '../support/server.js';

/** Places of several countries and languages, with addresses. */
export const TOWNS = `name,name_en,name_fr,houseNumber,street,city,region,postal,country,countryCode,type,x,y,population
München,Munich,Munich,,,,Bayern,,Deutschland,DE,city,11.5755,48.1374,1260391
Köln,Cologne,Cologne,,,,Nordrhein-Westfalen,,Deutschland,DE,city,6.95,50.9333,963395
Berlin,Berlin,Berlin,,,,Berlin,,Deutschland,DE,city,13.4105,52.5244,3426354
Berlin,,,,,,New Hampshire,,United States,US,city,-71.1851,44.4687,9367
Berlin Heights,,,,,,Ohio,,United States,US,city,-82.4932,41.3253,714
Genève,Geneva,Genève,,,,Genève,,Schweiz,CH,city,6.1457,46.2022,183981
Łódź,Lodz,,,,,Łódzkie,,Polska,PL,city,19.4667,51.75,768755
東京,Tokyo,Tokyo,,,,,,日本,JP,city,139.6917,35.6895,8336599
,,,5,Hauptstraße,Berlin,Berlin,10827,Deutschland,DE,,13.355,52.487,
,,,7,Hauptstraße,Berlin,Berlin,10827,Deutschland,DE,,13.356,52.487,
,,,5,Hauptstraße,Köln,Nordrhein-Westfalen,50996,Deutschland,DE,,6.99,50.89,
,,,1600,Pennsylvania Avenue NW,Washington,DC,20500,United States,US,,-77.0365,38.8977,
`;

/** A folder of a test, and imports into it. */
export function referenceFolder() {
  const path = mkdtempSync(join(tmpdir(), 'geocoding-'));
  const index = join(path, 'index', 'towns.sqlite');
  const file = join(path, 'reference.csv');
  return {
    path,
    index,
    file,
    import(csv: string | Uint8Array, task: Partial<ReferenceTask> = {}) {
      writeFileSync(file, csv);
      return importReference({ file, index, mode: 'replace', ...task }, new Cancellation());
    },
    remove: () => rmSync(path, { recursive: true, force: true }),
  };
}

/** Sends the places to a server, as a locator of that name. */
export async function importTowns(server: Pick<TestServer, 'url' | 'adminKey'>, name: string): Promise<void> {
  const { contentType, body } = multipart([
    { name: 'referenceData', content: TOWNS, filename: 'towns.csv' },
    { name: 'locatorName', content: name },
  ]);
  const answer = await fetch(`${server.url}/api/v1/admin/geocoding/reference-data/import`, {
    method: 'POST',
    headers: { 'content-type': contentType, 'x-api-key': server.adminKey },
    body: new Uint8Array(body),
  });
  expect(answer.status).toBe(200);
}
