import type { Draft, Frozen } from './frozen.ts';
import type { Ask, Prompt } from './ask.ts';
import type { Awaitable, EffectRequest, ItemContext, PhaseContext, PhaseError } from './context.ts';
import type { OnErrorSpec } from './on-error.ts';

/** Where a phase leads: a name, or a function that gives one. */
export type Next<Name extends string, Arguments extends readonly unknown[]> =
  | Name
  | ((...args: Arguments) => Name);

type Common<State> = {
  /** What a failure leads to; the end of the task, when left out. */
  readonly onError?: OnErrorSpec<State>;
  /** How long it may work, the time in which it waits for effects and sleeps not counted. 15 minutes, when left out. */
  readonly timeoutMs?: number;
};

/** What a phase with items comes to is what each of them came to. */
export type OutputOf<Item, Output> = [Item] extends [never] ? Output : Output[];

/** Where a guard may have skipped the phase, there may be no output. */
type Guarded<Guard, Output> = [Guard] extends [never] ? Output : Output | undefined;

/** A question to people, and what follows from what they say. */
export type HumanSpec<State, Name extends string, Response, Given extends readonly unknown[]> = {
  /** What is asked for: `ask.approval()`, `ask.choice([...])`, `ask.text()`, `ask.form(schema)`. */
  readonly input: Ask<Response, Frozen<State>>;
  readonly prompt: Prompt | ((state: Frozen<State>, ...given: Given) => Prompt | undefined);
  /** Who may answer: `user:ada`, `group:support`, `role:lead`; `operators`, when left out. */
  readonly audience?: readonly string[];
  /** Milliseconds until nobody needs to answer any more; seven days, when left out. */
  readonly expiresMs?: number;
  /** Where it goes on when the time is over; when left out, the phase fails with `PROGRAM_INPUT_EXPIRED`. */
  readonly onExpired?: Name;
  /** Changes the draft of the state by what was said. */
  readonly onResponse: (response: Response, draft: Draft<State>) => void;
};

export type AgentSpec<State, Input, Name extends string, Item, Output, Guard, Response> = Common<State> & {
  /** Whether the phase is wanted at all: `false` skips it, and the task goes on at `next`. */
  readonly guard?: (state: Frozen<State>, context: ItemContext<State, Input>) => Guard;
  readonly before?: (context: PhaseContext<State, Input>) => unknown;
  /** Has the work done once for each of these. Written before `run`, so that its items are typed. */
  readonly forEach?: (state: Frozen<State>) => readonly Item[];
  /** How many items are worked on at the same time; one, when left out. */
  readonly parallel?: number;
  /** The work. With `forEach` it changes no state: what it gives is recorded, and `after` makes the state of it. */
  readonly run: (
    context: [Item] extends [never] ? PhaseContext<State, Input> : ItemContext<State, Input>,
    item: Item,
    index: number,
  ) => Awaitable<Output>;
  /** Repeats the work until this holds; each round is recorded. Not together with `forEach`. */
  readonly until?: (state: Frozen<State>, output: Output) => Awaitable<boolean>;
  /** Rounds at the most, 3 when left out: then the phase goes on with what there is. */
  readonly maxRuns?: number;
  readonly after?: (context: PhaseContext<State, Input>, output: OutputOf<Item, Output>) => unknown;
  /** Tidies up when the attempt has ended, in whatever way. */
  readonly finally?: (context: PhaseContext<State, Input>) => unknown;
  /** Asks people once the work is done, unless `prompt` gives nothing. */
  readonly human?: HumanSpec<
    State,
    Name,
    Response,
    readonly [output: OutputOf<Item, Output>, error?: PhaseError]
  >;
  readonly next: Next<
    Name,
    readonly [
      state: Frozen<State>,
      output: Guarded<Guard, OutputOf<Item, Output>>,
      response: Response | undefined,
    ]
  >;
};

export type HumanPhaseSpec<State, Name extends string, Response> = Common<State> &
  HumanSpec<State, Name, Response, readonly [error?: PhaseError]> & {
    readonly next: Next<Name, readonly [state: Frozen<State>, response: Response]>;
  };

export type EffectSpec<State, Name extends string, Result> = Common<State> & {
  readonly guard?: (state: Frozen<State>) => Awaitable<boolean>;
  /** What is to be done, as data. */
  readonly effect: (state: Frozen<State>) => EffectRequest<Result>;
  /** Changes the draft of the state by what the effect gave. */
  readonly onResult?: (outputs: Result, draft: Draft<State>) => void;
  /** Where it goes on when people refuse it; when left out, the phase fails with `ERR_FORBIDDEN`. */
  readonly onRejected?: Name;
  readonly next: Next<Name, readonly [state: Frozen<State>]>;
};

export type TerminalSpec<State, Result> = {
  /** How the task ends; `succeeded`, when left out. */
  readonly outcome?: 'succeeded' | 'failed';
  /** What the task comes to. */
  readonly output?: (state: Frozen<State>) => Result;
};

/** What the type of a phase remembers of it, and no value has. */
type PhaseTypes<State, Name extends string, Result> = {
  readonly known?: {
    readonly state: (state: State) => State;
    readonly next: Name;
    readonly result: Result;
  };
};

/** A phase of a workflow, by its `type`. Made by the functions of `phasesFor`. */
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

/** A state whose type only its author knows. */
export type AnyState = Record<string, unknown>;

/** Phases as whoever runs them sees them. */
export type AnyAgent = Omit<
  AgentSpec<AnyState, AnyState, string, unknown, unknown, Awaitable<boolean>, unknown>,
  'run' | 'after' | 'human' | 'next'
> & {
  readonly run: (context: AnyContext, item?: unknown, index?: number) => unknown;
  readonly after?: (context: AnyContext, output: unknown) => unknown;
  readonly human?: AnyAsk;
  readonly next: Next<string, readonly [state: AnyState, output: unknown, response: unknown]>;
};
/** What is common to whatever asks people: `given` is the output of the work, if there is any, and then the error. */
export type AnyAsk = HumanSpec<AnyState, string, unknown, readonly unknown[]>;
export type AnyHuman = Omit<HumanPhaseSpec<AnyState, string, unknown>, 'prompt'> & Pick<AnyAsk, 'prompt'>;
export type AnyEffect = EffectSpec<AnyState, string, unknown>;
export type AnyTerminal = TerminalSpec<AnyState, unknown>;
export type AnyPhase = Phase<AnyState>;
export type AnyContext = PhaseContext<AnyState, AnyState>;
