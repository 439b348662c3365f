import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { createRepository, type Repository } from './repository.ts';
import { enqueue, newRun, untilRun } from './runs.ts';
import type { Stack } from './stack.ts';

/** Jobs in every lasting state: `hold` runs and prints until the file `go` exists. */
const FLOW = `
id = "template.held"
version = "v1"

[policy]
failure_mode = "continue_independent"

[policy.dependencies]
missing_producer = "wait"

[[artifact_contracts]]
id = "thing"
version = "v1"

[[nodes]]
id = "good"
uses = "cap.env.shell.command.run"
args = { command = "true" }
locks = [{ key = "good", mode = "exclusive" }]
on = { succeeded = ["hold"] }

[[nodes]]
id = "hold"
name = "Hold on"
uses = "cap.env.shell.command.run"
args = { command = "echo out 1; echo err 1 >&2; until test -e go; do sleep 0.1; done; echo out 2; echo err 2 >&2" }
locks = [{ key = "lane", mode = "exclusive" }, { key = "behind", mode = "exclusive" }]
produces = { succeeded = [{ custom = { type_id = "thing", key = "held" } }] }
on = { succeeded = ["next"] }

[[nodes]]
id = "next"
uses = "cap.env.shell.command.run"
args = { command = "true" }
locks = [{ key = "next", mode = "exclusive" }]

[[nodes]]
id = "second"
uses = "cap.env.shell.command.run"
args = { command = "until test -e seconded; do sleep 0.1; done" }
locks = [{ key = "second", mode = "exclusive" }]
on = { succeeded = ["seconded"] }

[[nodes]]
id = "seconded"
uses = "cap.env.shell.command.run"
args = { command = "true" }
locks = [{ key = "behind", mode = "exclusive" }]

[[nodes]]
id = "taker"
uses = "cap.env.shell.command.run"
args = { command = "true" }
needs = [
  { custom = { type_id = "thing", key = "held" } },
  { custom = { type_id = "thing", key = "absent" } },
]

[[nodes]]
id = "ask"
kind = "gate"
uses = "control.gate.approval"
gates = [{ kind = "approval", required = true }]
on = { succeeded = ["asked"] }

[[nodes]]
id = "asked"
uses = "cap.env.shell.command.run"
args = { command = "true" }
locks = [{ key = "asked", mode = "exclusive" }]

[[nodes]]
id = "bad"
uses = "cap.env.shell.command.run"
args = { command = "exit 3" }
locks = [{ key = "bad", mode = "exclusive" }]
on = { succeeded = ["after_bad"] }

[[nodes]]
id = "after_bad"
uses = "cap.env.shell.command.run"
args = { command = "true" }
`;

/** The final status of each job. */
export const HELD = {
  good: 'succeeded',
  hold: 'running',
  next: 'waiting_on_deps',
  second: 'succeeded',
  seconded: 'waiting_on_locks',
  taker: 'waiting_on_deps',
  ask: 'waiting_on_approval',
  asked: 'waiting_on_deps',
  bad: 'failed',
  after_bad: 'blocked_by_dependency',
} as const;

export type Held = {
  readonly repository: Repository;
  readonly run: string;
  readonly job: (node: keyof typeof HELD) => string;
  /** Lets `hold` end. */
  readonly letGo: () => void;
};

const statuses: Readonly<Record<string, string>> = HELD;

/** A run in which every job has reached its lasting state. */
export const startHeld = async (stack: Stack): Promise<Held> => {
  const repository = createRepository(stack);
  const run: string = newRun();
  repository.write('.holdpoint/workflows/held.toml', FLOW);
  await enqueue(repository, '.holdpoint/workflows/held.toml', '--id', run);
  await untilRun(stack, run, 'hold is running', ({ nodes }) =>
    nodes.some(({ id, job }) => id === 'hold' && job === 'running'),
  );
  repository.write('seconded', '');
  const held = await untilRun(stack, run, 'has come as far as it can', ({ nodes }) =>
    nodes.every(({ id, job }) => job === statuses[id]),
  );
  expect(held.nodes.find(({ id }) => id === 'ask')?.approval).toBeDefined();
  return {
    repository,
    run,
    job: (node) => `${run}/${node}`,
    letGo: () => writeFileSync(join(repository.root, 'go'), ''),
  };
};

/** Runs a command that must succeed, and parses its JSON output. */
export const json = async <Shape>(repository: Repository, ...words: readonly string[]): Promise<Shape> => {
  const { code, out, err } = await repository.holdpoint(...words, '--format', 'json');
  expect(code, `${words.join(' ')}: ${out}${err}`).toBe(0);
  return JSON.parse(out) as Shape;
};
