import { commandIdOf } from '@holdpoint/contracts/values/ids';
import { subjects } from '@holdpoint/contracts/bus/subjects';
import { describe, expect, test } from 'vitest';
import { EMPTY_CONTEXT } from './submission-context.ts';
import { orchestratorLogic } from './bindings.ts';

const decoded = (kind: string, identity: string) => {
  const commands = orchestratorLogic().inbound.find(({ consumer }) => consumer.name === 'orchestrator');
  return commands?.decode(subjects.taskCommand(kind), { id: 't-1' }, { identity });
};

describe.each(['cancel', 'pause', 'resume', 'retry'])('%s', (kind) => {
  test('the command id is stable per message and differs between messages', () => {
    const first = decoded(kind, 'HP_CMD/7/1');
    const commandId = commandIdOf(kind, 'HP_CMD/7/1');
    expect(first).toMatchObject({ aggregate: 't-1', message: { kind, task: 't-1', commandId } });
    expect(decoded(kind, 'HP_CMD/7/1')).toEqual(first);
    expect(decoded(kind, 'HP_CMD/8/1')).not.toEqual(first);
  });
});

test.each([true, false])('a submission is decided once its name is certain: %s', (isCertain) => {
  const known = { ...EMPTY_CONTEXT, isCertain: () => isCertain };
  const commands = orchestratorLogic(undefined, known).inbound.find(
    ({ consumer }) => consumer.name === 'orchestrator',
  );
  const submission = { id: 't-1', workflow: 'reply', goal: 'reply' };
  const routed = commands?.decode(subjects.taskCommand('submit'), submission, { identity: 'HP_CMD/7/1' });
  expect(routed?.defer).toBe(isCertain ? undefined : true);
});
