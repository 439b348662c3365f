import { isAggregate, runtimeCore, type Violation } from './import-rules.ts';
import type { SourceFacts } from './source-facts.ts';

/** Who decides that a message is acknowledged, and who tells the server so; and the one file that publishes. */
export const ACKNOWLEDGES = ['packages/runtime/src/bus/source.ts', 'packages/runtime/src/engine/intake.ts'];
export const PUBLISHES = 'packages/runtime/src/bus/publisher.ts';
/** Says what nothing depends on: output of running work. */
export const ANNOUNCES = 'packages/runtime/src/bus/announcer.ts';
/** Asks the bus to deliver again what an earlier owner has taken. */
export const TAKES_BACK = 'packages/runtime/src/ownership/take-back.ts';

const isTest = (path: string): boolean => path.endsWith('.test.ts');
const isProduction = (path: string): boolean =>
  /^(services|packages\/(runtime|contracts))\//.test(path) && !isTest(path);
const mayReadEnvironment = (path: string): boolean =>
  /^(infra|tests)\//.test(path) ||
  /(^|\/)main\.ts$/.test(path) ||
  // What a reader starts by its name.
  /^examples\/[^/]+\/(worker|start)\.ts$/.test(path) ||
  isTest(path) ||
  !path.includes('/');

const ACKNOWLEDGEMENT = /\.(ack|ackAck|nak|term|working)$/;
const IMPURE =
  /^(Date\.now|Date\(\)|new Date\(0\)|Math\.random|(set(Timeout|Interval|Immediate)|queueMicrotask|fetch)\(\)|(crypto|performance|process|globalThis)\..*)$/;

/** What is forbidden in which files; `uses` are matched by text. */
type Rule = {
  readonly applies: (file: SourceFacts) => boolean;
  readonly forbids: (use: string) => boolean;
  readonly says: string;
};

const talksToBus = ({ imports }: SourceFacts): boolean =>
  imports.some(({ specifier }) => specifier.startsWith('@nats-io/'));

const rulesFor = (core: ReadonlySet<string>): readonly Rule[] => [
  {
    applies: ({ path }) => !mayReadEnvironment(path),
    forbids: (use) => use === 'process.env',
    says: 'only main.ts reads the environment',
  },
  {
    applies: ({ path }) => isProduction(path) && !ACKNOWLEDGES.includes(path),
    forbids: (use) => ACKNOWLEDGEMENT.test(use),
    says: `only ${ACKNOWLEDGES.join(' and ')} acknowledge: after the commit, and nowhere else`,
  },
  {
    applies: (file) =>
      isProduction(file.path) && ![PUBLISHES, ANNOUNCES, TAKES_BACK].includes(file.path) && talksToBus(file),
    forbids: (use) => use.endsWith('.publish'),
    says: `only ${PUBLISHES} publishes what the outbox holds, ${ANNOUNCES} what may be lost, and ${TAKES_BACK} gives back`,
  },
  {
    applies: ({ path }) => isAggregate(path),
    forbids: (use) => use === 'await' || IMPURE.test(use),
    says: 'an aggregate has no await, no clock and no randomness: time and ids arrive with the message',
  },
  {
    applies: ({ path }) => core.has(path) && !isTest(path),
    forbids: (use) => IMPURE.test(use),
    says: "the runtime's core has no clock and no chance of its own: the simulator decides both",
  },
];

/** Every forbidden use. Pure, so that it can be shown a bad tree. */
export const checkUses = (files: readonly SourceFacts[]): readonly Violation[] => {
  const rules = rulesFor(runtimeCore(files));
  return files.flatMap((file) =>
    rules
      .filter(({ applies }) => applies(file))
      .flatMap(({ forbids, says }) =>
        file.uses
          .filter(({ what }) => forbids(what))
          .map(({ what, line }) => ({ file: file.path, line, imports: what, rule: says })),
      ),
  );
};

/** The files that acknowledge and that publish: to see that the rules look at something that is there. */
export const busUses = (
  files: readonly SourceFacts[],
): { readonly acknowledge: string[]; readonly publish: string[] } => {
  const production = files.filter(({ path }) => isProduction(path));
  const having = (found: readonly SourceFacts[], use: RegExp): string[] =>
    found.filter(({ uses }) => uses.some(({ what }) => use.test(what))).map(({ path }) => path);
  return {
    acknowledge: having(production, ACKNOWLEDGEMENT),
    publish: having(production.filter(talksToBus), /\.publish$/),
  };
};
