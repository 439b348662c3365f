import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import addFormats from 'ajv-formats';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { describe, expect, test } from 'vitest';
import { effectDigest } from '../effect/canonical-effect.ts';
import { RunEffect } from '../effect/commands.ts';
import { approvalIdOf, effectIdOf } from '../values/ids.ts';
import { RequestApproval } from '../approval/commands.ts';
import { WAIT_MAX_MS } from '../workflow/workflow.ts';
import {
  internalEvents,
  jsonSchemaOf,
  MESSAGE_KINDS,
  type Message,
  messages as publicMessages,
  schemaFile,
} from './json-schema.ts';
import { fieldsOf, shownFields } from './testing/shown-fields.ts';

const EXAMPLES = join(import.meta.dirname, '../../examples');

type Example = Record<string, unknown>;

const readExample = (file: string): Example =>
  JSON.parse(readFileSync(join(EXAMPLES, file), 'utf8')) as Example;

const messages = [...publicMessages, ...internalEvents];

const exampleFiles = [...MESSAGE_KINDS, 'internal-event'].flatMap((kind) =>
  readdirSync(join(EXAMPLES, kind)).map((file) => `${kind}/${file}`),
);
/** `task.registry--release.json` is a further example of `task.registry.json`. */
const firstOf = (file: string): string => file.replace(/--[a-z-]+(?=\.json$)/, '');

const exampleOf = (message: Message): Example => readExample(schemaFile(message));
const examplesOf = (message: Message): readonly Example[] =>
  exampleFiles.filter((file) => firstOf(file) === schemaFile(message)).map(readExample);

const ajv = new Ajv2020({ strict: true, strictTypes: false, allErrors: true });
addFormats.default(ajv);
const validators = new Map(messages.map((message) => [message, ajv.compile(jsonSchemaOf(message))]));
const accepts = (
  message: Message,
  value: unknown,
): { readonly zod: boolean; readonly jsonSchema: boolean } => ({
  zod: message.schema.safeParse(value).success,
  jsonSchema: validators.get(message)?.(value) === true,
});

const requiredOf = (message: Message): readonly string[] =>
  (jsonSchemaOf(message)['required'] ?? []) as readonly string[];
const propertiesOf = (message: Message): Readonly<Record<string, { readonly $ref?: string }>> =>
  (jsonSchemaOf(message)['properties'] ?? {}) as Record<string, { readonly $ref?: string }>;
const takesAnything = (message: Message, field: string): boolean =>
  propertiesOf(message)[field]?.$ref === '#/$defs/Json';

const table = messages.map((message) => [`${message.kind} ${message.name}`, message] as const);

test('every message has an example and every example a message', () => {
  expect(exampleFiles.filter((file) => firstOf(file) === file).toSorted()).toEqual(
    messages.map(schemaFile).toSorted(),
  );
  expect(exampleFiles.map(firstOf).filter((file) => !exampleFiles.includes(file))).toEqual([]);
});

test('at most thirty-two events are public', () => {
  const names = publicMessages.filter(({ kind }) => kind === 'event').map(({ name }) => name);
  expect(names).toContain('task.changed');
  expect(names.length).toBeLessThanOrEqual(32);
});

test('every message has a description', () => {
  expect(messages.filter(({ description }) => description === '')).toEqual([]);
});

describe('an example', () => {
  test.each(table)('the example of %s is accepted unchanged', (_, message) => {
    for (const example of examplesOf(message)) {
      expect(message.schema.parse(example)).toEqual(example);
      expect(accepts(message, example)).toEqual({ zod: true, jsonSchema: true });
    }
  });

  test.each(table)('the example of %s shows every field', (_, message) => {
    expect(Object.keys(exampleOf(message)).toSorted()).toEqual(Object.keys(propertiesOf(message)).toSorted());
  });

  test.each(table)('the examples of %s together show every field of every part', (_, message) => {
    const schema = jsonSchemaOf(message);
    const shown = new Set(examplesOf(message).flatMap((example) => shownFields(schema, example)));
    expect(fieldsOf(schema).filter((field) => !shown.has(field))).toEqual([]);
  });

  test.each(table)('the example of %s is accepted with unknown fields, which are dropped', (_, message) => {
    const example = exampleOf(message);
    const newer = { ...example, since2: { deep: [1] } };
    expect(message.schema.parse(newer)).toEqual(example);
    expect(accepts(message, newer)).toEqual({ zod: true, jsonSchema: true });
  });

  test.each(table)('the example of %s is refused without a required field', (_, message) => {
    const example = exampleOf(message);
    for (const field of requiredOf(message)) {
      const { [field]: _gone, ...lacking } = example;
      expect({ field, ...accepts(message, lacking) }).toEqual({ field, zod: false, jsonSchema: false });
    }
  });

  test.each(table)('the example of %s is refused with a field of another type', (_, message) => {
    const example = exampleOf(message);
    for (const field of requiredOf(message).filter((name) => !takesAnything(message, name))) {
      const wrong = { ...example, [field]: typeof example[field] === 'number' ? 'one' : 1 };
      expect({ field, ...accepts(message, wrong) }).toEqual({ field, zod: false, jsonSchema: false });
    }
  });
});

test('a field without an example is reported at any depth', () => {
  const submit = messages.find(({ name }) => name === 'task.submit') ?? failed('task.submit');
  const schema = jsonSchemaOf(submit);
  const shown = (text: string): readonly string[] =>
    shownFields(schema, JSON.parse(JSON.stringify(exampleOf(submit)).replaceAll(text, 'since2')));
  const lacks = (text: string): readonly string[] =>
    fieldsOf(schema).filter((field) => !shown(text).includes(field));
  expect(lacks('compensate')).toEqual(['.definition.nodes[].effect.compensate']);
  expect(lacks('merge_sentinel')).toEqual([
    '<merge_sentinel>',
    '<merge_sentinel>.type',
    '<merge_sentinel>.slug',
  ]);
});

test.each([[null], [[]], ['text'], [1], [true]])('no message accepts the body %j', (body) => {
  const accepting = messages.filter(
    (message) => accepts(message, body).zod || accepts(message, body).jsonSchema,
  );
  expect(accepting).toEqual([]);
});

test.each([
  ['approval.request', ['timeoutMs']],
  ['approval.requested', ['timeoutMs']],
  ['recovery.assessed', ['verdict', 'delayMs']],
  ['task.recover', ['verdict', 'delayMs']],
  ['task.node_retrying', ['delayMs']],
] as const)('%s waits for no time that cannot be added to a clock', (name, path) => {
  const message = messages.find((known) => known.name === name) ?? failed(name);
  const waiting = (ms: number): unknown => {
    const example = structuredClone(exampleOf(message));
    const holder = path.slice(0, -1).reduce((value, key) => value[key] as typeof example, example);
    holder[path.at(-1) ?? ''] = ms;
    return example;
  };
  expect(accepts(message, waiting(WAIT_MAX_MS))).toEqual({ zod: true, jsonSchema: true });
  expect(accepts(message, waiting(WAIT_MAX_MS + 1))).toEqual({ zod: false, jsonSchema: false });
});

test.each(['approval.resolved', 'task.approval_closed', 'task.effect_ordered'])(
  '%s has no grant that the order to the executor could not have',
  (name) => {
    const message = messages.find((known) => known.name === name) ?? failed(name);
    for (const grant of ['', 'x'.repeat(4_097)]) {
      const example = { ...exampleOf(message), grant };
      expect(accepts(message, example)).toEqual({ zod: false, jsonSchema: false });
    }
  },
);

test('ids and digests of the examples match the code', () => {
  const named = (name: string): unknown =>
    exampleOf(messages.find((message) => message.name === name) ?? failed(name));
  const order = RunEffect.parse(named('effect.run'));
  const request = RequestApproval.parse(named('approval.request'));
  expect(order.digest).toBe(effectDigest(order.effect));
  expect(order.id).toBe(effectIdOf(order.effect.task, order.effect.node, order.effect.idempotencyKey));
  expect(request.id).toBe(approvalIdOf(request.task, request.node, request.revision));
});

const failed = (name: string): never => {
  throw new Error(`no message ${name}`);
};
