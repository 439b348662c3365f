import { type ServiceName, SERVICES } from '@holdpoint/contracts/bus/subjects';
import { settings } from './settings.ts';

export const CHART_SCHEMA_FILE = 'infra/chart/values.schema.json';

/** JSON Schema. */
type Schema = { readonly [keyword: string]: unknown };

/** Settings that the templates of the chart set: from other values, or because the pod fixes them. */
const SET_BY_CHART: ReadonlySet<string> = new Set([
  'HOLDPOINT_NATS_URL',
  'HOLDPOINT_NATS_SEED_FILE',
  'HOLDPOINT_NATS_TOPOLOGY_SEED_FILE',
  'HOLDPOINT_DATABASE_URL',
  'HOLDPOINT_DATABASE_PASSWORD_FILE',
  'HOLDPOINT_TRUST_FILE',
  'HOLDPOINT_LOG_LEVEL',
  'HOLDPOINT_HTTP_HOST',
  'HOLDPOINT_HTTP_PORT',
  'HOLDPOINT_METRICS_PORT',
  'HOLDPOINT_DEPLOYMENT_POOLS',
  'HOLDPOINT_STREAM_REPLICAS',
  'HOLDPOINT_GRANT_KEY_FILE',
  'HOLDPOINT_PRINCIPALS_FILE',
  'HOLDPOINT_EXECUTOR_POOLS',
  'HOLDPOINT_WORKSPACE',
  'HOLDPOINT_JOURNAL_DIR',
  'HOLDPOINT_STATE_DIR',
  'HOLDPOINT_REPOSITORIES',
]);

const text = { type: 'string' } as const;
const filled = { type: 'string', minLength: 1 } as const;
const yesOrNo = { type: 'boolean' } as const;
const count = { type: 'integer', minimum: 1 } as const;
const port = { type: 'integer', minimum: 1, maximum: 65_535 } as const;
const texts = { type: 'array', items: filled } as const;
const label = { type: 'string', pattern: '^[a-z0-9]([-a-z0-9]{0,40}[a-z0-9])?$' } as const;
const size = { type: 'string', pattern: '^[1-9][0-9]*(Mi|Gi|Ti)$' } as const;
const annotations = { type: 'object', additionalProperties: text } as const;

/** Unknown names are refused. */
const exactly = (properties: Readonly<Record<string, Schema>>, optional: readonly string[] = []): Schema => ({
  type: 'object',
  additionalProperties: false,
  required: Object.keys(properties).filter((name) => !optional.includes(name)),
  properties,
});

/** `then` in a literal would look like a promise. */
const when = (
  condition: Readonly<Record<string, Schema>>,
  demanded: Readonly<Record<string, Schema>>,
): Schema => ({
  if: { not: { properties: condition } },
  else: { properties: demanded },
});

const settingsOf = (service: ServiceName): Schema => {
  const groups = settings();
  const title = service.charAt(0).toUpperCase() + service.slice(1);
  const names = ['Every service', title]
    .flatMap((group) => groups.get(group) ?? [])
    .filter(({ name, use }) => use !== 'tests' && !SET_BY_CHART.has(name))
    .map(({ name }) => name);
  return {
    type: 'object',
    propertyNames: { enum: names },
    additionalProperties: { type: ['string', 'number', 'boolean'] },
  };
};

const quantities = { type: 'object', additionalProperties: { type: ['string', 'number'] } } as const;
const resources = exactly({ requests: quantities, limits: quantities });

const service = (name: ServiceName, more: Readonly<Record<string, Schema>> = {}): Schema =>
  exactly({ replicas: count, replicasMax: count, settings: settingsOf(name), resources, ...more });

const server = exactly({ enabled: yesOrNo, image: filled, storage: size, storageClass: text });

/** Without the server inside, the value that names the one outside is needed. */
const insideOr = (name: string): Schema =>
  when(
    { inside: { properties: { enabled: { const: false } } } },
    { [name]: filled, networks: { minItems: 1 } },
  );

/** The values of the chart. `replicas` of a pool with files is one: its disks hold the files. */
const values: Schema = exactly({
  image: exactly({
    repository: filled,
    tag: text,
    digest: { type: 'string', pattern: '^(sha256:[0-9a-f]{64})?$' },
    pullPolicy: { enum: ['Always', 'IfNotPresent', 'Never'] },
    pullSecrets: texts,
  }),
  logLevel: { enum: ['trace', 'debug', 'info', 'warn', 'error', 'silent'] },
  streamReplicas: { enum: [1, 3, 5] },
  nats: {
    ...exactly({
      inside: server,
      addresses: { type: 'string', pattern: '^((nats|tls)://[^,\\s]+(,(nats|tls)://[^,\\s]+)*)?$' },
      networks: texts,
      port,
    }),
    ...insideOr('addresses'),
  },
  postgres: {
    ...exactly({
      inside: server,
      host: text,
      networks: texts,
      port,
      parameters: text,
      administrator: exactly({ role: filled, database: filled, secret: text }),
      roleConnectionsMax: { type: 'integer', minimum: 8, maximum: 10_000 },
      keepDays: { anyOf: [{ const: '' }, count] },
    }),
    ...insideOr('host'),
  },
  secrets: exactly(Object.fromEntries([...SERVICES, 'provision', 'postgres'].map((name) => [name, filled]))),
  orchestrator: service('orchestrator'),
  approvals: service('approvals', { outside: yesOrNo }),
  recovery: service('recovery'),
  executors: {
    type: 'array',
    minItems: 1,
    items: {
      ...exactly(
        {
          pool: label,
          replicas: count,
          replicasMax: count,
          files: yesOrNo,
          image: text,
          settings: settingsOf('executor'),
          resources,
          storage: exactly({ class: text, journal: size, workspace: size, repositories: size }, [
            'class',
            'workspace',
            'repositories',
          ]),
        },
        ['replicasMax', 'image', 'settings'],
      ),
      ...when(
        { files: { const: true } },
        { replicas: { const: 1 }, storage: { required: ['workspace', 'repositories'] } },
      ),
    },
  },
  autoscaling: {
    ...exactly({
      by: { enum: ['none', 'cpu', 'keda'] },
      cpuPercent: { type: 'integer', minimum: 1, maximum: 100 },
      monitoring: text,
      account: filled,
    }),
    ...when({ by: { const: 'keda' } }, { monitoring: filled }),
  },
  ingress: {
    ...exactly({ enabled: yesOrNo, className: text, host: text, tlsSecret: text, annotations }),
    ...when({ enabled: { const: true } }, { host: filled, tlsSecret: filled }),
  },
  networkPolicies: exactly({ enabled: yesOrNo, ingressNamespace: filled, monitoringNamespace: filled }),
  tracing: exactly({ endpoint: text, share: { type: 'number', minimum: 0, maximum: 1 } }),
  certificateAuthority: exactly({ secret: text }),
  nodeSelector: annotations,
  tolerations: { type: 'array', items: { type: 'object' } },
  podAnnotations: annotations,
});

/** The schema of the chart's values: Helm refuses every other name, setting and type. */
export const chartSchema = (): string =>
  `${JSON.stringify(
    {
      $schema: 'http://json-schema.org/draft-07/schema#',
      title: 'Values of the chart of Holdpoint',
      ...values,
      properties: { ...(values['properties'] as Schema), global: { type: 'object' } },
    },
    undefined,
    2,
  )}\n`;
