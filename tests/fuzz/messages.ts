import {
  internalEvents,
  jsonSchemaOf,
  type Message,
  messages,
} from '@holdpoint/contracts/generate/json-schema';
import fc from 'fast-check';
import { validFor } from './hostile/valid.ts';
import { stored } from './promises.ts';

/** A message of the catalogue by kind and name, such as `command/task.submit`. */
export const messageCalled = (name: string): Message => {
  const found = [...messages, ...internalEvents].find(
    (message) => `${message.kind}/${message.name}` === name,
  );
  if (found === undefined) throw new Error(`the catalogue has no ${name}`);
  return found;
};

export const validMessage = (name: string): fc.Arbitrary<unknown> => {
  const message = messageCalled(name);
  return validFor(message.schema, jsonSchemaOf(message));
};

/** One arbitrary for each name: the cases of a target. */
export const casesFor = <Input>(
  names: readonly string[],
  inputs: (name: string) => fc.Arbitrary<Input>,
): Readonly<Record<string, fc.Arbitrary<Input>>> =>
  Object.fromEntries(names.map((name) => [name, inputs(name)]));

/** The same values, mostly changed by `link` to match the aggregate. Undefined fields are left out. */
export const sometimesLinked = (
  values: fc.Arbitrary<unknown>,
  link: (value: object) => object,
): fc.Arbitrary<unknown> =>
  fc
    .tuple(values, fc.integer({ min: 0, max: 3 }))
    .map(([value, chance]) => (chance === 0 ? value : stored(link(value as object))));
