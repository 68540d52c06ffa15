import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { mapFlagsToSettings, saveConfig } from '../../../src/cli/settings.js';
import { loadConfig } from '../../../src/core/config/config.js';
import { isDatabase, withoutPassword } from '../../../src/core/sources/database-url.js';
import { maskSetting } from '../../../src/gateway/admin/config-document.js';

const URL = 'postgresql://me:s3cret@db.example:5433/gis?sslmode=require';
const SHOWN = 'postgresql://me@db.example:5433/gis?sslmode=require';

describe('a database URL', () => {
  it.each([
    ['postgres://h/d', true],
    ['POSTGRESQL://h/d', true],
    ['./postgres.gpkg', false],
    ['/data/postgres:/x', false],
  ])('%s is told from a path', (source, expected) => expect(isDatabase(source)).toBe(expected));

  it.each([
    [URL, SHOWN],
    ['postgresql://me:p@ss@h/d', 'postgresql://me@h/d'],
    ['postgresql://me:p/a?s@h/d?x=1', 'postgresql://me@h/d?x=1'],
    ['postgresql://h:5432/d?options=a@b', 'postgresql://h:5432/d?options=a@b'],
    ['postgresql://h/d?user=me&password=s3cret&host=/run', 'postgresql://h/d?user=me&host=/run'],
    ['postgresql://h/d?pass%77ord=s3cret', 'postgresql://h/d'],
    ['postgresql:///d', 'postgresql:///d'],
    ['postgresql://a:1,b:2/d', 'postgresql://a:1,b:2/d'],
    ['./folder', './folder'],
  ])('%s is shown without its password', (source, shown) => expect(withoutPassword(source)).toBe(shown));

  it('is published by DATABASE_URL when nothing else is', () => {
    const sources = (inputs: Parameters<typeof loadConfig>[0]) => loadConfig(inputs).config.data.sources;
    const env = { DATABASE_URL: URL };
    expect(sources({ env })).toEqual([URL]);
    expect(sources({ env, flags: mapFlagsToSettings(['/data'], {}) })).toEqual(['/data']);
    expect(sources({ env: { ...env, SVC_DATA__SOURCES: '/other' } })).toEqual(['/other']);
    expect(sources({ env: {} })).toEqual([]);
  });

  it('is neither resolved as a path, nor shown or saved with its password', () => {
    const { config, settings } = loadConfig({ flags: mapFlagsToSettings([URL], {}), env: {} });
    expect(config.data.sources).toEqual([URL]);
    expect(settings.flatMap(maskSetting)).toContain(SHOWN);
    expect(JSON.stringify(settings.map(maskSetting))).not.toContain('s3cret');
    const folder = mkdtempSync(join(tmpdir(), 'graticule-config-'));
    try {
      saveConfig(join(folder, 'saved.yaml'), settings);
      const saved = readFileSync(join(folder, 'saved.yaml'), 'utf8');
      expect(saved).toContain(SHOWN);
      expect(saved).not.toContain('s3cret');
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });
});
