import { describe, expect, it } from 'vitest';
import { parseTimeAxis } from '../../src/workers/rasters/sources/gridded/cf-time.js';

describe('instants of a CF time axis', () => {
  it.each([
    [0, 'days since 1950-01-01 00:00:00', 'standard', '1950-01-01T00:00:00Z'],
    [17927, 'days since 1950-01-01', '', '1999-01-31T00:00:00Z'],
    [1.5, 'hours since 2000-02-28T23:00', 'gregorian', '2000-02-29T00:30:00Z'],
    [90, 'seconds since 1970-01-01 00:00:00 +02:00', 'standard', '1969-12-31T22:01:30Z'],
    [250, 'ms since 1970-01-01', 'standard', '1970-01-01T00:00:00.250Z'],
    // Ten days are missing in the mixed calendar, none in the proleptic one.
    [1, 'days since 1582-10-04', 'standard', '1582-10-15T00:00:00Z'],
    [1, 'days since 1582-10-04', 'proleptic_gregorian', '1582-10-05T00:00:00Z'],
    // Reanalyses count from the year 1 in the mixed calendar: 2 days less than in the proleptic one.
    [730487, 'days since 1-1-1', 'standard', '2001-01-01T00:00:00Z'],
    [730485, 'days since 1-1-1', 'proleptic_gregorian', '2001-01-01T00:00:00Z'],
    [1, 'days since 2000-02-28', 'noleap', '2000-03-01T00:00:00Z'],
    [365, 'days since 2000-01-01', '365_day', '2001-01-01T00:00:00Z'],
    [59, 'days since 2000-01-01', 'all_leap', '2000-02-29T00:00:00Z'],
    [75, 'days since 2000-01-01', '360_day', '2000-03-16T00:00:00Z'],
    [0, 'days since 2000-02-16', 'julian', '2000-02-16T00:00:00Z'],
  ])('%s %s (%s) is %s', (value, units, calendar, instant) => {
    expect(parseTimeAxis([value], units, calendar)).toEqual([instant]);
  });

  it.each([
    [[59], 'days since 2001-01-01', 'all_leap'],
    [[59], 'days since 2000-01-01', '360_day'],
    [[1], 'months since 2000-01-01', 'standard'],
    [[1], 'days since 2000-01-01', 'martian'],
    [[Number.NaN], 'days since 2000-01-01', 'standard'],
    [[1e300], 'days since 2000-01-01', 'standard'],
    [[4e6], 'days since 2000-01-01', 'standard'],
    [[1], 'days since yesterday', 'standard'],
  ])('%j %s (%s) is refused', (values, units, calendar) => {
    expect(() => parseTimeAxis(values, units, calendar)).toThrow(/time axis cannot be used/);
  });
});
