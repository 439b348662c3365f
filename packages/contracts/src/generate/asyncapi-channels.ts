import { api } from '../catalog/api.ts';
import { commands } from '../catalog/commands.ts';
import { commandDescriptions } from './descriptions.ts';
import { eventMessages } from './json-schema.ts';
import type { streams } from '../bus/streams.ts';
import { DEFAULT_POOL } from '../bus/streams.ts';
import { AGGREGATES, type ServiceName, SERVICES, subjects } from '../bus/subjects.ts';

/** One address on the bus with its senders; receivers follow from the consumers. */
export type Channel = {
  readonly key: string;
  /** Null: an inbox that the requester chooses. */
  readonly address: string | null;
  readonly summary: string;
  readonly messages: readonly string[];
  readonly senders: readonly (ServiceName | 'client')[];
  readonly parameters?: Readonly<Record<string, string>>;
  readonly stream?: (typeof streams)[number]['name'];
  readonly replyChannel?: string;
  readonly answeredBy: readonly ServiceName[];
};

/** Senders of commands. The permissions of the bus enforce them. */
const COMMAND_SENDERS: {
  readonly [S in ServiceName]: Readonly<Record<keyof (typeof commands)[S], ServiceName | 'client'>>;
} = {
  orchestrator: {
    submit: 'client',
    cancel: 'client',
    pause: 'client',
    resume: 'client',
    retry: 'client',
    skip: 'client',
    done: 'client',
    checkpoint: 'client',
    record_review: 'client',
    recover: 'recovery',
    circuit_state: 'recovery',
    watch: 'orchestrator',
    notify: 'orchestrator',
    registry: 'orchestrator',
    callback_taken: 'approvals',
  },
  approvals: { request: 'orchestrator', cancel: 'orchestrator', call_back: 'orchestrator' },
  executor: { run: 'orchestrator', cancel: 'orchestrator', resolve: 'orchestrator' },
  recovery: {
    assess: 'orchestrator',
    record_attempt: 'orchestrator',
    job_unstuck: 'orchestrator',
    circuit_report: 'executor',
    circuit_record_failure: 'recovery',
    circuit_acquire: 'orchestrator',
  },
};

// Placeholder for a token, so that addresses use the same code as real subjects.
const PLACE = 'PLACE';
const withParameter = (subject: string, name: string): string => subject.replace(PLACE, `{${name}}`);

const commandAddress: { readonly [S in ServiceName]: (command: string) => string } = {
  orchestrator: subjects.taskCommand,
  approvals: subjects.approvalCommand,
  executor: (command) => withParameter(subjects.effectCommand(command, PLACE), 'pool'),
  recovery: subjects.recoveryCommand,
};

const commandChannels = SERVICES.flatMap((service) => {
  const senders: Readonly<Record<string, ServiceName | 'client'>> = COMMAND_SENDERS[service];
  const descriptions: Readonly<Record<string, string>> = commandDescriptions[service];
  return Object.keys(commands[service]).map((command): Channel => {
    const name = `${AGGREGATES[service]}.${command}`;
    return {
      key: `cmd.${name}`,
      address: commandAddress[service](command),
      summary: descriptions[command] ?? '',
      messages: [`command.${name}`],
      senders: [senders[command] ?? 'client'],
      ...(service === 'executor' && {
        parameters: { pool: `Pool of the executors; default: \`${DEFAULT_POOL}\`.` },
      }),
      stream: 'HP_CMD',
      answeredBy: [],
    };
  });
});

const aboutWhat = (aggregate: string, event: string): string => {
  if (aggregate !== 'recovery') return `Id of the ${aggregate}.`;
  return event.startsWith('circuit_') ? 'Id of the circuit.' : 'Id of the task.';
};

const eventChannels = eventMessages.flatMap(({ name, description, service }): readonly Channel[] => {
  const event = name.slice(name.indexOf('.') + 1);
  return service === undefined
    ? []
    : [
        {
          key: `evt.${name}`,
          address: withParameter(subjects.event(AGGREGATES[service], event, PLACE), 'id'),
          summary: description,
          messages: [`event.${name}`],
          senders: [service],
          parameters: { id: aboutWhat(AGGREGATES[service], event) },
          stream: 'HP_EVT',
          answeredBy: [],
        },
      ];
});

const apiChannels = SERVICES.flatMap((service) => {
  const endpoints: Readonly<Record<string, { description: string }>> = api[service];
  return Object.entries(endpoints).flatMap(([endpoint, { description }]): readonly Channel[] => {
    const name = `${service}.${endpoint}`;
    const request: Channel = {
      key: `api.${name}`,
      address: subjects.api(service, endpoint),
      summary: description,
      messages: [`api.${name}.request`],
      senders: ['client'],
      replyChannel: `reply.${name}`,
      answeredBy: [service],
    };
    const reply: Channel = {
      key: `reply.${name}`,
      address: null,
      summary: "The requester's inbox, named by the reply subject.",
      messages: [`api.${name}.response`, 'api.error'],
      senders: [],
      answeredBy: [],
    };
    return [request, reply];
  });
});

const logChannel: Channel = {
  key: 'log.line',
  address: withParameter(withParameter(subjects.log(PLACE, PLACE), 'task'), 'node'),
  summary: 'Output of running steps, line by line.',
  messages: ['log.line'],
  senders: ['executor'],
  parameters: { task: 'Id of the task.', node: 'Id of the node.' },
  stream: 'HP_LOG',
  answeredBy: [],
};

const workChannel: Channel = {
  key: 'work.order',
  address: withParameter(subjects.work(PLACE), 'hash'),
  summary: 'Phases of TypeScript workflows, for workers that have their code.',
  messages: ['work.order'],
  senders: ['orchestrator'],
  parameters: { hash: 'Hash of the workflow version.' },
  stream: 'HP_WORK',
  answeredBy: [],
};

export const asyncApiChannels = (): readonly Channel[] => [
  ...commandChannels,
  ...eventChannels,
  ...apiChannels,
  workChannel,
  logChannel,
];
