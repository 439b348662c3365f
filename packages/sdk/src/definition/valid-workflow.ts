import type { Phase } from './phase.ts';

type Phases = Readonly<Record<string, Phase<never>>>;

/** What the type of a phase remembers of it. */
type TypesOf<P> = P extends { readonly known?: infer Known } ? NonNullable<Known> : never;

/** The names that a phase may lead to. */
export type NextOf<P> = TypesOf<P> extends { readonly next: infer Name extends string } ? Name : never;

/** What the terminal phases that end a task well may come to. */
export type ResultOf<P> = {
  [Name in keyof P]: P[Name] extends { readonly type: 'terminal' }
    ? TypesOf<P[Name]> extends { readonly result: infer Result }
      ? Result
      : never
    : never;
}[keyof P];

/** Every phase that can be reached from those that are given. */
type Reached<P, From, Seen = never> = [Exclude<From, Seen>] extends [never]
  ? Seen
  : Reached<P, { [Name in From & keyof P]: NextOf<P[Name]> }[From & keyof P], Seen | From>;

type Terminals<P> = {
  [Name in keyof P]: P[Name] extends { readonly type: 'terminal' } ? Name : never;
}[keyof P];

/** An error of the compiler, in words. */
type Problem<Text extends string> = { readonly problem: Text };

type ValidPhase<P, Name extends keyof P> = [Exclude<NextOf<P[Name]>, keyof P>] extends [never]
  ? unknown
  : Problem<`next names no phase: ${Exclude<NextOf<P[Name]>, keyof P> & string}`>;

/** Holds a definition to what has to be so of every workflow; what is wrong stands in the type. */
export type ValidWorkflow<Initial, P> = {
  readonly initial: Initial extends keyof P
    ? unknown
    : Problem<`initial names no phase: ${Initial & string}`>;
  readonly phases: {
    readonly [Name in keyof P]: ValidPhase<P, Name>;
  } & ([Extract<Reached<P, Initial>, Terminals<P>>] extends [never]
    ? Problem<'no terminal phase can be reached from the initial one'>
    : unknown);
};

export type { Phases };
