import type { Phase } from './phase.ts';

type Phases = Readonly<Record<string, Phase<never>>>;

type TypesOf<P> = P extends { readonly known?: infer Known } ? NonNullable<Known> : never;

/** The possible next phases by name. */
export type NextOf<P> = TypesOf<P> extends { readonly next: infer Name extends string } ? Name : never;

/** The possible results of a successful task. */
export type ResultOf<P> = {
  [Name in keyof P]: P[Name] extends { readonly type: 'terminal' }
    ? TypesOf<P[Name]> extends { readonly result: infer Result }
      ? Result
      : never
    : never;
}[keyof P];

/** All phases reachable from the given ones. */
type ReachablePhases<P, From, Seen = never> = [Exclude<From, Seen>] extends [never]
  ? Seen
  : ReachablePhases<P, { [Name in From & keyof P]: NextOf<P[Name]> }[From & keyof P], Seen | From>;

type Terminals<P> = {
  [Name in keyof P]: P[Name] extends { readonly type: 'terminal' } ? Name : never;
}[keyof P];

/** A compiler error in words. */
type Problem<Text extends string> = { readonly problem: Text };

type ValidPhase<P, Name extends keyof P> = [Exclude<NextOf<P[Name]>, keyof P>] extends [never]
  ? unknown
  : Problem<`next names no phase: ${Exclude<NextOf<P[Name]>, keyof P> & string}`>;

/** Checks a definition at compile time. The resulting type names the mistake. */
export type ValidWorkflow<Initial, P> = {
  readonly initial: Initial extends keyof P
    ? unknown
    : Problem<`initial names no phase: ${Initial & string}`>;
  readonly phases: {
    readonly [Name in keyof P]: ValidPhase<P, Name>;
  } & ([Extract<ReachablePhases<P, Initial>, Terminals<P>>] extends [never]
    ? Problem<'no terminal phase can be reached from the initial one'>
    : unknown);
};

export type { Phases };
