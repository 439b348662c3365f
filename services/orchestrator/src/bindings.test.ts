import { IDENTITY_HEADER } from '@holdpoint/contracts/approval/identity';
import { HoldpointError } from '@holdpoint/contracts/values/errors';
import { commandIdOf, repositoryIdOf } from '@holdpoint/contracts/values/ids';
import { subjects } from '@holdpoint/contracts/bus/subjects';
import { describe, expect, test } from 'vitest';
import { EMPTY_CONTEXT } from './submission-context.ts';
import { verdictOf } from '../testing/tasks.ts';
import { orchestratorInbound, orchestratorLogic } from './bindings.ts';
import type { SenderOf } from './sender.ts';

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

describe('a command of a person on the bus', () => {
  const people = (senderOf?: SenderOf) =>
    orchestratorInbound(EMPTY_CONTEXT, senderOf).find(
      ({ consumer }) => consumer.name === 'orchestrator-people',
    );
  const arrival = (assertion?: string) => ({
    identity: 'HP_IN/7/1',
    arrived: { at: 5, header: (name: string) => (name === IDENTITY_HEADER ? assertion : undefined) },
  });
  const submission = { id: 't-1', workflow: 'reply', goal: 'reply' };
  const submitted = (requestedBy: string | undefined, assertion?: string, senderOf?: SenderOf) =>
    people(senderOf)?.decode(
      subjects.peopleCommand('submit'),
      { ...submission, ...(requestedBy !== undefined && { requestedBy }) },
      arrival(assertion),
    );

  test.each([
    ['Ada', 'unverified:ada'],
    ['ada\u200b', 'unverified:unknown'],
    ['user:ada', 'unverified:unknown'],
    [undefined, 'unverified:unknown'],
  ])('a name without a token is unverified: %s', (given, requestedBy) => {
    expect(submitted(given)?.message).toMatchObject({
      payload: { requestedBy },
      sender: { kind: 'unverified' },
    });
  });

  test('the assertion names the requester and their agent, whatever the payload says', () => {
    const sender = { kind: 'person', name: 'ada', groups: [], agent: 'bot' } as const;
    const seen: unknown[] = [];
    const routed = submitted('grace', 'a.b.c', (command, header, at) => {
      seen.push([command, header(IDENTITY_HEADER), at]);
      return sender;
    });
    expect(routed?.message).toMatchObject({ payload: { requestedBy: 'ada', agent: 'bot' }, sender });
    // The time at which the server stored the message counts, not that of its delivery.
    expect(seen).toEqual([['submit', 'a.b.c', 5]]);
  });

  test('a command waits while the key of its assertion is not known', () => {
    const later = submitted('ada', 'a.b.c', () => {
      throw new HoldpointError('RUNTIME_UNAVAILABLE', 'the key is not known yet');
    });
    expect(later?.defer).toBe(true);
  });

  test('a refused assertion refuses the command', () => {
    const refuse = () =>
      submitted('ada', 'a.b.c', () => {
        throw new HoldpointError('IDENTITY_EXPIRED', 'fetch a new one');
      });
    expect(refuse).toThrow('fetch a new one');
  });

  test.each(['recover', 'circuit_state', 'watch', 'notify', 'registry'])(
    'a person does not send %s',
    (kind) => {
      const bodies: Readonly<Record<string, object>> = {
        recover: { task: 't-1', node: 'a', attempt: 1, verdict: verdictOf('retry') },
        circuit_state: { id: 't-1', circuit: 'w', state: 'closed' },
        watch: { id: 't-1', watcher: 't-2' },
        notify: { id: 't-1', notification: { kind: 'peer', task: 't-1', peer: 't-2', outcome: 'succeeded' } },
        registry: {
          id: repositoryIdOf('/r'),
          request: { kind: 'release', task: 't-1', node: 'a', attempt: 1 },
        },
      };
      expect(() => people()?.decode(subjects.peopleCommand(kind), bodies[kind], arrival())).toThrow(
        `only services send ${kind}`,
      );
    },
  );

  test('a command of a service keeps its names', () => {
    const commands = orchestratorInbound(EMPTY_CONTEXT).find(
      ({ consumer }) => consumer.name === 'orchestrator',
    );
    const routed = commands?.decode(
      subjects.taskCommand('submit'),
      { ...submission, requestedBy: 'ada' },
      arrival(),
    );
    expect(routed?.message).toMatchObject({ payload: { requestedBy: 'ada' }, sender: { kind: 'service' } });
  });
});
