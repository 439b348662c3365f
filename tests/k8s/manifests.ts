import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseAllDocuments } from 'yaml';
import { z } from 'zod';
import { readSource, ROOT } from '../repo/source-tree.ts';

/** The fields that every manifest has. Tests read further fields with their own schemas. */
export const Manifest = z.looseObject({
  apiVersion: z.string(),
  kind: z.string(),
  metadata: z.looseObject({
    name: z.string(),
    namespace: z.string().optional(),
    labels: z.record(z.string(), z.string()).default({}),
  }),
});
export type Manifest = z.infer<typeof Manifest>;

const CHART = 'infra/chart';
/** The examples of the chart, each with the files of values that make it. */
const VALUES = {
  trial: ['trial'],
  production: ['production'],
  'without-keda': ['production', 'without-keda'],
} as const;
export type Example = keyof typeof VALUES;
export const EXAMPLES = Object.keys(VALUES) as readonly Example[];

const fileOf = (example: Example): string => `${CHART}/rendered/${example}.yaml`;

export const parseManifests = (text: string): readonly Manifest[] =>
  parseAllDocuments(text)
    .map((document) => document.toJS() as unknown)
    // A file of templates may render nothing but comments.
    .filter((each) => each !== null)
    .map((each) => Manifest.parse(each));

/** The manifests of an example as they are checked in. */
export const rendered = (example: Example): readonly Manifest[] =>
  parseManifests(readSource(fileOf(example)));

export type Helm = { readonly status: number; readonly stdout: string; readonly stderr: string };

/** Runs helm in the root of the repository; undefined without helm. */
export const helm = (...args: readonly string[]): Helm | undefined => {
  const { error, status, stdout, stderr } = spawnSync('helm', args, { cwd: ROOT, encoding: 'utf8' });
  return error === undefined ? { status: status ?? 1, stdout, stderr } : undefined;
};

/** Renders the chart for the oldest Kubernetes that it supports; undefined without helm. */
export const template = (...args: readonly string[]): Helm | undefined =>
  helm('template', 'holdpoint', CHART, '--namespace', 'holdpoint', '--kube-version', '1.30.0', ...args);

/** Renders an example; undefined without helm. */
export const renderedNow = (example: Example, ...more: readonly string[]): Helm | undefined =>
  template(...VALUES[example].flatMap((name) => ['--values', `${CHART}/examples/${name}.yaml`]), ...more);

/** Writes the manifests of an example, as helm renders them. */
export const update = (example: Example): void => {
  const made = renderedNow(example);
  if (made?.status === 0) writeFileSync(join(ROOT, fileOf(example)), made.stdout);
  else throw new Error(made?.stderr ?? 'there is no helm');
};

const KeyRef = z.strictObject({ name: z.string(), key: z.string() });
const EnvVar = z.strictObject({
  name: z.string(),
  value: z.string().optional(),
  valueFrom: z.strictObject({ configMapKeyRef: KeyRef }).optional(),
});
const Probe = z.looseObject({
  httpGet: z.strictObject({ path: z.string(), port: z.string() }).optional(),
  exec: z.looseObject({}).optional(),
});
const Container = z.looseObject({
  name: z.string(),
  image: z.string(),
  command: z.array(z.string()).optional(),
  args: z.array(z.string()).optional(),
  env: z.array(EnvVar).default([]),
  ports: z.array(z.strictObject({ name: z.string(), containerPort: z.int() })).default([]),
  startupProbe: Probe.optional(),
  livenessProbe: Probe.optional(),
  readinessProbe: Probe.optional(),
  lifecycle: z
    .strictObject({ preStop: z.strictObject({ sleep: z.strictObject({ seconds: z.number() }) }) })
    .optional(),
  resources: z.looseObject({
    requests: z.record(z.string(), z.string()),
    limits: z.record(z.string(), z.string()),
  }),
  securityContext: z.looseObject({}),
  volumeMounts: z
    .array(z.strictObject({ name: z.string(), mountPath: z.string(), readOnly: z.boolean().optional() }))
    .default([]),
});
export type Container = z.infer<typeof Container>;

const Volume = z.looseObject({
  name: z.string(),
  secret: z.strictObject({ secretName: z.string(), defaultMode: z.int() }).optional(),
});

const PodTemplate = z.looseObject({
  metadata: z.looseObject({
    labels: z.record(z.string(), z.string()),
    annotations: z.record(z.string(), z.string()).default({}),
  }),
  spec: z.looseObject({
    serviceAccountName: z.string().optional(),
    automountServiceAccountToken: z.literal(false),
    terminationGracePeriodSeconds: z.int().default(30),
    topologySpreadConstraints: z.array(z.looseObject({ topologyKey: z.string() })).default([]),
    securityContext: z.looseObject({}),
    initContainers: z.array(Container).default([]),
    containers: z.array(Container).length(1),
    volumes: z.array(Volume).default([]),
  }),
});

const Labels = z.record(z.string(), z.string());
const Workload = Manifest.extend({
  kind: z.enum(['Deployment', 'StatefulSet', 'Job']),
  spec: z.looseObject({
    replicas: z.int().optional(),
    selector: z.strictObject({ matchLabels: Labels }).optional(),
    template: PodTemplate,
    podManagementPolicy: z.string().optional(),
    persistentVolumeClaimRetentionPolicy: z.record(z.string(), z.string()).optional(),
    volumeClaimTemplates: z
      .array(z.looseObject({ metadata: z.looseObject({ name: z.string() }) }))
      .default([]),
  }),
});
export type Workload = z.infer<typeof Workload>;

/** The kinds that run containers. */
export const workloads = (manifests: readonly Manifest[]): readonly Workload[] =>
  manifests
    .filter(({ kind }) => ['Deployment', 'StatefulSet', 'Job'].includes(kind))
    .map((manifest) => Workload.parse(manifest));

export const isSelected = (
  labels: Readonly<Record<string, string>>,
  selector: Readonly<Record<string, string>>,
): boolean => Object.entries(selector).every(([name, value]) => labels[name] === value);

/** The only container of a pod. */
export const containerOf = ({ spec }: Workload): Container => {
  const [container] = spec.template.spec.containers;
  if (container === undefined) throw new Error('a pod without a container');
  return container;
};
