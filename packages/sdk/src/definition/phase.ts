import type { Draft, Frozen } from './frozen.ts';
import type { Ask, Prompt } from './ask.ts';
import type { Awaitable, EffectRequest, ItemContext, PhaseContext, PhaseError } from './context.ts';
import type { OnErrorSpec } from './on-error.ts';

/** The next phase: a name, or a function that returns one. */
export type Next<Name extends string, Arguments extends readonly unknown[]> =
  | Name
  | ((...args: Arguments) => Name);

type Common<State, OnError = OnErrorSpec<State>> = {
  /** The reaction to a failure; by default the task fails. */
  readonly onError?: OnError;
  /** The limit of working time, without waits for effects and sleeps. 15 minutes by default. */
  readonly timeoutMs?: number;
};

/** The parts of a phase around its work, its question or its effect. */
type Hooks<State, Input, Guard, Output> = {
  /** `false` skips the phase; the task continues at `next`. */
  readonly guard?: (state: Frozen<State>, context: ItemContext<State, Input>) => Guard;
  /** Runs first. A value computed without a step may differ when the phase runs again. */
  readonly before?: (context: PhaseContext<State, Input>) => unknown;
  /** Runs after success, and before `next`. */
  readonly after?: (context: PhaseContext<State, Input>, output: Output) => unknown;
};

/** For a phase with items, one output per item. */
export type OutputOf<Item, Output> = [Item] extends [never] ? Output : Output[];

/** A guard may skip the phase, so the output may be missing. */
type GuardedOutput<Guard, Output> = [Guard] extends [never] ? Output : Output | undefined;

/** A question and the handling of its answer. */
export type HumanSpec<State, Name extends string, Response, Given extends readonly unknown[]> = {
  /** `ask.approval()`, `ask.choice([...])`, `ask.text()` or `ask.form(schema)`. */
  readonly input: Ask<Response, Frozen<State>>;
  readonly prompt: Prompt | ((state: Frozen<State>, ...given: Given) => Prompt | undefined);
  /** Who may answer: `user:ada`, `group:support`, `role:lead`; `operators` by default. */
  readonly audience?: readonly string[];
  /** The question expires after this many milliseconds. By default it is asked again after seven days. */
  readonly expiresMs?: number;
  /** The next phase after expiry; after `expiresMs` alone the phase fails with `PROGRAM_INPUT_EXPIRED`. */
  readonly onExpired?: Name;
  /** Stores the response in a draft of the state. */
  readonly onResponse: (response: Response, draft: Draft<State>) => void;
};

/** A paused phase has an error in place of an output. */
type PausedOutput<Strategy> = Strategy extends 'pause' ? undefined : never;

export type AgentSpec<
  State,
  Input,
  Name extends string,
  Item,
  Output,
  Guard,
  Response,
  Strategy extends OnErrorSpec<State>['strategy'] = never,
> = Common<State, OnErrorSpec<State> & { readonly strategy: Strategy }> & {
  /** `false` skips the phase; the task continues at `next`. */
  readonly guard?: (state: Frozen<State>, context: ItemContext<State, Input>) => Guard;
  readonly before?: (context: PhaseContext<State, Input>) => unknown;
  /** Runs the work once per item. Write it before `run`, so that items are typed. */
  readonly forEach?: (state: Frozen<State>) => readonly Item[];
  /** Number of items at the same time; 1 by default. */
  readonly parallel?: number;
  /**
   * The work. With `forEach`, it cannot change the state: its results are recorded, and `after` stores them
   * in the state.
   */
  readonly run: (
    context: [Item] extends [never] ? PhaseContext<State, Input> : ItemContext<State, Input>,
    item: Item,
    index: number,
  ) => Awaitable<Output>;
  /**
   * Repeats the work until this is true; each round is recorded. With `forEach`, a round runs the items of the
   * present state and then `after`.
   */
  readonly until?: (state: Frozen<State>, output: OutputOf<Item, Output>) => Awaitable<boolean>;
  /** Maximum rounds, 3 by default; then the phase fails with `PROGRAM_PHASE_FAILED`. */
  readonly maxRuns?: number;
  /** Runs after successful work; with `forEach` and `until`, after each round. */
  readonly after?: (context: PhaseContext<State, Input>, output: OutputOf<Item, Output>) => unknown;
  /** Runs at the end of the attempt, whatever its outcome. */
  readonly finally?: (context: PhaseContext<State, Input>) => unknown;
  /**
   * Asks a question after the work, unless `prompt` returns nothing. `prompt` receives an error only when the
   * last answer was invalid, and when `onError` pauses the phase without a prompt of its own: then it is the
   * text of that question, and there is no output.
   */
  readonly human?: HumanSpec<
    State,
    Name,
    Response,
    readonly [output: OutputOf<Item, Output> | PausedOutput<Strategy>, error?: PhaseError]
  >;
  readonly next: Next<
    Name,
    readonly [
      state: Frozen<State>,
      output: GuardedOutput<Guard, OutputOf<Item, Output>>,
      response: Response | undefined,
    ]
  >;
};

/** A question with its `before` and `after`: `after` follows `onResponse`, and not an expiry. */
export type HumanPhaseSpec<State, Input, Name extends string, Guard, Response> = Common<State> &
  Hooks<State, Input, Guard, Response> &
  HumanSpec<State, Name, Response, readonly [error?: PhaseError]> & {
    readonly next: Next<Name, readonly [state: Frozen<State>, response: GuardedOutput<Guard, Response>]>;
  };

/** An effect with its `before` and `after`: `after` follows `onResult`, and not a rejection. */
export type EffectSpec<State, Input, Name extends string, Result> = Common<State> &
  Hooks<State, Input, Awaitable<boolean>, Result> & {
    /** The effect, as data. */
    readonly effect: (state: Frozen<State>) => EffectRequest<Result>;
    /** Stores the outputs of the effect in a draft of the state. */
    readonly onResult?: (outputs: Result, draft: Draft<State>) => void;
    /** The next phase after a rejection; by default the phase fails with the code of `EffectRejected`. */
    readonly onRejected?: Name;
    readonly next: Next<Name, readonly [state: Frozen<State>]>;
  };

export type TerminalSpec<State, Result> = {
  /** How the task ends; `succeeded` by default. */
  readonly outcome?: 'succeeded' | 'failed';
  /** The result of the task. */
  readonly output?: (state: Frozen<State>) => Result;
};

/** Type information of a phase, without a value at run time. */
type PhaseTypes<State, Name extends string, Result> = {
  readonly known?: {
    readonly state: (state: State) => State;
    readonly next: Name;
    readonly result: Result;
  };
};

/** A phase by its `type`. Created by the functions of `phasesFor`. */
export type AgentPhase<State, Name extends string> = PhaseTypes<State, Name, never> & {
  readonly type: 'agent';
  readonly spec: AnyAgent;
};
export type HumanPhase<State, Name extends string> = PhaseTypes<State, Name, never> & {
  readonly type: 'human';
  readonly spec: AnyHuman;
};
export type EffectPhase<State, Name extends string> = PhaseTypes<State, Name, never> & {
  readonly type: 'effect';
  readonly spec: AnyEffect;
};
export type TerminalPhase<State, Result> = PhaseTypes<State, never, Result> & {
  readonly type: 'terminal';
  readonly spec: AnyTerminal;
};

export type Phase<State, Name extends string = string, Result = unknown> =
  | AgentPhase<State, Name>
  | HumanPhase<State, Name>
  | EffectPhase<State, Name>
  | TerminalPhase<State, Result>;

/** A state of unknown type. */
export type AnyState = Record<string, unknown>;

/** Phases as the worker sees them, without their specific types. */
export type AnyAgent = Omit<
  AgentSpec<AnyState, AnyState, string, unknown, unknown, Awaitable<boolean>, unknown>,
  'run' | 'after' | 'until' | 'human' | 'next' | 'onError'
> & {
  readonly onError?: OnErrorSpec<AnyState>;
  readonly until?: (state: AnyState, output: unknown) => Awaitable<boolean>;
  readonly run: (context: AnyContext, item?: unknown, index?: number) => unknown;
  readonly after?: (context: AnyContext, output: unknown) => unknown;
  readonly human?: AnyAsk;
  readonly next: Next<string, readonly [state: AnyState, output: unknown, response: unknown]>;
};
/** The common part of all questions. `given` is the output of the work, if any, and then the error. */
export type AnyAsk = HumanSpec<AnyState, string, unknown, readonly unknown[]>;
export type AnyHuman = Omit<
  HumanPhaseSpec<AnyState, AnyState, string, Awaitable<boolean>, unknown>,
  'prompt'
> &
  Pick<AnyAsk, 'prompt'>;
export type AnyEffect = EffectSpec<AnyState, AnyState, string, unknown>;
/** Of any phase. */
export type AnyGuard = AnyAgent['guard'];
export type AnyTerminal = TerminalSpec<AnyState, unknown>;
export type AnyPhase = Phase<AnyState>;
export type AnyContext = PhaseContext<AnyState, AnyState>;
