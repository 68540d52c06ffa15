/** Metres of units of length, by the names that GeoServices give them, in lower case. */
export const METRES_OF_UNITS = {
  esrisrunit_meter: 1,
  esrisrunit_kilometer: 1000,
  esrisrunit_foot: 0.3048,
  esrisrunit_statutemile: 1609.344,
  esrisrunit_nauticalmile: 1852,
} as const;
