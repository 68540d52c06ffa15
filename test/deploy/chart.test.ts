import { execFileSync, spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Ajv } from 'ajv';
import { beforeAll, describe, expect, it } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { DEFAULT_TIMING } from '../../src/supervisor/slot.js';
import { lastOf, stagesOf } from './support/dockerfile.js';
import { settingsOf, TOOLS } from './support/settings.js';

const CHART = 'deploy/helm/graticule';
const CASES = readdirSync(`${CHART}/ci`);

const read = (name: string) => readFileSync(join(CHART, name), 'utf8');
const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { version: string };
const image = stagesOf().at(-1)!;

describe('the chart', () => {
  const validate = new Ajv({ strict: false }).compile(JSON.parse(read('values.schema.json')));
  const values = parse(read('values.yaml')) as Record<string, unknown>;

  it('is of this version', () => {
    expect(parse(read('Chart.yaml'))).toMatchObject({ version, appVersion: version });
  });

  it('has values that its schema takes, and a schema of these values', () => {
    expect(validate(values), JSON.stringify(validate.errors)).toBe(true);
    const { properties } = JSON.parse(read('values.schema.json')) as { properties: object };
    expect(Object.keys(properties).sort()).toEqual([...Object.keys(values), 'global'].sort());
  });

  it.each(CASES)('has a configuration in ci/%s that the server takes', (name) => {
    const own = parse(read(`ci/${name}`)) as { config?: unknown };
    expect(validate(own), JSON.stringify(validate.errors)).toBe(true);
    expect(settingsOf(JSON.stringify(own.config ?? values['config'])).data.sources.length).toBe(1);
  });

  it.each([
    { replica: 2 },
    { replicas: 0 },
    { stopSeconds: 10 },
    { readinessPath: '/ready' },
    { image: { tags: 'x' } },
  ])('refuses %j', (wrong) => {
    expect(validate(wrong)).toBe(false);
  });

  it('gives a server more time to stop than it takes', () => {
    expect(Number(values['stopSeconds']) * 1000).toBeGreaterThan(2 * DEFAULT_TIMING.drainMs);
  });
});

describe('the rule of the Prometheus adapter', () => {
  const rule = parse(readFileSync('deploy/helm/prometheus-adapter.yaml', 'utf8')).rules.custom[0];

  it('makes the metric that the autoscaler asks for, of metrics that the server has', () => {
    expect(read('templates/autoscaler.yaml')).toContain(`name: ${rule.name.as} `);
    const documented = readFileSync('docs/reference/server/metrics.md', 'utf8');
    const names = new Set<string>(`${rule.seriesQuery} ${rule.metricsQuery}`.match(/svc_[a-z_]+/g));
    expect(names.size).toBe(4);
    for (const name of names) expect(documented).toContain(`\`${name.replace(/_count$/, '')}\``);
  });
});

interface Pod {
  spec: {
    terminationGracePeriodSeconds: number;
    securityContext: object;
    volumes: { name: string }[];
    containers: {
      image: string;
      args: string[];
      env?: object[];
      lifecycle: { preStop: { exec: { command: string[] } } };
      volumeMounts: { name: string; mountPath: string }[];
    }[];
  };
}

interface Manifest {
  kind: string;
  metadata: { name: string };
  // biome-ignore lint/suspicious/noExplicitAny: each kind has its own; Kubernetes' types are those of the other test.
  spec: any;
  data?: Record<string, string>;
}

describe.skipIf(!TOOLS)('what helm makes of it', () => {
  const helm = (...args: string[]) =>
    spawnSync(join(TOOLS!, 'helm'), [...args, '--kube-version', '1.31.0'], { encoding: 'utf8' });
  const rendered = new Map<string, string>();
  const of = (name: string) =>
    parseAllDocuments(rendered.get(name)!)
      .map((document) => document.toJS() as Manifest | null)
      .filter((one) => one !== null);
  const one = (name: string, kind: string, suffix = '') =>
    of(name).find(
      (manifest) => manifest.kind === kind && manifest.metadata.name === `maps-graticule${suffix}`,
    )!;

  beforeAll(() => {
    for (const name of CASES) {
      const { stdout, stderr, status } = helm('template', 'maps', CHART, '-f', `${CHART}/ci/${name}`);
      expect(status, stderr).toBe(0);
      rendered.set(name, stdout);
    }
  });

  it('passes helm lint', () => {
    for (const name of CASES) {
      const { stdout, status } = helm('lint', '--strict', CHART, '-f', `${CHART}/ci/${name}`);
      expect(status, stdout).toBe(0);
    }
  });

  it.each(CASES)('of ci/%s is of the types that Kubernetes has', (name) => {
    const kinds = execFileSync(join(TOOLS!, 'manifests'), { input: rendered.get(name)!, encoding: 'utf8' });
    expect(kinds.trim().split('\n').length).toBe(of(name).length);
  });

  it('would not be with a member that Kubernetes does not have', () => {
    const wrong = rendered.get('one.yaml')!.replace('livenessProbe', 'lifenessProbe');
    const { status, stderr } = spawnSync(join(TOOLS!, 'manifests'), { input: wrong, encoding: 'utf8' });
    expect({ status, stderr }).toEqual({ status: 1, stderr: expect.stringContaining('lifenessProbe') });
  });

  const pods = () =>
    CASES.flatMap(of)
      .filter(({ kind }) => kind === 'StatefulSet' || kind === 'Deployment')
      .map(({ spec }) => spec.template as Pod);

  it('runs this version, by the user of the image, with nothing to write to but two folders', () => {
    expect(pods().length).toBe(4);
    const [uid, gid] = lastOf(image, 'USER').text.split(':').map(Number);
    for (const { spec } of pods()) {
      expect(spec.securityContext).toMatchObject({
        runAsNonRoot: true,
        runAsUser: uid,
        runAsGroup: gid,
        fsGroup: gid,
      });
      const [container] = spec.containers;
      expect(container).toMatchObject({
        image: `graticule:${version}`,
        securityContext: {
          allowPrivilegeEscalation: false,
          readOnlyRootFilesystem: true,
          capabilities: { drop: ['ALL'] },
        },
      });
      const places = new Map(container!.volumeMounts.map(({ name, mountPath }) => [name, mountPath]));
      expect(places.get('data')).toBe(lastOf(image, 'VOLUME').text);
      expect(places.get('temporary')).toBe('/tmp');
    }
  });

  it('asks the probes', () => {
    for (const { spec } of pods())
      expect(spec.containers[0]).toMatchObject({
        startupProbe: { httpGet: { path: '/healthz/live', port: 'http' } },
        livenessProbe: { httpGet: { path: '/healthz/live', port: 'http' } },
        readinessProbe: { httpGet: { path: '/healthz/ready', port: 'http' } },
      });
  });

  it('lets proxies go before a server stops, and a server stop by itself', () => {
    for (const { spec } of pods()) {
      const [sleep, time] = spec.containers[0]!.lifecycle.preStop.exec.command;
      expect(sleep).toBe('sleep');
      expect(Number(time)).toBeGreaterThanOrEqual(10);
      const left = spec.terminationGracePeriodSeconds - Number(time);
      expect(left * 1000).toBeGreaterThan(2 * DEFAULT_TIMING.drainMs);
    }
  });

  it('has servers with data folders as a StatefulSet, others as a Deployment of which none is missed', () => {
    const [claim] = one('one.yaml', 'StatefulSet').spec.volumeClaimTemplates;
    expect(claim.metadata.name).toBe('data');
    expect(one('stateless.yaml', 'StatefulSet')).toBeUndefined();
    const { strategy, template } = one('stateless.yaml', 'Deployment').spec;
    expect(strategy.rollingUpdate).toEqual({ maxUnavailable: 0, maxSurge: 1 });
    expect(template.spec.volumes).toContainEqual({ name: 'data', emptyDir: {} });
  });

  it('hands the configuration on, and to workers the same', () => {
    for (const name of CASES) {
      const written = settingsOf(one(name, 'ConfigMap').data!['graticule.yaml']!);
      const own = parse(read(`ci/${name}`)) as { config?: { state?: { url: string } } };
      expect(written.state.url).toBe(own.config?.state?.url ?? '');
    }
    const worker = one('shared.yaml', 'Deployment', '-worker').spec.template as Pod;
    expect(worker.spec.containers[0]!.args.slice(0, 3)).toEqual([
      'worker',
      '--config',
      '/etc/graticule/graticule.yaml',
    ]);
  });

  it('sends requests to servers, not to workers', () => {
    const { selector } = one('shared.yaml', 'Service').spec;
    const labels = (kind: string, suffix: string) =>
      one('shared.yaml', kind, suffix).spec.template.metadata.labels as object;
    expect(labels('StatefulSet', '')).toMatchObject(selector);
    expect(labels('Deployment', '-worker')).not.toMatchObject(selector);
  });

  it('scales what it made, by the delay of queues', () => {
    const { spec } = one('shared.yaml', 'HorizontalPodAutoscaler');
    expect(spec.scaleTargetRef).toMatchObject({ kind: 'StatefulSet', name: 'maps-graticule' });
    expect(spec.metrics[0].pods.metric.name).toBe('graticule_queue_delay_seconds');
    expect(one('shared.yaml', 'StatefulSet').spec.replicas).toBeUndefined();
    expect(one('one.yaml', 'StatefulSet').spec.replicas).toBe(1);
  });

  it('has no network policy that keeps the database away', () => {
    const { spec } = one('shared.yaml', 'NetworkPolicy');
    const ports = spec.egress.flatMap((rule: { ports: { port: number }[] }) =>
      rule.ports.map(({ port }) => port),
    );
    expect(ports).toEqual(expect.arrayContaining([53, 5432, 6379, 443]));
    expect(spec.ingress[0].from).toHaveLength(1);
    expect(one('one.yaml', 'NetworkPolicy')).toBeUndefined();
  });

  it.each(['replicas=2', 'worker.enabled=true', 'autoscaling.enabled=true', 'persistence.enabled=false'])(
    'refuses %s without a state that servers share',
    (setting) => {
      const { status, stderr } = helm('template', 'maps', CHART, '--set', setting);
      expect({ status, stderr }).toEqual({ status: 1, stderr: expect.stringContaining('config.state.url') });
    },
  );
});
