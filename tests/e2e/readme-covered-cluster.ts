/** Where a command is tried that is about a cluster, a release or a contribution. */
type Cover = readonly (readonly [file: string, says: string])[];

const RENDERED: Cover = [
  ['tests/k8s/rendered.test.ts', 'is what kubectl makes of the overlay'],
  ['tests/k8s/schemas.test.ts', 'the JSON schema of its kind'],
];
/** There is no cluster to give it to: what it would be given is held against its schemas. */
const given = (...says: readonly (readonly [string, string])[]): Cover => [...RENDERED, ...says];

const MADE: Cover = [
  ['infra/k8s/secret-manifests.test.ts', `run('--credentials', credentials, '--nats', '--output', file)`],
  ['tests/k8s/project.test.ts', 'mounts into each the secrets that are its own'],
];

const JOB: readonly (readonly [string, string])[] = [
  ['infra/k8s/base/provision.yaml', 'name: provision'],
  ['tests/integration/runtime/rolling-update.int.test.ts', 'with a migration between'],
];

const COMPOSED: Cover = [['tests/e2e/compose-project.ts', `['up', '--detach', '--build'`]];

const CHECKED: Cover = [
  ['infra/test.ts', `program: 'tsc'`],
  ['infra/test.ts', `program: 'oxlint'`],
  ['infra/test.ts', `program: 'oxfmt'`],
];

export const coveredCluster: Readonly<Record<string, Cover>> = {
  'kubectl create namespace holdpoint': given(['infra/k8s/base/namespace.yaml', 'name: holdpoint']),
  'node infra/k8s/secrets.ts --credentials <folder>': MADE,
  'node infra/k8s/secrets.ts --credentials <folder> --nats --output <file>': MADE,
  'kubectl apply -f <file>': MADE,
  'kubectl apply -k infra/k8s/overlays/dev': RENDERED,
  'kubectl -n holdpoint wait --for=condition=complete job/provision --timeout=10m': given(...JOB),
  'kubectl -n holdpoint wait --for=condition=complete job/provision --timeout=1h': given(...JOB),
  'kubectl -n holdpoint delete job provision --ignore-not-found': given(...JOB),
  'kubectl apply -k infra/k8s/overlays/production -l app.kubernetes.io/component=provision': given(
    [
      'tests/k8s/project.test.ts',
      'what is labelled `provision` is all that the job needs before the services come',
    ],
    ...JOB,
  ),
  'kubectl apply -k infra/k8s/overlays/production': RENDERED,
  'docker compose -f infra/compose/compose.yaml build': COMPOSED,
  'docker compose -f infra/compose/compose.yaml up --build --detach': COMPOSED,
  'npm run check': CHECKED,
  'npm run fix': [...CHECKED, ['package.json', '"fix": "oxlint --fix && oxfmt"']],
  'npm run simulate': [
    ['infra/bootstrap.mjs', `simulate: 'tests/simulation/main.ts'`],
    ['tests/simulation/simulation.test.ts', 'campaign'],
  ],
  'npm run bench -- --in-flight  --waiting 0 --graphs  --effects  --queued 0 --pending 0 --inbox 0 --watchers 0 --replicas 1,2,4':
    [
      ['infra/bootstrap.mjs', `bench: 'tests/bench/main.ts'`],
      ['tests/bench/sizing.test.ts', 'the sizing table says what comes of the measured costs'],
    ],
};
