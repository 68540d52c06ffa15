import { describe, expect, it } from 'vitest';
import type { LayerSettings } from '../../src/core/catalog/layer-settings.js';
import { compileSchema } from '../../src/core/http/schema-check.js';
import { LayerSpec } from '../../src/gateway/manifest/schemas.js';
import { LayerMetadataWriter } from '../../src/services/exchange/migrations/geoserver/metadata-writer.js';
import type { LayerNotes } from '../../src/services/exchange/migrations/geoserver/notes.js';

/** What is put of a layer of which a GeoServer says this. */
async function settingsOf(notes: Partial<LayerNotes>): Promise<LayerSettings> {
  let settings: LayerSettings = {};
  const layers = {
    settingsOf: () => ({}),
    put: async (_layer: unknown, change: LayerSettings) => {
      settings = change;
    },
  };
  const words = new LayerMetadataWriter(
    layers as never,
    {} as never,
    {} as never,
    () => ({}) as never,
    {} as never,
    {} as never,
  );
  await words.setMetadata({} as never, { keywords: [], ...notes } as LayerNotes);
  return settings;
}

const fits = (settings: LayerSettings) => compileSchema(LayerSpec)(settings);

describe('words of a layer of a GeoServer', () => {
  it('become settings that a manifest takes, however long they are', async () => {
    const long = 'x'.repeat(5000);
    const settings = await settingsOf({
      ...{
        title: long,
        abstract: long,
        attribution: long,
        keywords: Array.from({ length: 300 }, () => long),
      },
      attributionUrl: `https://example.org/${'x'.repeat(1900)}`,
    });
    expect(fits(settings)).toEqual([]);
    expect(settings.about).toMatchObject({ attribution: 'x'.repeat(512), sourceUrl: expect.any(String) });
    expect(settings.about?.keywords).toHaveLength(100);
  });

  it.each(['javascript:alert(1)', 'https://a b', 'somewhere', `https://example.org/${'x'.repeat(3000)}`])(
    'lead nowhere by %s',
    async (attributionUrl) => {
      const settings = await settingsOf({ attribution: 'City', attributionUrl });
      expect(settings.about).toEqual({ attribution: 'City' });
      expect(fits(settings)).toEqual([]);
    },
  );
});
