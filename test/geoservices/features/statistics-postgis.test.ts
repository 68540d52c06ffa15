import { postgisStore } from '../../edits/support.js';
import { type StatisticsStore, statisticsSuite } from './statistics.js';

statisticsSuite(async (): Promise<StatisticsStore> => {
  const store = await postgisStore();
  return {
    ...store,
    async write(sql) {
      await store.query(sql);
    },
    milliseconds: (column) => `(extract(epoch FROM ${column}) * 1000)::float8`,
    deviation: (column, where) => `(SELECT stddev(${column}) FROM parcels WHERE ${where})`,
    percentile(column, where, fraction, order) {
      const of = (kind: string) =>
        `(SELECT percentile_${kind}(${fraction}) WITHIN GROUP (ORDER BY ${column} ${order}) FROM parcels WHERE ${where})`;
      return { cont: of('cont'), disc: of('disc') };
    },
  };
});
