import type { Bug } from './bug.ts';
import { batch, crashPoints, intake, publisher, SEEDS, settling } from './tests.ts';

const INTAKE = 'packages/runtime/src/engine/intake.ts';
const SETTLING = 'packages/runtime/src/bus/dead-letter-actions.ts';
const PUBLISHER = 'packages/runtime/src/bus/publisher.ts';
const KILLED = crashPoints(
  'a submission that the bus has taken becomes a task, though the orchestrator is killed at every point while it takes it',
);

export const BUS_BUGS: readonly Bug[] = [
  {
    name: 'acknowledged before the commit',
    file: INTAKE,
    find: `    engine.accept({
      aggregate,`,
    replace: `    delivery.ack();
    engine.accept({
      aggregate,`,
    caughtBy: [SEEDS, intake('is acknowledged once what it led to is committed, and not before'), KILLED],
  },
  {
    name: 'acknowledged as soon as it is received',
    file: 'packages/runtime/src/bus/source.ts',
    find: `callback: (msg) => handOver(msg),`,
    replace: `callback: (msg) => (msg.ack(), handOver(msg)),`,
    caughtBy: [KILLED],
  },
  {
    name: 'acknowledged before its dead letter is committed',
    file: INTAKE,
    find: `    engine.post(letter, () => delivery.ack());`,
    replace: `    engine.post(letter, () => undefined);
    delivery.ack();`,
    caughtBy: [intake('is kept of %s; it is acknowledged once that is committed')],
  },
  {
    name: 'what cannot be read is caught, and acknowledged',
    file: INTAKE,
    find: `      return bury(delivery, toErrorBody(error));`,
    replace: `      void error;
      return delivery.ack();`,
    caughtBy: [intake('is kept of %s; it is acknowledged once that is committed')],
  },
  {
    name: 'a dead letter that is tried again is settled, and not handled',
    file: SETTLING,
    find: `      if (routed !== undefined) await handle(routed);`,
    replace: `      void [routed, handle];`,
    caughtBy: [
      SEEDS,
      settling('is handled as it came, under the same id, and what became of it is stated'),
      settling('stays when %s'),
    ],
  },
  {
    name: 'a dead letter is settled by everybody who asks at once',
    file: SETTLING,
    find: 'id: `dlq.${service}.settled.${String(sequence)}`,',
    replace: 'id: `dlq.${service}.settled.${String(sequence)}.${String(at)}.${String(Math.random())}`,',
    caughtBy: [SEEDS],
  },
  {
    name: 'whoever settles a dead letter does not wait for who is at it',
    file: SETTLING,
    find: `    underWay.set(sequence, mine);`,
    replace: ``,
    caughtBy: [settling('is handled once, however many ask at once, and all are told the same')],
  },
  {
    name: 'what the store did not take is acknowledged',
    file: INTAKE,
    find: `        delivery.giveBack(backoffMs(delivery.deliveries));`,
    replace: `        delivery.ack();`,
    caughtBy: [SEEDS, intake('that the store did not take comes again, ever later')],
  },
  {
    name: 'what has been handled is not acknowledged',
    file: INTAKE,
    find: `        else delivery.ack();
      },`,
    replace: `      },`,
    caughtBy: [intake('is acknowledged once what it led to is committed, and not before')],
  },
  {
    name: 'a fact that is published again has another message id',
    file: 'packages/runtime/src/engine/batch.ts',
    find: 'id: `${kind.aggregate}.${event.aggregate}.${String(event.version)}`,',
    replace: 'id: `${kind.aggregate}.${event.aggregate}.${String(event.version)}.${String(Math.random())}`,',
    caughtBy: [SEEDS, batch('is the same message whenever it is made')],
  },
  {
    name: 'a publish that is not answered in time counts as confirmed',
    file: PUBLISHER,
    find: `setTimeout(() => settle(false), CONFIRM_TIMEOUT_MS)`,
    replace: `setTimeout(() => settle(true), CONFIRM_TIMEOUT_MS)`,
    caughtBy: [publisher('if an answer does not come in time')],
  },
  {
    name: 'any answer to a publish counts as its confirmation',
    file: PUBLISHER,
    find: `  return typeof ack === 'object' && ack !== null && 'seq' in ack && !('error' in ack);`,
    replace: `  return typeof ack === 'object' && ack !== null;`,
    caughtBy: [publisher('if %s, though the others are stored')],
  },
  {
    name: 'a batch is confirmed by the last of its answers',
    file: PUBLISHER,
    find: `      batch.ok &&= error === null && confirms(msg);`,
    replace: `      batch.ok = error === null && confirms(msg);`,
    caughtBy: [publisher('if %s, though the others are stored')],
  },
];
