import { realpath } from 'node:fs/promises';
import { registerHooks } from 'node:module';
import { pathToFileURL } from 'node:url';
import { compensationOf, isCustom } from '@holdpoint/contracts/effect/capabilities';
import { JsonObject } from '@holdpoint/contracts/values/json';
import { CapabilityLabel, EffectClass, SideEffectKind } from '@holdpoint/contracts/workflow/workflow';
import { ConfigError } from '@holdpoint/runtime/service/config';
import { z } from 'zod';
import type { CustomCapability } from './define.ts';
import { isWithin } from '../adapters/files/real-path.ts';
import type { CapabilityTraits } from '../effect/custom-traits.ts';

const MODULE_CAPABILITIES_MAX = 100;

type CheckedCapability = Omit<CustomCapability, 'uses'> & { readonly uses: string };

const isFunction = (value: unknown): boolean => typeof value === 'function';
const method = z.custom<never>(isFunction, 'a function').optional();

const isLabel = (uses: string): boolean =>
  isCustom(uses) && uses.split('.').length === 3 && CapabilityLabel.safeParse(compensationOf(uses)).success;

/** A schema of any release of zod: only `safeParse` is needed. */
const isSchema = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && 'safeParse' in value && isFunction(value.safeParse);

const Custom = z
  .strictObject({
    uses: z.string().refine(isLabel, 'cap.custom.<name>, where the name has small letters, digits and _'),
    effectClass: EffectClass,
    work: z.literal(true, 'expected true, or leave it out').optional(),
    kind: SideEffectKind.optional(),
    input: z.custom<z.ZodType>(isSchema, 'expected a zod schema'),
    target: method,
    preview: method,
    run: z.custom<never>(isFunction, 'a function'),
    probe: method,
    compensate: method,
  })
  .superRefine(({ effectClass, probe }, context) => {
    if (effectClass === 'probeable' && probe === undefined)
      context.addIssue({
        code: 'custom',
        path: ['probe'],
        message: 'missing: a probeable capability needs a probe',
      });
    if (effectClass === 'opaque' && probe !== undefined)
      context.addIssue({
        code: 'custom',
        path: ['effectClass'],
        message: 'an opaque capability has no probe: use the class probeable',
      });
  });

const Exported = z.object({
  capabilities: z.array(z.unknown(), 'an array').min(1, 'at least one').max(MODULE_CAPABILITIES_MAX),
});

const refusal = (path: string, problems: readonly string[], cause?: unknown): ConfigError =>
  new ConfigError(
    `HOLDPOINT_CAPABILITIES: ${path}: ${problems.join('; ')}`,
    cause === undefined ? {} : { cause },
  );

const problemsOf = ({ issues }: z.ZodError, at = ''): readonly string[] =>
  issues.map(({ path, message }) => `${[at, ...path].filter((part) => part !== '').join('.')}: ${message}`);

/** The effect has already happened: outputs that are not JSON are left out, with a warning. */
const keepOutputs = (capability: CheckedCapability): CheckedCapability => ({
  ...capability,
  run: async (input, context) => {
    const made: unknown = await capability.run(input, context);
    const outputs = JsonObject.safeParse(made ?? {});
    if (outputs.success) return outputs.data;
    context.say(
      'stderr',
      `${capability.uses} returned outputs that are not a JSON object; they are left out`,
    );
    return {};
  },
});

/** Checks the exports of a module. `path` is for the message. Throws one `ConfigError` that names all problems. */
export const customCapabilitiesIn = (exported: unknown, path: string): readonly CheckedCapability[] => {
  const parsed = Exported.safeParse({ ...(typeof exported === 'object' ? exported : {}) });
  if (!parsed.success) throw refusal(path, problemsOf(parsed.error));
  const problems = parsed.data.capabilities.flatMap((each, at) => {
    const { error } = Custom.safeParse(each);
    return error === undefined ? [] : problemsOf(error, `capabilities[${String(at)}]`);
  });
  if (problems.length > 0) throw refusal(path, problems);
  return (parsed.data.capabilities as readonly CheckedCapability[]).map(keepOutputs);
};

const OURS = /^(zod$|holdpoint\/|@holdpoint\/(executor|contracts)\/)/;

/** Resolves our packages for custom modules, wherever these are stored. */
const findOurs = (): { readonly deregister: () => void } =>
  registerHooks({
    resolve: (specifier, context, next) => {
      try {
        return next(specifier, context);
      } catch (error) {
        if (!OURS.test(specifier)) throw error;
        return next(specifier, { ...context, parentURL: import.meta.url });
      }
    },
  });

const importModule = async (path: string): Promise<unknown> => {
  const hooks = findOurs();
  try {
    return (await import(/* @vite-ignore */ pathToFileURL(path).href)) as unknown;
  } catch (error) {
    throw refusal(path, [`cannot load: ${error instanceof Error ? error.message : String(error)}`], error);
  } finally {
    hooks.deregister();
  }
};

/**
 * Loads the custom capabilities. Throws `ConfigError` on any problem: an executor without a configured capability
 * must not start.
 */
export const loadCustom = async (
  paths: readonly string[],
  workspace: string,
): Promise<readonly CustomCapability[]> => {
  const loaded: { readonly path: string; readonly capability: CheckedCapability }[] = [];
  for (const path of paths) {
    // Effects could replace a module inside the workspace.
    if (isWithin(await realpath(workspace), await realpath(path)))
      throw refusal(path, ['is inside the workspace, where effects write']);
    for (const capability of customCapabilitiesIn(await importModule(path), path)) {
      const twice = loaded.find((each) => each.capability.uses === capability.uses);
      if (twice !== undefined)
        throw refusal(path, [`${capability.uses} is already defined by ${twice.path}`]);
      loaded.push({ path, capability });
    }
  }
  return loaded.map(({ capability }) => capability as CustomCapability);
};

export const traitsOf = (capability: CustomCapability): CapabilityTraits => ({
  uses: capability.uses,
  effectClass: capability.effectClass,
  work: capability.work === true,
  kind: capability.kind,
  preview: capability.preview !== undefined,
  compensate: capability.compensate !== undefined,
});
