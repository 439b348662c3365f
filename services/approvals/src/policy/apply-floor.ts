import type { RequestApproval } from '@holdpoint/contracts/approval/commands';
import type { FloorDemand, FloorEntry, RequestFloor } from '@holdpoint/contracts/approval/policy-floor';
import { type Asking, type ApprovalPolicy, policyOf } from '@holdpoint/contracts/workflow/approval-policy';
import { type Audience, isAmong, type Member, mayDecide } from '@holdpoint/contracts/workflow/audience';
import type { CompiledFloor, Covered } from './compile-floor.ts';

/** The demands of a request that a floor can raise. */
export type Demands = Asking &
  Pick<RequestApproval, 'audience' | 'timeoutMs'> & {
    readonly policy?: ApprovalPolicy | undefined;
    readonly floor?: RequestFloor | undefined;
  };

const GROUP = /^group:/;
/** `operators` and `group:operators` are the same group. */
const plain = (name: string): string => name.replace(GROUP, '');

const unique = <Item>(items: readonly Item[], keyOf: (item: Item) => string): readonly Item[] => [
  ...new Map(items.map((item) => [keyOf(item), item])).values(),
];

/** Sorted, so that the order of entries changes nothing. */
const sorted = (names: Audience): Audience => [...new Set(names.map(plain))].toSorted();

const withinOf = (entries: readonly FloorEntry[], before: readonly Audience[] = []): readonly Audience[] => {
  const lists = [...before, ...entries.flatMap(({ audience }) => (audience ? [audience] : []))].map(sorted);
  return unique(lists, (list) => list.join('\n')).toSorted((a, b) => (a.join('\n') < b.join('\n') ? -1 : 1));
};

/** By their names, every member of the audience is in each list. */
const isWithin = (audience: Audience, within: readonly Audience[]): boolean =>
  within.every((list) => audience.every((name) => list.includes(plain(name))));

const DEFAULT_AUDIENCE: Audience = ['operators'];

/** A request that names no audience goes to that of the floor. */
const audienceOf = ({ audience }: Demands, [first]: readonly Audience[]): Audience =>
  audience.length > 0 ? audience : [...(first ?? DEFAULT_AUDIENCE)];

/**
 * The request with the demands of the floor: the stricter of both, for each demand. Several entries combine to the
 * strictest. The request itself is kept in `asked` where the floor raised it.
 */
export const applyFloor = <Request extends Demands & Covered>(
  request: Request,
  floor: CompiledFloor,
): Request & { readonly floor: RequestFloor } => {
  const entries = floor.entriesFor(request);
  if (entries.length === 0 && request.audience.length > 0)
    return { ...request, floor: { digest: floor.digest, ...keptOf(request) } };
  const within = withinOf(entries, request.floor?.within);
  const audience = audienceOf(request, within);
  const own = request.policy ?? {};
  const quorum = Math.max(own.quorum ?? 1, ...entries.map((entry) => entry.quorum ?? 1));
  const fourEyes = own.fourEyes === true || entries.some((entry) => entry.fourEyes === true);
  const rules = own.rules !== false && entries.every((entry) => entry.rules !== false);
  const timeoutMs = Math.min(request.timeoutMs, ...entries.map((entry) => entry.timeoutMsMax ?? Infinity));
  const isRaised: Readonly<Record<FloorDemand, boolean>> = {
    audience: request.audience.length === 0 || !isWithin(audience, within),
    quorum: quorum > (own.quorum ?? 1),
    fourEyes: fourEyes && own.fourEyes !== true,
    rules: !rules && own.rules !== false,
    timeout: timeoutMs < request.timeoutMs,
  };
  const raised = (Object.keys(isRaised) as FloorDemand[]).filter((demand) => isRaised[demand]);
  const policy: ApprovalPolicy = {
    ...own,
    ...(isRaised.quorum && { quorum }),
    ...(isRaised.fourEyes && { fourEyes }),
    ...(isRaised.rules && { rules }),
  };
  const { policy: _, ...rest } = request;
  return {
    ...rest,
    audience,
    timeoutMs,
    ...((request.policy !== undefined || Object.keys(policy).length > 0) && { policy }),
    floor: {
      digest: floor.digest,
      ...(entries.length > 0 && { entries: entries.map(({ name }) => name) }),
      ...(raised.length > 0 && {
        raised,
        asked: {
          audience: request.audience,
          timeoutMs: request.timeoutMs,
          ...(request.policy !== undefined && { policy: request.policy }),
        },
      }),
      ...(within.length > 0 && { within: [...within] }),
    },
  } as Request & { readonly floor: RequestFloor };
};

const keptOf = ({ floor }: Demands): Pick<RequestFloor, 'within'> =>
  floor?.within === undefined ? {} : { within: floor.within };

/** The request as its requester made it. */
export const askedOf = <Request extends Demands>(request: Request): Request => {
  const { floor, policy: _, ...rest } = request;
  const { audience, timeoutMs, policy } = floor?.asked ?? request;
  return {
    ...rest,
    audience,
    timeoutMs,
    ...(policy !== undefined && { policy }),
  } as unknown as Request;
};

const isPerson = (name: string): boolean => name.startsWith('user:');

/**
 * Whether anybody could decide. `people` are those whose groups the service knows; undefined where an identity
 * provider says more about them. A group may always have further members.
 */
export const isReachable = (request: Demands, people: readonly Member[] = []): boolean => {
  const { audience, floor } = request;
  const within = floor?.within ?? [];
  const couldMeet = (name: string): boolean => {
    if (!isPerson(name)) return true;
    const known = people.find((person) => isAmong([name], person));
    if (known !== undefined) return mayDecide(request, known);
    return within.every((list) => list.includes(name) || !list.every(isPerson));
  };
  return within.length === 0 || audience.some(couldMeet);
};

/** The strictness of a request, for comparison. */
export const demandsOf = (request: Demands) => {
  const { quorum, fourEyes, rules } = policyOf(request);
  return { quorum, fourEyes, rules, timeoutMs: request.timeoutMs, within: request.floor?.within ?? [] };
};
