import type { JsonSchemaType } from '@modelcontextprotocol/sdk/validation';
import { AjvJsonSchemaValidator } from '@modelcontextprotocol/sdk/validation/ajv';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { readSource } from '../repo/source-tree.ts';
import {
  EXAMPLES,
  helm,
  type Manifest,
  parseManifests,
  rendered,
  renderedNow,
  template,
} from './manifests.ts';

const there = helm('version') !== undefined;
if (!there) process.stderr.write('k8s: the chart was not rendered, because there is no helm\n');

const byName = (manifests: readonly Manifest[]): Readonly<Record<string, Manifest>> =>
  Object.fromEntries(
    manifests.map((each) => [`${each.apiVersion} ${each.kind} ${each.metadata.name}`, each]),
  );

test.skipIf(!there).each(EXAMPLES)('infra/chart/rendered/%s.yaml is the output of helm', (example) => {
  const made = parseManifests(renderedNow(example)?.stdout ?? '');
  expect(Object.keys(byName(made))).toHaveLength(made.length);
  expect(byName(rendered(example)), 'run node tests/k8s/render.ts').toEqual(byName(made));
});

test.skipIf(!there)('helm finds no fault in the chart', () => {
  expect(helm('lint', '--strict', 'infra/chart')).toMatchObject({ status: 0 });
});

const WRONG = [
  ['a value with a typo', 'imge.tag=1', /imge/],
  ['a setting with a typo', 'orchestrator.settings.HOLDPOINT_BATCHMAX=1', /HOLDPOINT_BATCHMAX/],
  [
    'a setting of another service',
    'recovery.settings.HOLDPOINT_ADMINISTRATORS=me',
    /HOLDPOINT_ADMINISTRATORS/,
  ],
  [
    'a setting that the chart sets',
    'executors[0].settings.HOLDPOINT_EXECUTOR_POOLS=web',
    /HOLDPOINT_EXECUTOR_POOLS/,
  ],
  ['a number instead of a name', 'logLevel=3', /logLevel/],
  ['an outside bus without addresses', 'nats.inside.enabled=false', /nats/],
  ['an outside database without a host', 'postgres.inside.enabled=false', /postgres/],
  ['two executors that share files', 'executors[0].replicas=2', /replicas/],
  ['an ingress without TLS', 'ingress.enabled=true,ingress.host=holdpoint.example', /tlsSecret/],
  ['KEDA without the endpoint of NATS', 'autoscaling.by=keda', /monitoring/],
] as const;

test.skipIf(!there).each(WRONG)('the chart refuses %s', (_, value, named) => {
  // A list is replaced as a whole.
  const base = ['--values', 'infra/chart/values.yaml'];
  const made = template(...base, '--set', value);
  expect(made?.status).not.toBe(0);
  expect(made?.stderr).toMatch(named);
});

// Only a cluster has secrets to look up, so this reads the template.
test('a certificate is demanded before the installation, unless an annotation has it made', () => {
  const source = readSource('infra/chart/templates/secrets.yaml');
  expect(source.match(/^.*tlsSecret.*$/gm)).toEqual([
    '{{- if and .Values.ingress.enabled (not $issued) }}{{ $needed = append $needed .Values.ingress.tlsSecret }}{{ end }}',
  ]);
  const [, pattern = ''] = /regexMatch "([^"]+)" \$name \}\}\{\{ \$issued = true/.exec(source) ?? [];
  const issued = (annotation: string): boolean => new RegExp(pattern).test(annotation);
  const makers = ['cert-manager.io/cluster-issuer', 'cert-manager.io/issuer', 'kubernetes.io/tls-acme'];
  const others = ['nginx.ingress.kubernetes.io/auth-tls-secret', 'traefik.ingress.kubernetes.io/router.tls'];
  expect([...makers, ...others].map(issued)).toEqual([true, true, true, false, false]);
});

type Values = Record<string, unknown>;

/** The default values with `--set`, as helm reads it. */
const valuesWith = (settings: string): unknown => {
  const values = parse(readSource('infra/chart/values.yaml')) as Values;
  for (const setting of settings.split(',').filter(Boolean)) {
    const [path = '', text = ''] = setting.split('=');
    const names = path.split(/\.|\[(\d+)\]\.?/).filter(Boolean);
    const last = names.pop() ?? '';
    const inner = names.reduce((each, name) => (each[name] ??= {}) as Values, values);
    inner[last] = parse(text) as unknown;
  }
  return values;
};

describe('the schema of values, without helm', () => {
  const check = new AjvJsonSchemaValidator().getValidator(
    JSON.parse(readSource('infra/chart/values.schema.json')) as JsonSchemaType,
  );

  test('the schema takes the default values', () => {
    expect(check(valuesWith(''))).toMatchObject({ valid: true });
  });

  test.each(WRONG)('the schema refuses %s', (_, value) => {
    expect(check(valuesWith(value))).toMatchObject({ valid: false });
  });
});
