import { join } from 'node:path';
import { CAPABILITIES } from '@holdpoint/contracts/effect/capabilities';
import { StepInput } from '@holdpoint/contracts/task/step';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createRepositories } from '../adapters/git/repositories.ts';
import { createProcessRecords } from '../adapters/process/process-records.ts';
import { contextFor } from '../../testing/context.ts';
import { scratchFolder } from '../../testing/scratch.ts';
import type { Capability } from '../ports/capability.ts';
import { createHandlerRegistry } from '../ports/handler-registry.ts';
import { stageCapabilities, startsProcess } from './stages.ts';

let folder: Awaited<ReturnType<typeof scratchFolder>>;
let capabilities: readonly Capability[];
beforeAll(async () => {
  folder = await scratchFolder();
  capabilities = stageCapabilities({
    repositories: createRepositories([], {}),
    records: createProcessRecords(join(folder.path, 'state')),
    env: {},
  });
});
afterAll(() => folder.remove());

const STAGES = Object.keys(CAPABILITIES).filter((uses) => CAPABILITIES[uses]?.stage === true);

test('the executor has every known stage exactly once', () => {
  const previews = capabilities.flatMap((each) =>
    each.preview === undefined ? [] : [`${each.uses}.preview`],
  );
  expect([...capabilities.map(({ uses }) => uses), ...previews].toSorted()).toEqual(STAGES.toSorted());
  for (const { input } of capabilities) expect(input).toBe(StepInput);
});

test('every label that starts a process is a stage', () => {
  expect(STAGES.filter(startsProcess)).toEqual([
    'cap.env.shell.prompt.resolve',
    'cap.agent.invoke',
    'cap.env.shell.command.run',
    'cap.env.shell.cicd.run',
    'control.gate.stop_condition',
    'control.gate.conflict_resolution',
    'control.gate.cicd',
  ]);
  expect(startsProcess('cap.env.shell.command.run.compensate')).toBe(true);
  expect(startsProcess('cap.file.append')).toBe(false);
});

test.each(STAGES)('%s refuses a repository that is not allowed, and names the setting', async (uses) => {
  const input = StepInput.parse({ with: {}, repository: folder.path, context: {} });
  const carrier = createHandlerRegistry(capabilities).get(uses);
  await expect(carrier?.run(input, contextFor())).rejects.toMatchObject({
    name: 'CleanFailure',
    body: {
      code: 'EXECUTOR_REPOSITORY_NOT_ALLOWED',
      message: expect.stringContaining('HOLDPOINT_REPOSITORIES') as string,
    },
  });
});
