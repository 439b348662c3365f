import type { RunEffect } from '@holdpoint/contracts/effect/commands';
import { JsonObject } from '@holdpoint/contracts/values/json';
import { z } from 'zod';
import type { Capability, EffectContext } from './capability.ts';

/** Handles the orders under one label: a capability, its preview, or its compensation. */
export type EffectHandler = Pick<Capability, 'uses' | 'input' | 'target' | 'run' | 'probe'>;

/** The arguments of a compensation: the id, the arguments and the outputs of the effect to undo. */
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
  const schema = compensationInput(capability.input);
  return {
    uses: `${capability.uses}.compensate`,
    input: schema,
    run: (input: unknown, context: EffectContext) => {
      const { effect, args, outputs } = input as z.output<typeof schema>;
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

/** All handlers of an executor, by label. Throws when two have the same label. */
export const createHandlerRegistry = (capabilities: readonly Capability[]): HandlerRegistry => {
  const handlers = capabilities.flatMap(handlersOf);
  const registry = new Map(handlers.map((handler) => [handler.uses, handler]));
  if (registry.size < handlers.length) {
    const labels = handlers.map(({ uses }) => uses);
    const twice = labels.filter((uses, at) => labels.indexOf(uses) !== at);
    throw new Error(`duplicate capability labels: ${[...new Set(twice)].join(', ')}`);
  }
  return registry;
};

/** The name of an order's target; undefined without a target, and when the arguments are invalid. */
export const targetOf =
  (capabilities: HandlerRegistry) =>
  ({ effect: { uses, args } }: RunEffect): string | undefined => {
    const handler = capabilities.get(uses);
    if (handler?.target === undefined) return undefined;
    const input = handler.input.safeParse(args);
    return input.success ? handler.target(input.data) : undefined;
  };
