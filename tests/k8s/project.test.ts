import { sharesOf } from '@holdpoint/infra/compose/hand-out';
import { postgresRoles } from '@holdpoint/infra/credentials/layout';
import { SERVICES, type ServiceName } from '@holdpoint/contracts/bus/subjects';
import { ApprovalsEnv } from '@holdpoint/approvals/config';
import { ExecutorEnv } from '@holdpoint/executor/config';
import { OrchestratorEnv } from '@holdpoint/orchestrator/config';
import { RecoveryEnv } from '@holdpoint/recovery/config';
import { STOP_DEADLINE_MS } from '@holdpoint/runtime/service/process';
import { CONNECTIONS_MAX } from '@holdpoint/runtime/service/config';
import { consumersFor } from '@holdpoint/contracts/bus/streams';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { readSource } from '../repo/source-tree.ts';
import {
  containerOf,
  type Example,
  EXAMPLES,
  isSelected,
  rendered,
  type Workload,
  workloads,
} from './manifests.ts';

const Compose = z.object({
  services: z.record(
    z.string(),
    z.looseObject({
      image: z.string().optional(),
      entrypoint: z.array(z.string()).optional(),
      command: z.array(z.string()).optional(),
      environment: z.record(z.string(), z.string()).default({}),
      ports: z.array(z.string()).default([]),
    }),
  ),
});
const compose = Compose.parse(parse(readSource('infra/compose/compose.yaml'), { merge: true })).services;

/** The part of the system that a workload runs, as compose names it. */
const partOf = ({ spec }: Workload): string =>
  spec.template.metadata.labels['app.kubernetes.io/name'] ?? 'unnamed';

const IMAGE = /^(registry\.example\/)?holdpoint:(?<tag>.+)$/;

/** Servers of others, with images of others. */
const servers = new Set(['nats', 'postgres']);
const isService = (name: string): name is ServiceName => SERVICES.some((service) => service === name);
/** Workloads with their services; executors of several pools are one service. */
const servicesOf = (example: Example): readonly (readonly [ServiceName, Workload])[] =>
  workloads(rendered(example)).flatMap((workload) => {
    const part = partOf(workload);
    return isService(part) ? [[part, workload] as const] : [];
  });

/** The settings that each service reads. */
const SETTINGS: Readonly<Record<ServiceName, ReadonlySet<string>>> = {
  orchestrator: new Set(Object.keys(OrchestratorEnv.shape)),
  approvals: new Set(Object.keys(ApprovalsEnv.shape)),
  executor: new Set(Object.keys(ExecutorEnv.shape)),
  recovery: new Set(Object.keys(RecoveryEnv.shape)),
};

const portOf = (
  ports: readonly { readonly name: string; readonly containerPort: number }[],
  name: string,
): number | undefined => ports.find((each) => each.name === name)?.containerPort;

const dockerfile = readSource('infra/docker/Dockerfile');

const ConfigMap = z.looseObject({ data: z.record(z.string(), z.string()) });

describe.each(EXAMPLES)('%s', (example) => {
  const manifests = rendered(example);
  const all = workloads(manifests);
  const services = servicesOf(example);

  test('the example runs all four services and the migrations', () => {
    expect(new Set(services.map(([service]) => service))).toEqual(new Set(SERVICES));
    expect(all.filter(({ kind }) => kind === 'Job').map(partOf)).toEqual(['provision']);
    expect(new Set(manifests.map(({ metadata }) => metadata.namespace))).toEqual(new Set(['holdpoint']));
  });

  test('the example runs the image of this release with the arguments of compose', () => {
    const { version } = JSON.parse(readSource('package.json')) as { readonly version: string };
    for (const workload of all.filter((each) => !servers.has(partOf(each)))) {
      const { command, args, image } = containerOf(workload);
      const like = compose[partOf(workload)];
      expect([partOf(workload), IMAGE.exec(image)?.groups?.['tag']]).toEqual([partOf(workload), version]);
      expect(args).toEqual(like?.command);
      // Both leave the entrypoint to the image.
      expect([command, like?.entrypoint]).toEqual([undefined, undefined]);
    }
  });

  test('every service waits for its schema before it starts', () => {
    for (const [service, { spec }] of services)
      expect(spec.template.spec.initContainers.map(({ command }) => command)).toEqual([
        ['tini', '--', 'node', 'infra/postgres/wait.ts', service],
      ]);
  });

  test('the example runs the same servers as compose', () => {
    for (const workload of all.filter((each) => servers.has(partOf(each)))) {
      const like = compose[partOf(workload)];
      const { image, args, command } = containerOf(workload);
      expect({ image, args, command }).toEqual({
        image: like?.image,
        args: like?.command,
        command: undefined,
      });
    }
  });

  test('the example sets only known settings of each service', () => {
    for (const [service, workload] of services) {
      const unknown = containerOf(workload).env.filter(({ name }) => !SETTINGS[service].has(name));
      expect([workload.metadata.name, unknown]).toEqual([workload.metadata.name, []]);
    }
    const provision = readSource('infra/postgres/config.ts');
    const job = all.find(({ kind }) => kind === 'Job');
    for (const { name } of job === undefined ? [] : containerOf(job).env)
      expect(provision).toContain(`  ${name}: `);
  });

  test('the example sets the same required settings as compose', () => {
    const isPath = (name: string, value: string): boolean =>
      /_(FILE|JOURNAL|STATE)$/.test(name) && value.startsWith('/');
    for (const [service, workload] of services) {
      const set = new Map(containerOf(workload).env.map(({ name, value }) => [name, value]));
      expect([...set.keys()]).toEqual(
        expect.arrayContaining(['HOLDPOINT_NATS_URL', 'HOLDPOINT_DATABASE_URL']),
      );
      const paths = Object.entries(compose[service]?.environment ?? {}).filter(([name, value]) =>
        isPath(name, value),
      );
      expect(paths.length).toBeGreaterThan(1);
      expect(paths.map(([name]) => [name, set.get(name)])).toEqual(paths);
    }
  });

  test('addresses come from one list, which contains nothing else', () => {
    const list = manifests.find(
      ({ kind, metadata }) => kind === 'ConfigMap' && metadata.name === 'holdpoint-addresses',
    );
    const { data } = ConfigMap.parse(list);
    const refs = all.flatMap((workload) =>
      containerOf(workload).env.flatMap(({ valueFrom }) => valueFrom?.configMapKeyRef ?? []),
    );
    expect(refs.filter(({ name }) => name !== 'holdpoint-addresses')).toEqual([]);
    expect(new Set(refs.map(({ key }) => key))).toEqual(new Set(Object.keys(data)));
    for (const service of SERVICES)
      expect(data[`database-${service}`]).toMatch(new RegExp(`^postgres://hp_${service}@[^/]+/holdpoint`));
    expect(data['nats']).toMatch(/^(nats|tls):\/\//);
  });

  test('probes use the health endpoints of the services', () => {
    const http = readSource('packages/runtime/src/service/http.ts');
    for (const [, workload] of services) {
      const { ports, startupProbe, livenessProbe, readinessProbe } = containerOf(workload);
      const [port] = ports;
      expect(dockerfile).toContain(`HOLDPOINT_HTTP_PORT=${String(port?.containerPort)}`);
      const probes = [startupProbe, livenessProbe, readinessProbe].map((probe) => probe?.httpGet);
      expect(probes.map((probe) => probe?.path)).toEqual(['/healthz', '/healthz', '/readyz']);
      for (const probe of probes) {
        expect(http).toContain(`request.url === '${String(probe?.path)}'`);
        expect(probe?.port).toBe(port?.name);
      }
    }
  });

  test('metrics have a port of their own, which people cannot reach', () => {
    const Policy = z.looseObject({
      metadata: z.looseObject({ name: z.string() }),
      spec: z.looseObject({
        ingress: z
          .array(z.looseObject({ from: z.unknown(), ports: z.array(z.looseObject({ port: z.int() })) }))
          .default([]),
      }),
    });
    const open = new Map(
      manifests
        .filter(({ kind }) => kind === 'NetworkPolicy')
        .map((each) => Policy.parse(each))
        .map(({ metadata, spec }) => [
          metadata.name,
          spec.ingress.flatMap(({ ports }) => ports.map(({ port }) => port)),
        ]),
    );
    for (const [service, workload] of services) {
      const { ports, env } = containerOf(workload);
      const [http, metrics] = [portOf(ports, 'http'), portOf(ports, 'metrics')];
      expect(env.find(({ name }) => name === 'HOLDPOINT_METRICS_PORT')?.value).toBe(String(metrics));
      expect(workload.spec.template.metadata.annotations).toMatchObject({
        'prometheus.io/scrape': 'true',
        'prometheus.io/path': '/metrics',
        'prometheus.io/port': String(metrics),
      });
      expect(compose[service]?.environment['HOLDPOINT_METRICS_PORT']).toBe(String(metrics));
      expect([http, open.get('metrics'), open.get('people')]).toEqual([8080, [metrics], [http]]);
    }
  });

  test('every pod has more time to stop than its service needs', () => {
    for (const [, workload] of services) {
      const { terminationGracePeriodSeconds } = workload.spec.template.spec;
      const before = containerOf(workload).lifecycle?.preStop.sleep.seconds ?? 0;
      expect(terminationGracePeriodSeconds * 1_000).toBeGreaterThan(before * 1_000 + STOP_DEADLINE_MS);
    }
  });

  test('no container has more rights than it needs', () => {
    for (const workload of all) {
      const { securityContext, volumes } = workload.spec.template.spec;
      expect(securityContext).toMatchObject({
        runAsNonRoot: true,
        seccompProfile: { type: 'RuntimeDefault' },
      });
      expect(securityContext['runAsUser']).toBeGreaterThan(0);
      for (const container of [...workload.spec.template.spec.initContainers, containerOf(workload)]) {
        expect(container.securityContext).toEqual({
          allowPrivilegeEscalation: false,
          readOnlyRootFilesystem: true,
          capabilities: { drop: ['ALL'] },
        });
        const { requests, limits } = container.resources;
        expect([requests['cpu'], requests['memory'], limits['memory']]).not.toContain(undefined);
      }
      const modes = volumes.flatMap(({ secret }) => secret?.defaultMode ?? []);
      expect(modes.filter((mode) => mode !== 0o440)).toEqual([]);
    }
  });

  test('each container mounts its own secrets only', () => {
    const made = new Set([...sharesOf('/c').map(({ to }) => `holdpoint-${to}`), 'holdpoint-provision']);
    const own = (part: string): readonly string[] => (part === 'nats' ? [] : [`holdpoint-${part}`]);
    for (const workload of all) {
      const names = workload.spec.template.spec.volumes
        .flatMap(({ secret }) => secret?.secretName ?? [])
        // This secret belongs to the database administrator.
        .filter((name) => workload.kind !== 'Job' || name !== 'holdpoint-database-administrator');
      expect([workload.metadata.name, names]).toEqual([workload.metadata.name, own(partOf(workload))]);
      expect(names.filter((name) => !made.has(name))).toEqual([]);
    }
  });

  test('settings name files that the mounted secrets contain', () => {
    const shares = new Map(sharesOf('/c').map(({ to, secrets }) => [to, secrets.map(({ name }) => name)]));
    for (const workload of all) {
      const paths = containerOf(workload).env.flatMap(({ value }) =>
        value?.startsWith('/run/holdpoint/') === true ? [value.slice('/run/holdpoint/'.length)] : [],
      );
      if (paths.length === 0) continue;
      expect(shares.get(partOf(workload))).toEqual(expect.arrayContaining(paths));
    }
    expect(postgresRoles).toContain('hp_admin');
  });

  test('journals are kept: no autoscaler removes an executor', () => {
    const executors = services.filter(([service]) => service === 'executor').map(([, workload]) => workload);
    expect(executors.length).toBeGreaterThan(0);
    for (const { kind, spec } of executors) {
      expect(kind).toBe('StatefulSet');
      expect(spec.podManagementPolicy).toBe('Parallel');
      expect(spec.persistentVolumeClaimRetentionPolicy).toEqual({
        whenDeleted: 'Retain',
        whenScaled: 'Retain',
      });
      expect(spec.volumeClaimTemplates.map(({ metadata }) => metadata.name)).toContain('journal');
    }
  });

  test('replicas are spread over nodes, and one at a time may stop', () => {
    const Budget = z.looseObject({
      spec: z.looseObject({
        maxUnavailable: z.literal(1),
        selector: z.strictObject({ matchLabels: z.record(z.string(), z.string()) }),
      }),
    });
    const budgets = manifests
      .filter(({ kind }) => kind === 'PodDisruptionBudget')
      .map((each) => Budget.parse(each).spec.selector.matchLabels);
    for (const [, { spec }] of services) {
      const { labels } = spec.template.metadata;
      expect(spec.template.spec.topologySpreadConstraints.map(({ topologyKey }) => topologyKey)).toEqual([
        'kubernetes.io/hostname',
        'topology.kubernetes.io/zone',
      ]);
      expect(budgets.filter((selector) => isSelected(labels, selector))).toHaveLength(1);
      expect(isSelected(labels, spec.selector?.matchLabels ?? { none: 'selected' })).toBe(true);
    }
    // No workload selects the pods of another workload.
    for (const [, { spec }] of services) {
      const mine = services.filter(([, other]) =>
        isSelected(other.spec.template.metadata.labels, spec.selector?.matchLabels ?? {}),
      );
      expect(mine).toHaveLength(1);
    }
  });
});

test('Prometheus scrapes the published metrics port of each service of the compose project', () => {
  const Config = z.looseObject({
    scrape_configs: z.array(
      z.looseObject({ static_configs: z.array(z.looseObject({ targets: z.array(z.string()) })) }),
    ),
  });
  const { scrape_configs: jobs } = Config.parse(parse(readSource('infra/prometheus/prometheus.yaml')));
  const targets = jobs.flatMap((job) => job.static_configs.flatMap((each) => each.targets));
  const published = SERVICES.map((service) => {
    const inside = compose[service]?.environment['HOLDPOINT_METRICS_PORT'];
    const line = compose[service]?.ports.find((each) => each.endsWith(`:${String(inside)}`)) ?? '';
    return line.replace(/\$\{\w+:-(\d+)\}/, '$1').replace(/:\d+$/, '');
  });
  expect(published.every((each) => /^127\.0\.0\.1:\d+$/.test(each))).toBe(true);
  expect(targets.toSorted()).toEqual(published.toSorted());
});

test('Prometheus inside the compose project scrapes every service on its metrics port', () => {
  const Config = z.looseObject({
    scrape_configs: z.tuple([
      z.looseObject({
        dns_sd_configs: z.tuple([z.looseObject({ names: z.array(z.string()), port: z.int() })]),
      }),
    ]),
  });
  const [
    {
      dns_sd_configs: [{ names, port }],
    },
  ] = Config.parse(parse(readSource('infra/prometheus/compose.yaml'))).scrape_configs;
  expect(names.toSorted()).toEqual(SERVICES.toSorted());
  for (const service of SERVICES)
    expect(compose[service]?.environment['HOLDPOINT_METRICS_PORT']).toBe(String(port));
});

const Scaler = z.looseObject({
  metadata: z.looseObject({ name: z.string() }),
  spec: z.looseObject({
    scaleTargetRef: z.looseObject({ kind: z.string(), name: z.string() }),
    minReplicaCount: z.int().optional(),
    maxReplicaCount: z.int().optional(),
    minReplicas: z.int().optional(),
    maxReplicas: z.int().optional(),
    advanced: z
      .looseObject({
        horizontalPodAutoscalerConfig: z.looseObject({
          behavior: z.looseObject({ scaleDown: z.looseObject({}) }),
        }),
      })
      .optional(),
    behavior: z.looseObject({ scaleDown: z.looseObject({}) }).optional(),
    triggers: z
      .array(z.looseObject({ type: z.string(), metadata: z.record(z.string(), z.string()) }))
      .optional(),
  }),
});
const scalersOf = (example: Example) =>
  rendered(example)
    .filter(({ kind }) => kind === 'ScaledObject' || kind === 'HorizontalPodAutoscaler')
    .map((each) => Scaler.parse(each));

describe.each(['production', 'without-keda'] as const)('the autoscalers of %s', (example) => {
  const scalers = scalersOf(example);
  const services = servicesOf(example);

  test('each scaled service has one autoscaler with a minimum and a maximum', () => {
    const targets = scalers.map(({ spec }) => `${spec.scaleTargetRef.kind}/${spec.scaleTargetRef.name}`);
    const scaled = services.filter(([, { spec }]) => spec.replicas === undefined);
    expect(targets.toSorted()).toEqual(
      scaled.map(([, { kind, metadata }]) => `${kind}/${metadata.name}`).toSorted(),
    );
    for (const { spec } of scalers) {
      expect(spec.minReplicaCount ?? spec.minReplicas).toBeGreaterThanOrEqual(2);
      expect(spec.maxReplicaCount ?? spec.maxReplicas).toBeGreaterThan(2);
    }
  });

  test('no autoscaler removes an executor, because each has a journal', () => {
    for (const { spec } of scalers) {
      const behavior = spec.behavior ?? spec.advanced?.horizontalPodAutoscalerConfig.behavior;
      const isExecutor = spec.scaleTargetRef.name.startsWith('executor');
      expect(behavior?.scaleDown['selectPolicy'] === 'Disabled').toBe(isExecutor);
    }
  });

  test('all replicas together stay below the connection limit of their role', () => {
    const job = workloads(rendered(example)).find(({ kind }) => kind === 'Job');
    const limit = Number(
      job && containerOf(job).env.find(({ name }) => name === 'HOLDPOINT_ROLE_CONNECTIONS_MAX')?.value,
    );
    for (const service of SERVICES) {
      const most = services
        .filter(([each]) => each === service)
        .map(([, { kind, metadata, spec }]) => {
          const scaler = scalers.find((each) => each.spec.scaleTargetRef.name === metadata.name)?.spec;
          const surge = kind === 'Deployment' ? 1 : 0;
          return (scaler?.maxReplicaCount ?? scaler?.maxReplicas ?? spec.replicas ?? 1) + surge;
        });
      expect(most.reduce((sum, each) => sum + each, 0) * CONNECTIONS_MAX).toBeLessThanOrEqual(limit);
    }
  });
});

test('KEDA watches exactly the consumers of each scaled service', () => {
  const pools = ['default', 'web'];
  const consumers = consumersFor(pools);
  const [orchestrator] = servicesOf('production').filter(([service]) => service === 'orchestrator');
  const env = orchestrator && containerOf(orchestrator[1]).env;
  expect(env?.find(({ name }) => name === 'HOLDPOINT_DEPLOYMENT_POOLS')?.value).toBe(pools.join(','));
  expect(env?.find(({ name }) => name === 'HOLDPOINT_STREAM_REPLICAS')?.value).toBe('3');
  for (const { spec } of scalersOf('production')) {
    const { name } = spec.scaleTargetRef;
    const triggers = spec.triggers ?? [];
    expect(triggers.map(({ type }) => type)).toContain('cpu');
    const watched = triggers.filter(({ type }) => type === 'nats-jetstream').map(({ metadata }) => metadata);
    expect(new Set(watched.map(({ account }) => account))).toEqual(new Set(['CORE']));
    const wanted = consumers.filter((each) =>
      name === 'executor-web' ? each.name === 'executor-web' : each.service === name,
    );
    expect(watched.map(({ stream, consumer }) => `${String(stream)}/${String(consumer)}`).toSorted()).toEqual(
      wanted.map((each) => `${each.stream}/${each.name}`).toSorted(),
    );
  }
});
