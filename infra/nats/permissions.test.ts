import { commands } from '@holdpoint/contracts/catalog/commands';
import { consumers, DEFAULT_POOL, executorConsumer, streams } from '@holdpoint/contracts/bus/streams';
import { AGGREGATES, SERVICES, subjects } from '@holdpoint/contracts/bus/subjects';
import type { ServiceName } from '@holdpoint/contracts/bus/subjects';
import { describe, expect, test } from 'vitest';
import { natsUsers } from '../credentials/layout.ts';
import { recordOf } from '../local/record.ts';
import { ACCOUNTS, busAccess, CORE, overlap } from './accounts.ts';
import type { Rule } from './accounts.ts';
import { isSupported, parseServerVersion, renderServerConfig } from './config.ts';

const { accounts, permissions: table } = busAccess();

/** Whether NATS permits a subject: `*` is one token, `>` is the rest. */
const matches = (pattern: string, subject: string): boolean => {
  const want = pattern.split('.');
  const have = subject.split('.');
  for (const [i, token] of want.entries()) {
    if (token === '>') return have.length > i;
    if (have[i] === undefined || (token !== '*' && token !== have[i])) return false;
  }
  return want.length === have.length;
};
const allows = ({ allow }: Rule, subject: string) => allow.some((pattern) => matches(pattern, subject));

const publishersOf = (subject: string) => natsUsers.filter((user) => allows(table[user].publish, subject));
const subscribersOf = (subject: string) => natsUsers.filter((user) => allows(table[user].subscribe, subject));

describe('publish permissions', () => {
  test.each([
    ['hp.evt.task.completed.t-1', ['orchestrator']],
    ['hp.evt.approval.resolved.a-1', ['approvals']],
    ['hp.evt.effect.applied.e-1', ['executor']],
    ['hp.evt.recovery.assessed.r-1', ['recovery']],
    ['hp.cmd.task.submit', ['orchestrator', 'operator']],
    ['hp.cmd.task.cancel', ['orchestrator', 'operator']],
    ['hp.cmd.task.retry', ['operator']],
    ['hp.cmd.task.done', ['operator']],
    ['hp.cmd.task.checkpoint', ['operator']],
    ['hp.cmd.task.recover', ['recovery']],
    ['hp.cmd.task.circuit_state', ['recovery']],
    ['hp.cmd.approval.decide', []],
    ['hp.cmd.approval.request', ['orchestrator']],
    ['hp.cmd.approval.cancel', ['orchestrator']],
    ['hp.cmd.effect.run.default', ['orchestrator']],
    ['hp.cmd.effect.cancel.gpu', ['orchestrator']],
    ['hp.in.task.submit', []],
    ['hp.cmd.recovery.assess', ['orchestrator']],
    ['hp.cmd.recovery.record_attempt', ['orchestrator']],
    ['hp.cmd.recovery.job_unstuck', ['orchestrator']],
    ['hp.cmd.recovery.circuit_acquire', ['orchestrator']],
    ['hp.cmd.recovery.circuit_record_failure', ['recovery']],
    ['hp.cmd.task.skip', ['operator']],
    ['hp.cmd.task.watch', ['orchestrator']],
    ['hp.cmd.task.notify', ['orchestrator']],
    ['hp.cmd.task.registry', ['orchestrator']],
    ['hp.log.t-1.build', ['executor']],
    ['hp.api.approvals.list', ['operator']],
    ['$JS.API.STREAM.CREATE.HP_CMD', ['topology']],
    ['$JS.API.STREAM.CREATE.OTHER', []],
    ['$JS.API.STREAM.UPDATE.HP_EVT', ['topology']],
    ['hp.cmd.recovery.circuit_report', ['executor']],
    ['hp.api.recovery.circuits', ['orchestrator', 'approvals', 'executor', 'operator']],
    ['hp.api.recovery.classify', ['operator']],
    ['hp.api.orchestrator.done', ['approvals', 'operator']],
    ['hp.api.orchestrator.submit', ['approvals', 'operator']],
    ['hp.api.recovery.circuit', ['approvals', 'operator']],
    ['hp.api.executor.dead_letter_resolve', ['approvals', 'operator']],
    ['hp.api.approvals.dead_letter_resolve', ['operator']],
    // Its replicas answer one another.
    ['_ASK_approvals.x', ['approvals']],
    ['_ASK_orchestrator.x', []],
    // Only the server makes such subjects: it sends the answer to who has asked.
    ['_R_.AbCd', SERVICES],
    ['$SRV.PING', ['approvals', 'operator', 'monitor']],
    ['hp.ping.executor', ['approvals']],
    ['$SRV.STATS', ['operator', 'monitor']],
    ['$JS.API.DIRECT.GET.HP_LOG', ['approvals', 'operator']],
    ['$JS.API.DIRECT.GET.HP_CMD', []],
    ['$JS.API.CONSUMER.CREATE.HP_LOG.mine', []],
    ['$JS.API.STREAM.MSG.GET.HP_EVT', ['operator']],
    ['$JS.API.STREAM.MSG.GET.HP_CMD', []],
    ['$JS.API.STREAM.MSG.GET.HP_IN', []],
    ['$JS.API.DIRECT.GET.HP_IN', []],
    ['$JS.API.STREAM.MSG.GET.HP_WORK', []],
    ['hp.evt.recovery.circuit_opened.o-1', ['recovery']],
    ['hp.api.approvals.keys', ['orchestrator', 'executor', 'recovery', 'operator', 'worker']],
    ['hp.api.approvals.executor_join', ['executor', 'operator']],
    ['hp.api.approvals.decide', ['operator']],
    ['hp.api.approvals.audit', ['operator']],
    // Workers keep the artifacts of programs apart from those of executors, and consume only their own
    // stream.
    ['hp.work.0123456789abcdef0123456789abcdef01234567', ['orchestrator']],
    ['hp.api.orchestrator.work', ['operator', 'worker']],
    ['hp.api.orchestrator.program_register', ['operator', 'worker']],
    ['hp.api.orchestrator.program_list', ['operator']],
    ['hp.api.orchestrator.workflows', ['approvals', 'operator']],
    ['$JS.API.CONSUMER.MSG.NEXT.HP_WORK.work-0123', ['worker']],
    ['$JS.API.CONSUMER.CREATE.HP_WORK.work-0123.hp.work.0123', ['topology']],
    ['$JS.API.CONSUMER.DELETE.HP_WORK.work-0123', ['topology']],
    ['$JS.API.CONSUMER.INFO.HP_WORK.work-0123', ['topology', 'operator', 'monitor', 'worker']],
    ['$JS.ACK.HP_WORK.work-0123.1.2.3.1700000000000000000.0', ['worker']],
    ['$JS.API.STREAM.DELETE.HP_WORK', []],
    ['$JS.API.STREAM.PURGE.HP_WORK', []],
  ])('%s is published by %j', (subject, users) => {
    expect(publishersOf(subject)).toEqual(users);
  });

  /** Commands of operators; the orchestrator submits rollbacks, which are ordinary tasks. */
  const SHARED: readonly string[] = ['submit', 'cancel'];

  test('every command of the contracts has exactly one sender', () => {
    const sent = {
      orchestrator: subjects.taskCommand,
      approvals: subjects.approvalCommand,
      executor: (command: string) => subjects.effectCommand(command, DEFAULT_POOL),
      recovery: subjects.recoveryCommand,
    };
    for (const service of SERVICES) {
      for (const command of Object.keys(commands[service])) {
        const senders = service === 'orchestrator' && SHARED.includes(command) ? 2 : 1;
        expect([command, publishersOf(sent[service](command)).length]).toEqual([command, senders]);
      }
    }
  });

  test('recovery publishes only its verdicts, circuit states and circuit failures as commands', () => {
    const said = Object.entries(commands).flatMap(([service, each]) => {
      const aggregate = AGGREGATES[service as ServiceName];
      return Object.keys(each).flatMap((command) => [
        `hp.cmd.${aggregate}.${command}`,
        `hp.cmd.${aggregate}.${command}.${DEFAULT_POOL}`,
      ]);
    });
    expect(said.filter((subject) => allows(table.recovery.publish, subject))).toEqual([
      'hp.cmd.task.recover',
      'hp.cmd.task.circuit_state',
      'hp.cmd.recovery.circuit_record_failure',
    ]);
    for (const other of ['hp.api.approvals.decide', 'hp.api.orchestrator.done', 'hp.api.recovery.circuit'])
      expect(allows(table.recovery.publish, other)).toBe(false);
  });

  test('approvals publishes only receipts of callbacks as commands, although its console forwards requests', () => {
    const said = Object.entries(commands).flatMap(([service, each]) =>
      Object.keys(each).map((command) => `hp.cmd.${AGGREGATES[service as ServiceName]}.${command}`),
    );
    expect(said.filter((subject) => publishersOf(subject).includes('approvals'))).toEqual([
      'hp.cmd.task.callback_taken',
    ]);
  });

  test.each(streams.map(({ name }) => name))('no user deletes or purges %s', (name) => {
    for (const verb of [
      'STREAM.DELETE',
      'STREAM.PURGE',
      'STREAM.MSG.DELETE',
      'STREAM.SNAPSHOT',
      'STREAM.RESTORE',
    ]) {
      expect(publishersOf(`$JS.API.${verb}.${name}`)).toEqual([]);
    }
  });

  test.each(consumers.map((consumer) => [consumer.name, consumer] as const))(
    '%s serves its service alone',
    (_name, consumer) => {
      const { stream, name, service, filter } = consumer;
      expect(publishersOf(`$JS.API.CONSUMER.MSG.NEXT.${stream}.${name}`)).toEqual([service]);
      expect(publishersOf(`$JS.ACK.${stream}.${name}.1.2.3.1700000000000000000.0`)).toEqual([service]);
      expect(publishersOf(`$JS.ACK._.AbCdEfGh.${stream}.${name}.1.2.3.1700000000000000000.0`)).toEqual([
        service,
      ]);
      expect(publishersOf(`$JS.API.CONSUMER.CREATE.${stream}.${name}.${filter}`)).toEqual(['topology']);
      expect(publishersOf(`$JS.API.CONSUMER.CREATE.${stream}.${name}`)).toEqual([]);
      expect(publishersOf(`$JS.API.CONSUMER.CREATE.${stream}.${name}.hp.evt.other`)).toEqual([]);
      expect(publishersOf(`$JS.API.CONSUMER.DURABLE.CREATE.${stream}.${name}`)).toEqual([]);
      expect(publishersOf(`$JS.API.CONSUMER.DELETE.${stream}.${name}`)).toEqual(['topology']);
    },
  );

  test('one form of an acknowledgement is not accepted as the other', () => {
    // The short form names the consumer "approvals" of HP_CMD; the long form names a stream and consumer
    // of the executor.
    const forged = '$JS.ACK.HP_CMD.approvals.HP_CMD.executor-default.1.2.3.4.5';
    expect(publishersOf(forged)).toEqual([]);
  });

  test('no user publishes to the inbox of any user', () => {
    for (const user of natsUsers) expect(publishersOf(`_INBOX_${user}.x.1`)).toEqual([]);
    expect(publishersOf('_INBOX.x.1')).toEqual([]);
  });
});

describe('accounts', () => {
  const outside = accounts.filter(({ name }) => name !== CORE);

  test('only the orchestrator and the user that creates streams are in the account of the streams', () => {
    expect(natsUsers.filter((user) => ACCOUNTS[user] === CORE)).toEqual(['orchestrator', 'topology']);
    expect(new Set(outside.map(({ users }) => users.length))).toEqual(new Set([1]));
  });

  test.each(outside.map((account) => [account.name, account] as const))(
    'a reply subject in %s reaches only what its user may publish',
    (_name, { users, imports }) => {
      const [user] = users;
      if (user === undefined) throw new Error('the account has no user');
      const reached = imports
        .filter(({ kind }) => kind === 'service')
        .map(({ subject, to }) => to ?? subject)
        // It answers with figures alone, and stands for the whole API that the server would import.
        .filter((subject) => subject !== '$JS.API.INFO');
      expect(reached.filter((subject) => !table[user].publish.allow.includes(subject))).toEqual([]);
    },
  );

  test.each(outside.map((account) => [account.name, account] as const))(
    '%s imports no right to create, change or delete streams and consumers',
    (_name, { imports }) => {
      const rights = imports.flatMap(
        ({ subject }) =>
          /^\$JS\.API\.(?:STREAM|CONSUMER)\.(?!INFO|LIST|NAMES|MSG)/.exec(subject)?.input ?? [],
      );
      // Object stores replace chunks; they hold no message of a service.
      expect(rights).toEqual([]);
      expect(imports.map(({ subject }) => subject)).toContain('$JS.API.INFO');
      expect(imports.map(({ subject }) => subject)).not.toContain('$JS.API.>');
    },
  );

  test('no account forwards messages of another account', () => {
    const passed = accounts.flatMap(({ name, imports }) => {
      const arriving = accounts.flatMap((other) =>
        other.imports.filter(({ kind, from }) => kind === 'service' && from === name),
      );
      return imports
        .filter(({ kind }) => kind === 'service')
        .flatMap(({ subject, to = subject }) =>
          arriving
            .filter((each) => overlap(each.subject, to))
            .map((each) => `${name}: ${each.subject} to ${to}`),
        );
    });
    expect(passed).toEqual([]);
  });

  test('every export has its import, and every import its export', () => {
    const exported = accounts.flatMap(({ name, exports }) =>
      exports.flatMap(({ kind, subject, accounts: to }) =>
        to.map((each) => `${name} ${kind} ${subject} ${each}`),
      ),
    );
    const imported = accounts.flatMap(({ name, imports }) =>
      imports.map(({ kind, from, subject }) => `${from} ${kind} ${subject} ${name}`),
    );
    expect(exported.toSorted()).toEqual(imported.toSorted());
  });

  test.each([
    ['hp.evt.>', 'hp.evt.task.*.x', true],
    ['hp.evt.*.x', 'hp.*.task.>', true],
    ['hp.evt.task', 'hp.evt.>', true],
    ['hp.evt', 'hp.evt.>', false],
    ['hp.cmd.task.*', 'hp.cmd.approval.>', false],
    ['hp.cmd.*', 'hp.cmd.task.x', false],
  ])('%s and %s overlap: %j', (one, other, expected) => {
    expect(overlap(one, other)).toBe(expected);
    expect(overlap(other, one)).toBe(expected);
  });
});

describe('subscribe permissions', () => {
  test.each([
    ['_INBOX_executor.x.1', ['executor']],
    ['_ASK_executor.x', ['executor']],
    ['_ASK_orchestrator.x', ['orchestrator']],
    ['hp.evt.recovery.circuit_opened.o-1', ['orchestrator', 'executor', 'operator', 'monitor']],
    ['hp.evt.recovery.assessed.t-1', ['operator', 'monitor']],
    ['hp.evt.task.submitted.t-1', ['approvals', 'operator', 'monitor', 'worker']],
    ['hp.evt.effect.applied.e-1', ['operator', 'monitor']],
    ['_ASK_approvals.x', ['approvals']],
    ['_INBOX_operator.x.1', ['operator']],
    ['_INBOX.x.1', ['operator']],
    ['hp.api.approvals.decide', ['approvals']],
    ['hp.cmd.effect.run.default', []],
    ['hp.evt.approval.resolved.a-1', ['approvals', 'operator', 'monitor']],
    ['hp.evt.task.phase_entry_completed.t-1', ['approvals', 'operator', 'monitor', 'worker']],
    ['hp.evt.effect.applied.e-1', ['operator', 'monitor']],
    ['_INBOX_worker.x.1', ['worker']],
    ['$SRV.PING', SERVICES],
  ])('%s has the subscribers %j', (subject, users) => {
    expect(subscribersOf(subject)).toEqual(users);
  });

  test('the operator reads the output of running work, live and from the stream', () => {
    expect(subscribersOf('hp.log.t-1.build')).toEqual(['approvals', 'operator']);
    expect(publishersOf('$JS.API.DIRECT.GET.HP_LOG')).toEqual(['approvals', 'operator']);
  });
});

test('a declared second pool of executors gets its permissions', () => {
  const pools = { streams, consumers: [...consumers, executorConsumer('gpu')] };
  expect(busAccess(pools).permissions.executor.publish.allow).toContain(
    '$JS.API.CONSUMER.MSG.NEXT.HP_CMD.executor-gpu',
  );
});

describe('the server configuration', () => {
  const settings = {
    publicKeys: recordOf(natsUsers, (user) => `U${user.toUpperCase()}`),
    host: '127.0.0.1',
    port: 4222,
    storeDir: '/data',
    sync: 'always',
  } as const;

  test('the storage is synced at each acknowledgement if that is wanted', () => {
    expect(renderServerConfig(settings)).toContain('sync_interval: always');
  });

  test.each([
    ['nats-server: v2.9.10', false],
    ['v2.10.29', false],
    ['nats-server: v2.11.0', true],
    ['2.15.1', true],
    ['v3.0.0', true],
  ])('the server %s is supported: %j', (text, supported) => {
    expect(isSupported(parseServerVersion(text))).toBe(supported);
  });

  test('every user needs a key', () => {
    const text = renderServerConfig(settings);
    for (const user of natsUsers) expect(text).toContain(`nkey: U${user.toUpperCase()}`);
    expect(text).not.toMatch(/no_auth_user|password|token|^authorization/m);
  });

  test('an invalid version is reported', () => {
    expect(() => parseServerVersion('command not found')).toThrow(
      'not a version of nats-server: "command not found"',
    );
  });
});
