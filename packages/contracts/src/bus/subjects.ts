/** One token of a NATS subject: no dot, wildcard or white space. */
export const TOKEN = /^[A-Za-z0-9_-]{1,64}$/;

/** A NATS subject of checked tokens. Only this file builds subjects. */
export type Subject = string & { readonly Subject: unique symbol };

export const PREFIX = 'hp';

/** The server answers each user with its own account and permissions. */
export const USER_INFO = '$SYS.REQ.USER.INFO';

/** The four services. Each has its own schema, bus user and API. */
export const SERVICES = ['orchestrator', 'approvals', 'executor', 'recovery'] as const;
export type ServiceName = (typeof SERVICES)[number];

/**
 * The services that share their transactions when one process runs all of them. The executor has its own: it confirms each start
 * in its journal before the work begins.
 */
export const CORE_SERVICES = [
  'orchestrator',
  'approvals',
  'recovery',
] as const satisfies readonly ServiceName[];

/** The aggregate of each service, as in the subjects of its events. */
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
  /** Where the bus puts a task command that a person's client has published as `taskCommand`. */
  peopleCommand: (command: string) => subject('in', 'task', command),
  approvalCommand: (command: string) => subject('cmd', 'approval', command),
  effectCommand: (command: string, pool: string) => subject('cmd', 'effect', command, pool),
  recoveryCommand: (command: string) => subject('cmd', 'recovery', command),
  event: (aggregate: Aggregate, event: string, id: string) => subject('evt', aggregate, event, id),
  /** Phases of one workflow version, for workers that have its code. */
  work: (hash: string) => subject('work', hash),
  log: (task: string, node: string) => subject('log', task, node),
  api: (service: ServiceName, endpoint: string) => subject('api', service, endpoint),
  /** Between the replicas of one service: what a standby hands on to the owner, that the owner stops, and hints about claims. */
  own: (service: ServiceName, what: 'decide' | 'stopped' | 'claims') => subject('own', service, what),
  /** Where the answer of the owner arrives. */
  ownAnswer: (service: ServiceName, id: string) => subject('own', service, 'answer', id),
  /** `$SRV.PING` of a service in another account, for a service. */
  ping: (service: ServiceName) => subject('ping', service),
} as const;

/** Filters of consumers and permissions. Only here are wildcards allowed. */
export const filters = {
  commands: `${PREFIX}.cmd.>`,
  taskCommands: `${PREFIX}.cmd.task.>`,
  /** Commands from clients of people, apart from those of services. */
  peopleCommands: `${PREFIX}.in.task.>`,
  approvalCommands: `${PREFIX}.cmd.approval.>`,
  effectCommands: (pool: string) => `${PREFIX}.cmd.effect.*.${pool}`,
  recoveryCommands: `${PREFIX}.cmd.recovery.>`,
  events: `${PREFIX}.evt.>`,
  approvalsResolved: `${PREFIX}.evt.approval.resolved.*`,
  eventsOf: (aggregate: Aggregate) => `${PREFIX}.evt.${aggregate}.>`,
  eventsAbout: (aggregate: Aggregate, id: string) => `${PREFIX}.evt.${aggregate}.*.${checked(id)}`,
  /** Events of circuits, for executors. */
  circuitEvents: (['circuit_opened', 'circuit_half_opened', 'circuit_closed'] as const).map(
    (event) => `${PREFIX}.evt.recovery.${event}.*`,
  ),
  /** Events of standing rules, for the approvals service. */
  ruleEvents: (['rule_added', 'rule_revoked'] as const).map((event) => `${PREFIX}.evt.approval.${event}.*`),
  /** Replies to requests between services. */
  answersTo: (service: ServiceName) => `_ASK_${service}.>`,
  work: `${PREFIX}.work.>`,
  logs: `${PREFIX}.log.>`,
  apiOf: (service: ServiceName) => `${PREFIX}.api.${service}.>`,
  ownOf: (service: ServiceName) => `${PREFIX}.own.${service}.>`,
  logsOf: (task: string) => `${PREFIX}.log.${checked(task)}.*`,
} as const;

/** Whether a filter with wildcards matches a subject. */
export const matches = (filter: string, subject: string): boolean => matcherOf(filter)(subject.split('.'));

/** The same for many subjects, which are split into their tokens: the filter is taken apart once. */
export const matcherOf = (filter: string): ((tokens: readonly string[]) => boolean) => {
  const wanted = filter.split('.');
  const isOpen = wanted.at(-1) === '>';
  return (tokens) =>
    (isOpen ? tokens.length >= wanted.length : tokens.length === wanted.length) &&
    wanted.every((token, i) => token === '>' || token === '*' || token === tokens[i]);
};
