import { type FloorEntry, floorDigest, type PolicyFloor } from '@holdpoint/contracts/approval/policy-floor';
import { fits } from '@holdpoint/contracts/approval/standing-rule';
import { type DescribedEffect, type Description, placeOf } from '@holdpoint/contracts/effect/describe';
import { type Asking, questionOf } from '@holdpoint/contracts/workflow/approval-policy';
import type { SideEffectKind } from '@holdpoint/contracts/workflow/side-effect';

/** The part of a request that the entries of a floor match. */
export type Covered = Asking & {
  readonly effect: DescribedEffect;
  readonly workflow?: string | undefined;
  /** Set by the orchestrator for a rollback that recovery has decided on. */
  readonly rollbackOf?: unknown;
};

/** A floor that is ready to be matched. */
export type CompiledFloor = {
  readonly digest: string;
  readonly floor: PolicyFloor;
  /** The entries that cover the request, in the order of the file. */
  readonly entriesFor: (request: Covered) => readonly FloorEntry[];
};

/** Combinations of kind, capability and workflow that are remembered. */
const KNOWN_MAX = 1_000;

const anyFits = (patterns: readonly string[] | undefined, text: string): boolean =>
  patterns === undefined || patterns.some((pattern) => fits(pattern, text));

type Place = {
  readonly kinds?: readonly SideEffectKind[] | undefined;
  readonly capabilities?: readonly string[] | undefined;
};

const isOfKind = ({ kinds, capabilities }: Place, { kind, uses }: Described): boolean =>
  (kinds === undefined || (kind !== 'work' && kinds.includes(kind))) && anyFits(capabilities, uses);

type Described = Omit<Description, 'risk'> & { readonly uses: string };

/** The questions about a job and of a program name the job instead of an effect. */
const described = (request: Covered): Described => {
  const { effect } = request;
  const { uses, kind, target } = effect;
  const question = questionOf(request);
  return question === 'effect' || question === 'in_doubt'
    ? { ...placeOf(effect), uses }
    : { uses, kind, target, isTargetClaimed: true };
};

/** A claimed target never helps a requester: it matches every demand and no exception. */
const isAtTarget = (
  patterns: readonly string[] | undefined,
  { target, isTargetClaimed }: Described,
  ofException: boolean,
): boolean => patterns === undefined || (isTargetClaimed ? !ofException : anyFits(patterns, target));

const isLeftOut = ({ except = [] }: FloorEntry, about: Described, rollbackOf: unknown): boolean =>
  except.some(
    (place) =>
      isOfKind(place, about) &&
      isAtTarget(place.targets, about, true) &&
      (place.verdict === undefined || rollbackOf !== undefined),
  );

export const compileFloor = (floor: PolicyFloor): CompiledFloor => {
  const known = new Map<string, readonly FloorEntry[]>();
  const candidates = (about: Described, workflow: string): readonly FloorEntry[] => {
    const key = JSON.stringify([about.kind, about.uses, workflow]);
    const found = known.get(key);
    if (found !== undefined) return found;
    const fitting = floor.floor.filter(
      ({ match = {} }) => isOfKind(match, about) && anyFits(match.workflows, workflow),
    );
    if (known.size >= KNOWN_MAX) known.clear();
    known.set(key, fitting);
    return fitting;
  };
  return {
    digest: floorDigest(floor),
    floor,
    entriesFor: (request) => {
      const about = described(request);
      return candidates(about, request.workflow ?? '').filter(
        (entry) =>
          isAtTarget(entry.match?.targets, about, false) && !isLeftOut(entry, about, request.rollbackOf),
      );
    },
  };
};
