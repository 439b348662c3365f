import { z } from 'zod';
import { Risk } from '../effect/describe.ts';
import { RemoteName } from '../effect/remote-name.ts';
import { CapabilityId } from '../values/ids.ts';
import { JsonObject } from '../values/json.ts';
import { EffectClass, SideEffectKind, WAIT_MAX_MS } from '../workflow/side-effect.ts';

/** Text with places such as `${charge}` or `${order.id}`, filled from the arguments of an effect. */
const Template = (max: number) => z.string().trim().min(1).max(max);

/**
 * A capability that programs of users carry out, as a person registers it. Approvals checks requests for its effects against it
 * before it asks approvers.
 */
export const CapabilityDefinition = z.object({
  name: RemoteName,
  /** Title of requests, such as `Refund ${cents} cents of charge ${charge}`. */
  title: Template(200),
  description: z.string().max(2_000).optional(),
  kind: SideEffectKind.default('write_external'),
  /** Guarantee of the target; without a guarantee a person decides after an interruption. */
  effectClass: EffectClass.default('opaque'),
  /** Raises the risk that follows from kind and class. */
  risk: Risk.optional(),
  /** Name of the outside system; default `remote:<name>`. */
  target: Template(300).optional(),
  /** JSON Schema (2020-12) of the arguments, an object. */
  input: JsonObject,
  /** JSON Schema of the outputs, an object. The claimant checks it. */
  output: JsonObject.optional(),
  /** The claimant also carries out `<label>.preview` before the request, and `<label>.compensate`; it answers probes. */
  preview: z.boolean().optional(),
  probe: z.boolean().optional(),
  compensate: z.boolean().optional(),
  /** The claimant stops a run after this time. Milliseconds. */
  timeoutMs: z.int().min(1_000).max(WAIT_MAX_MS).optional(),
});
export type CapabilityDefinition = z.infer<typeof CapabilityDefinition>;

/** Epoch milliseconds, by the database's clock. */
const Time = z.int();

export const CapabilityRegistered = z.object({
  type: z.literal('capability_registered'),
  id: CapabilityId,
  /** That of the definition: the audit log names it. */
  name: RemoteName,
  definition: CapabilityDefinition,
  by: z.string(),
  at: Time,
});
export const CapabilityWithdrawn = z.object({
  type: z.literal('capability_withdrawn'),
  id: CapabilityId,
  name: RemoteName,
  by: z.string(),
  at: Time,
});
export const CapabilityEvent = z.discriminatedUnion('type', [CapabilityRegistered, CapabilityWithdrawn]);
export type CapabilityEvent = z.infer<typeof CapabilityEvent>;

/** A registered capability, as the API shows it. */
export const RegisteredCapability = CapabilityDefinition.extend({
  status: z.enum(['registered', 'withdrawn']),
  registeredBy: z.string(),
  registeredAt: Time,
  withdrawnBy: z.string().optional(),
});
export type RegisteredCapability = z.infer<typeof RegisteredCapability>;

const PLACE = /\$\{([A-Za-z0-9_]+(?:\.[A-Za-z0-9_]+)*)\}/g;

const at = (args: JsonObject, path: string): unknown => {
  let value: unknown = args;
  for (const part of path.split('.'))
    value =
      typeof value === 'object' && value !== null && Object.hasOwn(value, part)
        ? (value as Readonly<Record<string, unknown>>)[part]
        : undefined;
  return value;
};

/** Fills the places of a template. A missing argument leaves an empty text; objects appear as JSON. */
export const filledIn = (template: string, args: JsonObject): string =>
  template.replaceAll(PLACE, (_, path: string) => {
    const value = at(args, path);
    if (value === undefined || value === null) return '';
    return typeof value === 'string' ? value : JSON.stringify(value);
  });

/** The target of an effect of a capability. */
export const remoteTargetOf = (
  { name, target = `remote:${name}` }: Pick<CapabilityDefinition, 'name' | 'target'>,
  args: JsonObject,
): string => filledIn(target, args).slice(0, 512).toWellFormed() || `remote:${name}`;
