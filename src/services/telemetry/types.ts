/** The part of prom-client's metric object that its registry prints. */
export interface MetricObject {
  name: string;
  help: string;
  type: string;
  aggregator: string;
  values: { labels: Readonly<Record<string, string | number>>; value: number; metricName?: string }[];
}
