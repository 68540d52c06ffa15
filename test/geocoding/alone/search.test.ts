import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import type { PlaceQuery, ReverseQuery, SuggestQuery } from '../../../src/core/geocoding/geocoding.js';
import { LIMITS } from '../../../src/core/kit/limits.js';
import { geocode } from '../../../src/workers/geocoding/find.js';
import { reverseGeocode } from '../../../src/workers/geocoding/reverse.js';
import { suggest } from '../../../src/workers/geocoding/suggest.js';
import { editDistance, likeness, splitWords } from '../../../src/workers/geocoding/words.js';
import { Cancellation } from '../../../src/workers/threads/cancellation.js';
import { referenceFolder, TOWNS } from '../support.js';

/** Searches in an index. */

const folder = referenceFolder();
beforeAll(() => folder.import(TOWNS));
afterAll(() => folder.remove());

function find(query: string | Partial<PlaceQuery>) {
  const one = typeof query === 'string' ? { text: query } : query;
  const [candidates] = geocode({ index: folder.index, queries: [{ limit: 10, ...one }] });
  return candidates!.map(({ place, score }) => [place.label, score] as const);
}

const first = (query: string | Partial<PlaceQuery>) => find(query)[0]?.[0];
const suggested = (text: string, more: Partial<SuggestQuery> = {}) =>
  suggest({ index: folder.index, text, limit: 5, ...more }).places.map(({ label }) => label);

describe('words', () => {
  it('are folded', () => {
    expect(splitWords("Łódź Straße São-Tomé O'Neill ÆØ 12a")).toEqual([
      'lodz',
      'strasse',
      'sao',
      'tome',
      'oneill',
      'aeo',
      '12a',
    ]);
    expect(splitWords('"a" OR (b*) NEAR/3 ^c: - + 東京')).toEqual(['a', 'or', 'b', 'near', '3', 'c', '東京']);
  });

  it('are as far apart as their edits', () => {
    const pairs = [
      ['ab', 'ab', 0],
      ['ab', 'ba', 1],
      ['abc', 'ac', 1],
      ['kitten', 'sitting', 3],
      ['ca', 'abc', 3],
    ];
    for (const [a, b, edits] of pairs as [string, string, number][])
      expect(editDistance(a, b, 5)).toBe(edits);
    expect(editDistance('kitten', 'sitting', 2)).toBe(3);
  });

  it('are alike by their letters, numbers not at all', () => {
    expect([likeness('10827', '10828'), likeness('bonn', 'bonn')]).toEqual([0, 1]);
    expect(likeness('berlim', 'berlin')).toBeCloseTo(5 / 6);
    expect(likeness('haupt', 'hauptstrasse')).toBeCloseTo(0.5 + 2.5 / 12);
  });
});

describe('candidates', () => {
  it('are found without diacritics, in every language, with wrong letters', () => {
    const queries = [
      'koln',
      'Cologne',
      'COLONGE',
      'Munchen',
      'munich',
      'Lodz',
      'Geneve',
      '東京',
      'Hauptstrasse 5 Köln',
    ];
    expect(queries.map(first)).toEqual([
      ...['Köln', 'Köln', 'Köln'].map((name) => `${name}, Nordrhein-Westfalen, Deutschland`),
      ...['München', 'München'].map((name) => `${name}, Bayern, Deutschland`),
      'Łódź, Łódzkie, Polska',
      'Genève, Schweiz',
      '東京, 日本',
      'Hauptstraße 5, Köln, Nordrhein-Westfalen, 50996, Deutschland',
    ]);
  });

  it('are found among many words that begin alike', async () => {
    const many = referenceFolder();
    const letters = [...'abcdefghijklmnopqrstuvwxyz'];
    const words = letters.flatMap((a) => letters.map((b) => `ber${a}${b}`));
    await many.import(`name,x,y\n${['Berlin', ...words].map((word) => `${word},1,1`).join('\n')}\n`);
    const queries = ['brelin', 'Berlinn', 'Perlin'].map((text) => ({ text, limit: 1 }));
    const found = geocode({ index: many.index, queries }).map(([one]) => one?.place.label);
    expect(found).toEqual(['Berlin', 'Berlin', 'Berlin']);
    many.remove();
  });

  it('are of a type or in a country, however many others are of a higher rank', async () => {
    const many = referenceFolder();
    const others = Array.from({ length: 400 }, (_, i) => `Neustadt,city,Deutschland,${i % 90},1,9`);
    const rows = [...others, 'Neustadt,VILLAGE,Deutschland,8,49,1', 'Neustadt,city,Österreich,9,48,1'];
    await many.import(`name,type,country,x,y,rank\n${rows.join('\n')}\n,,Neustadt,10,47,1\n`);
    const middles = (filter: Partial<PlaceQuery>) =>
      geocode({ index: many.index, queries: [{ text: 'Neustadt', limit: 5, ...filter }] })[0]!.map(
        ({ place }) => place.x,
      );
    expect(middles({ types: ['village'] })).toEqual([8]);
    expect(middles({ types: ['locality'] })).toEqual([10]);
    expect(middles({ countries: ['österreich'] })).toEqual([9]);
    expect(suggest({ index: many.index, text: 'neu', limit: 5, types: ['village'] }).places).toHaveLength(1);
    many.remove();
  });

  it('are not looked for after the deadline, nor for who has left', () => {
    const { index } = folder;
    const at = [13.355, 52.487] as const;
    const searches = [
      (one?: Cancellation) => geocode({ index, queries: [{ text: 'Berlin', limit: 1 }] }, one),
      (one?: Cancellation) => geocode({ index, queries: [{ text: 'Perlin', limit: 1 }] }, one),
      (one?: Cancellation) => reverseGeocode({ index, at, distance: 1000 }, one),
    ];
    const left = new Cancellation();
    left.request();
    for (const search of searches)
      expect(() => search(left)).toThrow(expect.objectContaining({ code: 'cancelled' }));
    vi.useFakeTimers({ now: Date.now() - LIMITS.requestDeadlineMs, toFake: ['Date'] });
    try {
      for (const search of [...searches, () => suggest({ index, text: 'ber', limit: 1 })])
        expect(() => search()).toThrow(expect.objectContaining({ code: 'SQLITE_INTERRUPT' }));
    } finally {
      vi.useRealTimers();
    }
  });

  it('are scored by what fits, and those alike are in the order of their ranks', () => {
    const berlin = find('Berlin');
    expect(berlin.slice(0, 3)).toEqual([
      ['Berlin, Deutschland', 100],
      ['Berlin, New Hampshire, United States', 100],
      ['Berlin Heights, Ohio, United States', 87.5],
    ]);
    expect(first('berlin new hampshire')).toBe('Berlin, New Hampshire, United States');
    expect(first('Berlin US')).toBe('Berlin, New Hampshire, United States');
    expect(find('Berlin Heights')).toEqual([['Berlin Heights, Ohio, United States', 100]]);
    const misspelt = find('Berlim')[0]!;
    expect(misspelt[0]).toBe('Berlin, Deutschland');
    expect(misspelt[1]).toBeCloseTo(100 * (5 / 6), 1);
  });

  it('have the number of the house, or fit less', () => {
    expect(first('Hauptstr 5, 10827 Berlin')).toBe('Hauptstraße 5, Berlin, 10827, Deutschland');
    const [one, other] = find('Hauptstraße 7, 10827 Berlin');
    expect(one).toEqual(['Hauptstraße 7, Berlin, 10827, Deutschland', 100]);
    expect(other).toBeUndefined();
    const [five, seven] = find('Hauptstraße 6, 10827 Berlin');
    // 17 of 20: the number weighs 3 of 8 + 3 + 3 + 6; of its own name a place has one word of two.
    expect([five![1], seven![1]]).toEqual([76.25, 76.25]);
    expect(first('1600 Pensylvania Avenue Washington')).toMatch(/^1600 Pennsylvania Avenue NW/);
  });

  it('are found by parts', () => {
    const parts = { address: 'Hauptstraße 5', city: 'Köln', postal: '50996' };
    expect(find({ parts })).toEqual([['Hauptstraße 5, Köln, Nordrhein-Westfalen, 50996, Deutschland', 100]]);
    // Ohio is no city.
    expect(find({ parts: { city: 'Ohio' } })).toEqual([]);
    expect(first({ parts: { city: 'Berlin', region: 'Ohio' } })).toBe('Berlin Heights, Ohio, United States');
  });

  it('lie in a window, in a country, are of a type', () => {
    const window = { west: -90, south: 40, east: -80, north: 42 };
    expect(first({ text: 'Berlin', window })).toBe('Berlin Heights, Ohio, United States');
    expect(first({ text: 'Berlin', countries: ['us'] })).toBe('Berlin, New Hampshire, United States');
    expect(find({ text: 'Berlin', countries: ['ch'] })).toEqual([]);
    expect(find({ text: 'Berlin', types: ['pointaddress'] }).every(([label]) => /Haupt/.test(label))).toBe(
      true,
    );
    expect(find({ text: 'Berlin', types: ['city'] })).toHaveLength(3);
    expect(first({ text: '東京', window: { west: 170, south: 30, east: 150, north: 40 } })).toBe(
      '東京, 日本',
    );
  });

  it('go first where they are near', () => {
    const [one, other] = find({ text: 'Berlin', near: [-71.19, 44.47] });
    expect(one![0]).toBe('Berlin, New Hampshire, United States');
    expect(other![1]).toBe(95);
    expect(one![1]).toBeGreaterThan(99);
  });

  it('have names in the language that is asked for', () => {
    expect(first({ text: 'Köln', language: 'en' })).toBe('Cologne, Nordrhein-Westfalen, Deutschland');
    expect(first({ text: 'Köln', language: 'fr-CA' })).toBe('Cologne, Nordrhein-Westfalen, Deutschland');
    expect(first({ text: 'Köln', language: 'it' })).toBe('Köln, Nordrhein-Westfalen, Deutschland');
  });

  it.each([
    '"',
    "'; DROP TABLE places; --",
    'own:berlin',
    'NEAR(a b)',
    'a* OR b*',
    '{own} : x',
    '^',
    '\0',
    '"" AND',
    '𝒳',
    '%_',
  ])('are none of %j', (text) => {
    expect(() => find(text)).not.toThrow();
    expect(() => suggested(text)).not.toThrow();
  });
});

describe('suggestions', () => {
  it('come with each letter', () => {
    expect(suggested('b')[0]).toBe('Berlin, Deutschland');
    expect(suggested('berlin h')[0]).toBe('Berlin Heights, Ohio, United States');
    expect(suggested('berlin h')).toHaveLength(4);
    expect(suggested('hauptstr')).toHaveLength(3);
    expect(suggested('mun')[0]).toBe('München, Bayern, Deutschland');
    expect(suggested('zzz')).toEqual([]);
    expect(suggested('')).toEqual([]);
  });

  it('forgive a wrong letter where nothing else fits', () => {
    expect(suggested('colgone')).toEqual(['Köln, Nordrhein-Westfalen, Deutschland']);
  });

  it('have the nearest first, within a window', () => {
    expect(suggested('berlin', { near: [-71, 44] })[0]).toBe('Berlin, New Hampshire, United States');
    const window = { west: 0, south: 0, east: 20, north: 60 };
    expect(suggested('berlin', { window })[0]).toBe('Berlin, Deutschland');
    expect(suggested('berlin', { window }).join()).not.toContain('United States');
  });
});

describe('places by points', () => {
  /** By the law of cosines for the angle between two vectors. */
  function metres([x1, y1]: readonly [number, number], [x2, y2]: readonly [number, number]): number {
    const rad = Math.PI / 180;
    const vector = (x: number, y: number) => [
      Math.cos(y * rad) * Math.cos(x * rad),
      Math.cos(y * rad) * Math.sin(x * rad),
      Math.sin(y * rad),
    ];
    const [a, b] = [vector(x1, y1), vector(x2, y2)];
    return 6_371_008.8 * 2 * Math.asin(Math.min(1, Math.hypot(...a.map((v, i) => v - b[i]!)) / 2));
  }

  const nearest = (at: readonly [number, number], query: Partial<ReverseQuery> = {}) =>
    reverseGeocode({ index: folder.index, at, distance: 100_000, ...query });

  it('are the nearest ones, also over the poles and the antimeridian', async () => {
    const many = referenceFolder();
    let seed = 7;
    const random = () => (seed = (seed * 16_807) % 2_147_483_647) / 2_147_483_647;
    const places = Array.from({ length: 5000 }, (_, i) => {
      const isFar = i % 3 === 0;
      return [
        isFar ? 180 - random() * 2 * (i % 2 ? 1 : 180) : random() * 360 - 180,
        isFar ? 88 + random() * 2 : random() * 180 - 90,
      ] as const;
    });
    const points = places.map(([x, y]) => [x < -180 ? x + 360 : x, y] as const);
    await many.import(`name,x,y\n${points.map(([x, y], i) => `P${i},${x},${y}`).join('\n')}\n`);
    const asked: [number, number][] = [
      [0, 90],
      [180, 89],
      [-180, 0],
      [179.99, 45],
      [-179.99, -60],
      [12, -90],
    ];
    for (let i = 0; i < 60; i++) asked.push([random() * 360 - 180, random() * 180 - 90]);
    let found = 0;
    for (const at of asked) {
      const distances = points.map((point) => metres(at, point));
      const least = Math.min(...distances);
      const answer = reverseGeocode({ index: many.index, at, distance: 100_000 });
      if (least > 100_000) expect(answer).toBeNull();
      else {
        found++;
        expect(answer!.place.label).toBe(`P${distances.indexOf(least)}`);
        expect(answer!.metres).toBeCloseTo(least, 2);
      }
    }
    expect(found).toBeGreaterThan(10);
    many.remove();
  });

  it('lie within a distance, are of a type, have names in a language', () => {
    expect(nearest([13.3551, 52.4871])?.place.label).toBe('Hauptstraße 5, Berlin, 10827, Deutschland');
    expect(nearest([13.3551, 52.4871], { types: ['city'] })?.place.label).toBe('Berlin, Deutschland');
    expect(nearest([13.3551, 52.4871], { distance: 5 })).toBeNull();
    expect(nearest([0, 0])).toBeNull();
    expect(nearest([11.5755, 48.1374], { distance: 0, language: 'en' })?.place.label).toMatch(/^Munich/);
  });
});
