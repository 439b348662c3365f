const integration = (folder: string, ...names: readonly string[]): readonly string[] =>
  names.map((name) => `tests/integration/${folder}/${name}.int.test.ts`);

/** The integration tests of `npm test`: the store, the bus, the APIs, and one kill of each service. */
export const QUICK: readonly string[] = [
  ...integration('runtime', 'store-contract', 'engine-postgres', 'kill-each-service', 'schema'),
  ...integration('bus', 'odd-messages', 'separation', 'dead-letters'),
  ...integration(
    'tasks',
    'gated-task',
    'bad-submissions',
    'task-list',
    'failure-classes',
    'programs',
    'retention',
  ),
  ...integration(
    'approvals',
    'bad-decisions',
    'inbox',
    'inbox-service',
    'http-surface',
    'rules',
    'audit-service',
  ),
  ...integration('approvals', 'console-gateway', 'websocket', 'identity'),
  ...integration('executor', 'effect-orders', 'work-orders', 'circuits', 'in-doubt', 'http-effects'),
  ...integration('executor', 'own-capabilities', 'outside-effects', 'hostile-processes'),
  'infra/nats/permissions.int.test.ts',
  'infra/postgres/provision.int.test.ts',
];
