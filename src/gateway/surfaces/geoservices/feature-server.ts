import Type from 'typebox';
import { inBandFailure } from './in-band.js';
import { member } from './query-members.js';

/** What operations of a FeatureServer have in common. */

export const SERVER = 'FeatureServer';

export const f = member('f', 'json, or pjson for people.');

const responses = {
  200: {
    description: 'The answer, or a member error that says what failed',
    content: { 'application/json': Type.Object({}) },
  },
};

export const common = (tag: string, verb: string) =>
  ({
    surface: 'geoservices',
    protocol: SERVER,
    permission: 'public',
    tag,
    openQuery: true,
    responses,
    failure: inBandFailure(SERVER, verb),
  }) as const;
