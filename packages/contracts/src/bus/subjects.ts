import { TOKEN } from '../values/ids.ts';

/** A NATS subject made of checked tokens. No subject is put together outside this file. */
export type Subject = string & { readonly Subject: unique symbol };

export const PREFIX = 'hp';

/** The four services, each with a schema, a bus user and an API of its own. */
export const SERVICES = ['orchestrator', 'approvals', 'executor', 'recovery'] as const;
export type ServiceName = (typeof SERVICES)[number];

/** What facts are about; the aggregate each service keeps. */
export const AGGREGATES = {
  orchestrator: 'task',
  approvals: 'approval',
  executor: 'effect',
  recovery: 'recovery',
} as const;
export type Aggregate = (typeof AGGREGATES)[ServiceName];

const checked = (token: string): string => {
  if (!TOKEN.test(token)) throw new TypeError(`not a subject token: ${JSON.stringify(token)}`);
  return token;
};

const subject = (...tokens: readonly string[]): Subject =>
  [PREFIX, ...tokens.map(checked)].join('.') as Subject;

export const subjects = {
  taskCommand: (command: string) => subject('cmd', 'task', command),
  approvalCommand: (command: string) => subject('cmd', 'approval', command),
  effectCommand: (command: string, pool: string) => subject('cmd', 'effect', command, pool),
  recoveryCommand: (command: string) => subject('cmd', 'recovery', command),
  event: (aggregate: Aggregate, event: string, id: string) => subject('evt', aggregate, event, id),
  /** Work on phases of one version of a program, for whoever has its code. */
  work: (hash: string) => subject('work', hash),
  log: (task: string, node: string) => subject('log', task, node),
  api: (service: ServiceName, endpoint: string) => subject('api', service, endpoint),
  deadLetter: (service: ServiceName) => subject('dlq', service),
  /** What became of dead letters of this service. */
  resolvedDeadLetter: (service: ServiceName) => subject('dlq', service, 'settled'),
} as const;

/** Filters, for consumers and permissions: the only places where wildcards stand. */
export const filters = {
  commands: `${PREFIX}.cmd.>`,
  taskCommands: `${PREFIX}.cmd.task.>`,
  approvalCommands: `${PREFIX}.cmd.approval.>`,
  effectCommands: (pool: string) => `${PREFIX}.cmd.effect.*.${pool}`,
  recoveryCommands: `${PREFIX}.cmd.recovery.>`,
  events: `${PREFIX}.evt.>`,
  approvalsResolved: `${PREFIX}.evt.approval.resolved.*`,
  eventsOf: (aggregate: Aggregate) => `${PREFIX}.evt.${aggregate}.>`,
  eventsAbout: (aggregate: Aggregate, id: string) => `${PREFIX}.evt.${aggregate}.*.${checked(id)}`,
  /** What becomes of circuits: executors listen to it. */
  circuitEvents: (['circuit_opened', 'circuit_half_opened', 'circuit_closed'] as const).map(
    (event) => `${PREFIX}.evt.recovery.${event}.*`,
  ),
  /** What becomes of standing rules: the approvals service listens to it. */
  ruleEvents: (['rule_added', 'rule_revoked'] as const).map((event) => `${PREFIX}.evt.approval.${event}.*`),
  /** Where a service is answered that has asked another. */
  answersTo: (service: ServiceName) => `_ASK_${service}.>`,
  work: `${PREFIX}.work.>`,
  logs: `${PREFIX}.log.>`,
  apiOf: (service: ServiceName) => `${PREFIX}.api.${service}.>`,
  deadLetters: `${PREFIX}.dlq.>`,
  resolvedDeadLetters: `${PREFIX}.dlq.*.settled`,
  logsOf: (task: string) => `${PREFIX}.log.${checked(task)}.*`,
} as const;
