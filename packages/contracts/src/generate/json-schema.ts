import { z } from 'zod';
import { api } from '../catalog/api.ts';
import { commands } from '../catalog/commands.ts';
import { events } from '../catalog/events.ts';
import { eventList, type ListedEvent } from '../catalog/event-list.ts';
import { commandDescriptions } from './descriptions.ts';
import { ErrorBody } from '../values/errors.ts';
import { Json } from '../values/json.ts';
import { CHANGED, TaskChanged } from '../task/changed.ts';
import { LogLine } from '../task/log.ts';
import { WorkOrder } from '../program/work.ts';
import { AGGREGATES, type ServiceName, SERVICES } from '../bus/subjects.ts';

export const MESSAGE_KINDS = ['command', 'event', 'api', 'work', 'log'] as const;
/** `internal-event`: in the store and in `history` alone, never a message. */
export type MessageKind = (typeof MESSAGE_KINDS)[number] | 'internal-event';

/** Every body of a message. */
export type Message = {
  readonly kind: MessageKind;
  /** `task.submit`, `task.submitted`, `orchestrator.submit.request`; unique within its kind. */
  readonly name: string;
  readonly description: string;
  readonly service: ServiceName | undefined;
  readonly schema: z.ZodType;
};

const commandMessages = SERVICES.flatMap((service) => {
  const descriptions: Readonly<Record<string, string>> = commandDescriptions[service];
  return Object.entries<z.ZodType>(commands[service]).map(([command, schema]): Message => {
    const name = `${AGGREGATES[service]}.${command}`;
    return { kind: 'command', name, description: descriptions[command] ?? '', service, schema };
  });
});

const failed = (problem: string): never => {
  throw new Error(problem);
};

const eventsThat = (arePublished: boolean): readonly Message[] =>
  SERVICES.flatMap((service) => {
    const listed: Readonly<Record<string, ListedEvent>> = eventList[service];
    return events[service].options.flatMap((schema): readonly Message[] => {
      const event = schema.shape.type.value;
      const { isPublished, description } = listed[event] ?? failed(`${event} is not listed`);
      if (isPublished !== arePublished) return [];
      const name = `${AGGREGATES[service]}.${event}`;
      return [{ kind: arePublished ? 'event' : 'internal-event', name, description, service, schema }];
    });
  });

/** Every message on `hp.evt.>`. */
export const eventMessages: readonly Message[] = [
  ...eventsThat(true),
  {
    kind: 'event',
    name: `task.${CHANGED}`,
    description: 'The history of a task has more events; `version` names the latest.',
    service: 'orchestrator',
    schema: TaskChanged,
  },
];

/** Events without a message. */
export const internalEvents: readonly Message[] = eventsThat(false);

const apiMessages = SERVICES.flatMap((service) => {
  const endpoints: Readonly<
    Record<string, { description: string; request: z.ZodType; response: z.ZodType }>
  > = api[service];
  return Object.entries(endpoints).flatMap(
    ([endpoint, { description, request, response }]): readonly Message[] => {
      const name = `${service}.${endpoint}`;
      return [
        { kind: 'api', name: `${name}.request`, description, service, schema: request },
        {
          kind: 'api',
          name: `${name}.response`,
          description: `Answer to: ${description}`,
          service,
          schema: response,
        },
      ];
    },
  );
});

export const messages: readonly Message[] = [
  ...commandMessages,
  ...eventMessages,
  ...apiMessages,
  {
    kind: 'api',
    name: 'error',
    description: 'Error reply. Codes are stable, texts are not.',
    service: undefined,
    schema: ErrorBody,
  },
  {
    kind: 'work',
    name: 'order',
    description:
      'A phase of a TypeScript workflow for a worker. It may arrive twice or late; the lease decides.',
    service: 'orchestrator',
    schema: WorkOrder,
  },
  {
    kind: 'log',
    name: 'line',
    description: 'One output line of a running step. Lines may be lost; no decision uses them.',
    service: 'executor',
    schema: LogLine,
  },
];

/** Path of a message's schema below the schemas folder. */
export const schemaFile = ({ kind, name }: Message): string => `${kind}/${name}.json`;

const named = z.registry<{ id: string }>().add(Json, { id: 'Json' });

const ANY_JSON = {
  anyOf: [
    { type: 'string' },
    { type: 'number' },
    { type: 'boolean' },
    { type: 'null' },
    { type: 'array', items: { $ref: '#/$defs/Json' } },
    { type: 'object', additionalProperties: { $ref: '#/$defs/Json' } },
  ],
} as const;

/**
 * JSON Schema for clients in other languages. It describes accepted messages: unknown fields are valid,
 * and fields with a default are optional.
 */
export const jsonSchemaOf = (message: Message): Readonly<Record<string, unknown>> => {
  const { $schema, ...schema } = z.toJSONSchema(message.schema, {
    target: 'draft-2020-12',
    io: 'input',
    metadata: named,
    override: ({ zodSchema, jsonSchema }) => {
      if (zodSchema === (Json as z.core.$ZodType)) Object.assign(jsonSchema, ANY_JSON);
      // Property names are always strings; the statement only lengthens the schema.
      if (JSON.stringify(jsonSchema.propertyNames) === '{"type":"string"}') delete jsonSchema.propertyNames;
    },
  });
  return {
    $schema,
    $id: `urn:holdpoint:${message.kind}:${message.name}`,
    title: message.name,
    description: message.description,
    ...schema,
  };
};
