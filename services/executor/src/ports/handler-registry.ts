import type { RunEffect } from '@holdpoint/contracts/effect/commands';
import { JsonObject } from '@holdpoint/contracts/values/json';
import { z } from 'zod';
import type { Capability, EffectContext } from './capability.ts';

/** What an order under one label is carried out by: a capability, its preview, or what takes it back. */
export type EffectHandler = Pick<Capability, 'uses' | 'input' | 'target' | 'run' | 'probe'>;

/** The arguments of what takes an effect back: which one, what it was ordered with, and what it gave. */
const compensationInput = <Schema extends z.ZodType>(input: Schema) =>
  z.object({ effect: z.string().min(1).max(64), args: input, outputs: JsonObject });

type With<Method extends 'preview' | 'compensate'> = Capability & Required<Pick<Capability, Method>>;

const hasPreview = (capability: Capability): capability is With<'preview'> =>
  capability.preview !== undefined;
const hasCompensation = (capability: Capability): capability is With<'compensate'> =>
  capability.compensate !== undefined;

const previewHandlerOf = (capability: With<'preview'>): EffectHandler => ({
  uses: `${capability.uses}.preview`,
  input: capability.input,
  run: (args: unknown, context: EffectContext) => capability.preview(args, context),
});

const compensationHandlerOf = (capability: With<'compensate'>): EffectHandler => {
  const undone = compensationInput(capability.input);
  return {
    uses: `${capability.uses}.compensate`,
    input: undone,
    run: (given: unknown, context: EffectContext) => {
      const { effect, args, outputs } = given as z.output<typeof undone>;
      return capability.compensate({ effectId: effect, input: args, outputs }, context);
    },
  };
};

const handlersOf = (capability: Capability): readonly EffectHandler[] => [
  capability,
  ...(hasPreview(capability) ? [previewHandlerOf(capability)] : []),
  ...(hasCompensation(capability) ? [compensationHandlerOf(capability)] : []),
];

export type HandlerRegistry = ReadonlyMap<string, EffectHandler>;

/** Everything that an executor carries out, by label. Throws when two have the same. */
export const createHandlerRegistry = (capabilities: readonly Capability[]): HandlerRegistry => {
  const carriers = capabilities.flatMap(handlersOf);
  const registry = new Map(carriers.map((carrier) => [carrier.uses, carrier]));
  if (registry.size < carriers.length) {
    const labels = carriers.map(({ uses }) => uses);
    const twice = labels.filter((uses, at) => labels.indexOf(uses) !== at);
    throw new Error(`several capabilities are called ${[...new Set(twice)].join(', ')}`);
  }
  return registry;
};

/** What an order talks to, by its name outside; undefined where it has none, or its arguments are none. */
export const targetOf =
  (capabilities: HandlerRegistry) =>
  ({ effect: { uses, args } }: RunEffect): string | undefined => {
    const carrier = capabilities.get(uses);
    if (carrier?.target === undefined) return undefined;
    const input = carrier.input.safeParse(args);
    return input.success ? carrier.target(input.data) : undefined;
  };
