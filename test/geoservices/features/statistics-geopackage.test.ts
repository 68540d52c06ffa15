import { connect } from '../../../src/workers/providers/geopackage/connection.js';
import { geoPackageStore } from '../../edits/support.js';
import { type StatisticsStore, statisticsSuite } from './statistics.js';

/** SQLite knows neither deviations nor percentiles: they are worked out of what defines them. */
statisticsSuite((): StatisticsStore => {
  const store = geoPackageStore();
  return {
    ...store,
    async write(sql) {
      const db = connect(store.file, false);
      db.exec(sql);
      db.close();
    },
    milliseconds: (column) => `CAST(strftime('%s', ${column}) AS INTEGER) * 1000`,
    deviation: (column, where) =>
      `(SELECT sqrt(sum((${column} - m) * (${column} - m)) / (count(${column}) - 1)) FROM parcels,
        (SELECT avg(${column}) AS m FROM parcels WHERE ${where}) WHERE ${where})`,
    percentile(column, where, fraction, order) {
      const sorted = `(SELECT ${column} AS v, row_number() OVER (ORDER BY ${column} ${order}) - 1 AS k,
        count(*) OVER () AS n FROM parcels WHERE (${where}) AND ${column} IS NOT NULL)`;
      const at = (place: string) => `(SELECT v FROM ${sorted} WHERE k = ${place})`;
      const place = `(SELECT ${fraction} * (n - 1) FROM ${sorted})`;
      const [low, high] = [`floor(${place})`, `ceil(${place})`].map(at);
      return {
        cont: `${low} + (${place} - floor(${place})) * (${high} - ${low})`,
        disc: `(SELECT v FROM ${sorted} WHERE (k + 1.0) / n >= ${fraction} ORDER BY k LIMIT 1)`,
      };
    },
  };
});
