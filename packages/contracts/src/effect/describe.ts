import { z } from 'zod';
import { type JsonObject, tableIn } from '../values/json.ts';
import type { SideEffectKind } from '../workflow/side-effect.ts';
import type { CanonicalEffect } from './canonical-effect.ts';
import { CAPABILITIES, CONTROLS, effectClassOf, isCustom, namesProbe } from './capabilities.ts';
import { HttpUrl, originOf } from './http-request.ts';
import { isRemote } from './remote-name.ts';
import { plainPath } from './plain-path.ts';

/** `high`: the effect cannot easily be undone, or changes a running system. */
export const Risk = z.enum(['low', 'medium', 'high']);
export type Risk = z.infer<typeof Risk>;

export const riskOf = ({ kind, effectClass }: Pick<CanonicalEffect, 'kind' | 'effectClass'>): Risk => {
  if (kind === 'deploy' || kind === 'merge' || kind === 'destructive_edit') return 'high';
  if (kind === 'write_external') return effectClass === 'opaque' ? 'high' : 'medium';
  return effectClass === 'opaque' ? 'medium' : 'low';
};

/** The statements of an order about itself, and the arguments that they are compared with. */
export type DescribedEffect = Pick<CanonicalEffect, 'uses' | 'args' | 'kind' | 'effectClass' | 'target'>;

export type Description = {
  readonly kind: DescribedEffect['kind'];
  readonly target: string;
  readonly risk: Risk;
  /** The arguments name no target: the text is the requester's own, and no pattern may rely on it. */
  readonly isTargetClaimed: boolean;
};

/** Characters of a target, as a declaration allows them. */
const TARGET_MAX = 512;

const RANKS: Readonly<Record<SideEffectKind, number>> = {
  notify: 0,
  other: 0,
  write_external: 1,
  deploy: 2,
  merge: 2,
  destructive_edit: 2,
};

const factsOf = (uses: string) => (Object.hasOwn(CAPABILITIES, uses) ? CAPABILITIES[uses] : undefined);

/** Work runs without an approval anyway, so its start, approved on demand, may be of the lowest kind. */
const startsWork = ({ uses, effectClass }: DescribedEffect): boolean =>
  effectClass === 'idempotent' && (factsOf(uses)?.work === true || CONTROLS.has(uses));

/**
 * The kind of an effect. A capability has one kind, or a least kind that a requester may raise. The executor alone
 * knows the kind of a custom capability, and refuses any other; the registry of approvals that of a remote one.
 */
const kindOf = (effect: DescribedEffect): DescribedEffect['kind'] => {
  const { uses, kind } = effect;
  if (kind === 'work' || isCustom(uses) || isRemote(uses)) return kind;
  const fixed = factsOf(uses)?.kind;
  if (fixed !== undefined) return fixed;
  const least = startsWork(effect) ? 'other' : 'write_external';
  return RANKS[kind] < RANKS[least] ? least : kind;
};

const textIn = (args: JsonObject, name: string): string | undefined => {
  const value = Object.hasOwn(args, name) ? args[name] : undefined;
  return typeof value === 'string' && value !== '' ? value : undefined;
};

const originIn = (args: JsonObject): string | undefined => {
  const url = HttpUrl.safeParse(args['url']).data;
  return url === undefined ? undefined : originOf(url);
};

const branchTarget = (args: JsonObject): string => {
  const own = tableIn(args, 'with');
  const branch = textIn(tableIn(args, 'preview'), 'target') ?? textIn(own, 'target');
  return `branch:${branch ?? textIn(own, 'target_branch') ?? 'HEAD'}`;
};

/** Only a rollback in the worktree of a task leaves other work alone. Everything else is a shared checkout. */
const rollbackTarget = (args: JsonObject): string => {
  const own = tableIn(args, 'with');
  const worktree = textIn(own, 'worktree');
  return own['isolated'] === true && worktree !== undefined
    ? `worktree:${plainPath(worktree)}`
    : `checkout:${plainPath(worktree ?? textIn(args, 'repository') ?? '')}`;
};

/** A chat webhook is a secret: its name identifies the channel. */
const channelTarget = (args: JsonObject): string | undefined => {
  const name = /^\$\{secret:([A-Za-z0-9_.-]{1,64})\}$/.exec(textIn(args, 'webhook') ?? '')?.[1];
  return name === undefined ? undefined : `notify:${name}`;
};

const UNDOES = /\.compensate$/;

/** The target that the arguments name; undefined where they name none. */
const targetIn = (uses: string, args: JsonObject): string | undefined => {
  if (UNDOES.test(uses)) {
    const made = textIn(tableIn(args, 'outputs'), 'target');
    const base = uses.replace(UNDOES, '');
    if (base === 'cap.env.builtin.git.integrate_plan_branch')
      return made === undefined ? undefined : `branch:${made}`;
    return targetIn(base, tableIn(args, 'args'));
  }
  switch (uses) {
    case 'cap.file.append':
    case 'cap.file.write': {
      const file = textIn(args, 'file');
      return file === undefined ? undefined : `file:${plainPath(file)}`;
    }
    case 'cap.http.request':
    case 'cap.http.keyed_request':
    case 'cap.http.idempotent_request':
      return originIn(args);
    case 'cap.notify.webhook': {
      const origin = originIn(args);
      return origin === undefined ? undefined : `notify:${origin}`;
    }
    case 'cap.notify.discord':
    case 'cap.notify.slack':
      return channelTarget(args);
    case 'cap.env.builtin.git.integrate_plan_branch':
      return branchTarget(args);
    case 'cap.env.builtin.git.rollback':
      return rollbackTarget(args);
    default:
      return undefined;
  }
};

/** Kind and target of an effect, from its capability and its arguments. */
export const placeOf = (effect: DescribedEffect): Omit<Description, 'risk'> => {
  const { uses, args } = effect;
  const target = startsWork(effect) ? undefined : targetIn(uses, args)?.slice(0, TARGET_MAX).toWellFormed();
  // Approvals refuses a remote effect with another target than the registered one.
  const isTargetClaimed = target === undefined && !isRemote(uses);
  return { kind: kindOf(effect), target: target ?? effect.target, isTargetClaimed };
};

/**
 * Kind, target and risk of an effect, from its capability and its arguments. What the requester states can raise the
 * kind and name a target that no argument names, and nothing else.
 */
export const describeEffect = (effect: DescribedEffect): Description => ({
  ...placeOf(effect),
  risk: describedRisk(effect),
});

/** The risk of an effect, as `describeEffect` gives it. */
export const describedRisk = (effect: DescribedEffect): Risk => {
  const { uses, args, effectClass } = effect;
  const kind = kindOf(effect);
  const known = kind === 'work' ? undefined : effectClassOf(uses, kind, { probe: namesProbe(args) });
  // A start keeps its class: nothing runs under its grant.
  return riskOf({ kind, effectClass: startsWork(effect) ? effectClass : (known ?? effectClass) });
};

/** What an effect states wrongly about itself; undefined when its arguments agree. */
export const misstated = (effect: DescribedEffect): string | undefined => {
  const { kind, target } = placeOf(effect);
  if (kind !== effect.kind) return `kind is ${kind}, not ${effect.kind}`;
  return target === effect.target ? undefined : `target is ${target.slice(0, 100)}, not what it states`;
};
