import type { Bug } from './bug.ts';
import {
  admission,
  admissionWork,
  effectExploration,
  effectAnswer,
  effectOrder,
  effectOrders,
  effectOutcome,
  effectProbe,
  effectWork,
  httpAddress,
  httpRequest,
  keyedFile,
  runner,
  SEEDS,
  workOrders,
} from './tests.ts';

const EFFECT = 'services/executor/src/effect/decide.ts';
const DOUBT = 'services/executor/src/effect/in-doubt.ts';
const ORDERING = 'services/executor/src/effect/order.ts';
const REPORT = 'services/executor/src/effect/outcome.ts';
const LEDGER = 'services/executor/src/effect/state.ts';
const ADMISSION = 'services/executor/src/effect/admission.ts';
const HTTP = 'services/executor/src/capabilities/http/http-request.ts';
const SENDING = 'services/executor/src/capabilities/http/send-request.ts';
const KEYED_FILE = 'services/executor/src/adapters/files/keyed-file.ts';
const FILE_LOCK = 'services/executor/src/adapters/files/file-lock.ts';
const LEDGER_CLAIMS =
  'whatever the bus, the workers, the target, people and the clock do, the ledger claims nothing that is not so: $effect.effectClass';
const REFUSED = effectOrders('%s is refused, recorded, and not carried out');

export const EFFECT_BUGS: readonly Bug[] = [
  {
    name: 'an outcome is recorded whatever its epoch',
    file: REPORT,
    find: `  if (state.status === 'started' && entry.epoch === epoch) {`,
    replace: `  if (state.status === 'started') {`,
    caughtBy: [effectOutcome('leaves evidence %s, and changes nothing'), effectExploration(LEDGER_CLAIMS)],
  },
  {
    name: 'a heartbeat extends the lease whatever its epoch',
    file: EFFECT,
    find: `  const inForce = state.status === 'started' && entry.epoch === epoch;`,
    replace: `  const inForce = state.status === 'started';`,
    caughtBy: [effectOutcome('is not extended by anybody else')],
  },
  {
    name: 'a doubt leaves the epoch to the worker that was lost',
    file: DOUBT,
    find: `  return doubtOf(order, epoch + 1, { reason, next, cause }, now);`,
    replace: `  return doubtOf(order, epoch, { reason, next, cause }, now);`,
    caughtBy: [effectOutcome('that is over puts the effect in doubt, and takes the epoch from who held it')],
  },
  {
    name: 'the digest of the grant is not compared',
    file: ADMISSION,
    find: `effectDigest(effect) !== digest || claims.digest !== digest`,
    replace: `effectDigest(effect) !== digest`,
    caughtBy: [admission('%s is refused'), REFUSED],
  },
  {
    name: 'the digest is believed, and not computed again from the effect',
    file: ADMISSION,
    find: `effectDigest(effect) !== digest || claims.digest !== digest`,
    replace: `claims.digest !== digest`,
    caughtBy: [SEEDS, admission('%s is refused'), REFUSED],
  },
  {
    name: 'a grant is good for any effect of its digest',
    file: ADMISSION,
    find: `claims.sub !== id || effectIdOf`,
    replace: `effectIdOf`,
    caughtBy: [admission('for another effect of the same digest is not for this one')],
  },
  {
    name: 'an order without a grant is carried out whatever its kind',
    file: ADMISSION,
    find: `  if (!isWork(order)) return without(`,
    replace: `  if (effect.task === '') return without(`,
    caughtBy: [
      admissionWork('an effect of the kind %s may not, though its capability does work as well'),
      admissionWork('whoever cannot sign starts nothing but work, and that as it is'),
      workOrders('%s is refused, recorded, and not carried out'),
    ],
  },
  {
    name: 'work that was called off is left to a person',
    file: DOUBT,
    find: `  calledOff && isWork(order);`,
    replace: `  calledOff && order.attempt < 0;`,
    caughtBy: [effectWork('while it runs %s, and nobody is asked')],
  },
  {
    name: 'work that the executor has interrupted counts as done',
    file: 'services/executor/src/adapters/runner/runner.ts',
    find: `  isWork(order) && signal.aborted ?`,
    replace: `  isWork(order) && order.attempt < 0 ?`,
    caughtBy: [runner('says nothing of itself, whatever it returns: it is done again')],
  },
  {
    name: 'a grant has no end',
    file: ADMISSION,
    find: `  if (now >= claims.exp * 1_000) return`,
    replace: `  if (now >= Infinity) return`,
    caughtBy: [admission('ends to the second'), REFUSED],
  },
  {
    name: 'a grant is believed whoever signed it',
    file: 'packages/contracts/src/values/jws.ts',
    find: 'return verify(null, Buffer.from(`${header}.${claims}`), key, bytes) ? parse(claims) : undefined;',
    replace:
      'return verify(null, Buffer.from(`${header}.${claims}`), key, bytes) || bytes.length > 0 ? parse(claims) : undefined;',
    caughtBy: [admission('that %s is not valid'), REFUSED],
  },
  {
    name: 'an expired lease lets anything be started again',
    file: DOUBT,
    find: `REPEATABLE.has(effectClass) && starts < most ? 'repeat' : 'person';`,
    replace: `REPEATABLE.has(effectClass) && starts < most ? 'repeat' : 'repeat';`,
    caughtBy: [SEEDS, effectOutcome('of an effect that is %s: %s')],
  },
  {
    name: 'an order that comes again after its effect was applied is carried out again',
    file: ORDERING,
    find: `  const clean = CLEAN.has(state.status);`,
    replace: `  const clean = CLEAN.has(state.status) || state.status === 'applied';`,
    caughtBy: [effectOrder('as a later attempt is answered so too, and not done again (%#)')],
  },
  {
    name: 'a cancellation that came first does not prevent the order',
    file: ORDERING,
    find: `  const clean = CLEAN.has(state.status);`,
    replace: `  const clean = CLEAN.has(state.status) || state.status === 'cancelled';`,
    caughtBy: [effectOrders('that comes before its order prevents it')],
  },
  {
    name: 'an order that comes again after a clean failure is carried out again',
    file: ORDERING,
    find: `  const newer = entry === undefined || order.attempt > entry.order.attempt || !sameOrder(order, entry.order);`,
    replace: `  const newer = order.id !== '';`,
    caughtBy: [effectOrder('is answered with what is recorded (%#)')],
  },
  {
    name: 'another effect under the same key is carried out',
    file: ORDERING,
    find: `  if (entry !== undefined && entry.order.digest !== order.digest && state.status !== 'refused') {`,
    replace: `  if (entry !== undefined && order.id === '') {`,
    caughtBy: [effectOrders('with another effect under the same key is refused, and the outcome stands')],
  },
  {
    name: 'a failed repeat is recorded as if nothing had happened',
    file: REPORT,
    find: `        return entry.unsure && !isWork(entry.order)
          ? stillInDoubt`,
    replace: `        return entry.epoch < 0
          ? stillInDoubt`,
    caughtBy: [
      SEEDS,
      effectOutcome('a clean failure of a repeat says nothing of the start before it: the doubt stays'),
    ],
  },
  {
    name: 'that it did not happen is believed though somebody may still be at it',
    file: DOUBT,
    find: `const next = found === 'unproven' && probes + 1 < PROBES_MAX ? 'probe' : 'person';`,
    replace: `const next = 'repeat';`,
    caughtBy: [effectProbe('not applied, which is not proven: it is asked again after a while')],
  },
  {
    name: 'a lost start is forgotten once a later one could not tell',
    file: LEDGER,
    find: `  const known = entry.unended ?? [];`,
    replace: `  const known = cause === 'outcome_unknown' ? [] : (entry.unended ?? []);`,
    caughtBy: [
      effectProbe('stay so when a person lets it be done again, whatever the start after it says of itself'),
      effectExploration(LEDGER_CLAIMS),
    ],
  },
  {
    name: 'a statement counts on whatever doubt there is',
    file: 'services/executor/src/effect/resolve.ts',
    find: `state.next === 'person' && entry.epoch === claims.epoch)`,
    replace: `state.next === 'person')`,
    caughtBy: [effectAnswer('on the doubt %i is not one on the doubt 2')],
  },
  {
    name: 'a 5xx is taken for a clean failure',
    file: HTTP,
    find: `new Set([400, 401, 403, 404, 412, 422])`,
    replace: `new Set([400, 401, 403, 404, 412, 422, 500, 502, 503, 504])`,
    caughtBy: [httpRequest('is what a target answers with %i, and it is asked no further')],
  },
  {
    name: 'an answer that does not come is taken for a clean failure',
    file: SENDING,
    find: 'throw new OutcomeUnknown(`sent, and not answered whole: ${why}`, { cause });',
    replace: "throw clean('EXECUTOR_TARGET_UNAVAILABLE', why, { cause });",
    caughtBy: [httpRequest('is what is not answered in time')],
  },
  {
    name: 'any error of a capability is taken for a clean failure',
    file: 'services/executor/src/adapters/runner/execute.ts',
    find: `    return { kind: 'unknown', reason };`,
    replace: `    return { kind: 'failed_clean', error: errorBody('EXECUTOR_TARGET_REFUSED', reason) };`,
    caughtBy: [runner('unknown, when it fails in any other way; what it said stays here')],
  },
  {
    name: 'nothing looks whether a lease is still in force before the act',
    file: SENDING,
    find: `      context.assertInForce();
`,
    replace: '',
    caughtBy: [httpRequest('is what may not begin any more once it is connected')],
  },
  {
    name: 'a lease is counted from when its start is heard of, and not from before it was claimed',
    file: 'services/executor/src/adapters/runner/runner.ts',
    find: `(since ?? now) + IN_FORCE_MS`,
    replace: `now + IN_FORCE_MS`,
    caughtBy: [
      runner(
        'it may not begin when its start was heard of long after its place was taken: its lease is as old as that',
      ),
    ],
  },
  {
    name: 'a start is carried out before it is noted in the journal',
    file: 'services/executor/src/adapters/runner/execute.ts',
    find: `    await note(order, context.epoch);`,
    replace: `    void note(order, context.epoch).catch(() => undefined);`,
    caughtBy: [
      runner('until that is on the disk nothing is begun'),
      runner('where it cannot be written, nothing is begun, and that is certain'),
    ],
  },
  {
    name: 'a line is written whether its key is there or not',
    file: KEYED_FILE,
    find: `    if (opened.keys.has(line.key) || fresh.has(line.key)) repeated.push(line);`,
    replace: `    if (fresh.has(line.key)) repeated.push(line);`,
    caughtBy: [keyedFile('is written once for each key, whatever it says the second time')],
  },
  {
    name: 'a request goes to whatever address its name means',
    file: 'services/executor/src/adapters/http/address.ts',
    find: `  if (found.length === 0 || !found.every(({ address }) => isAllowed(address))) throw refused(host);
`,
    replace: `  if (found.length === 0 && isAllowed(host)) throw refused(host);
`,
    caughtBy: [httpAddress('is not reached at %s when that means %j')],
  },
  {
    name: 'a redirect takes credentials along to another origin',
    file: 'services/executor/src/capabilities/http/redirect.ts',
    find: `headers: stays ? request.headers : without(request.headers, confidential)`,
    replace: `headers: stays ? request.headers : without(request.headers, new Set(confidential.keys().take(0)))`,
    caughtBy: [httpRequest('takes no credentials along to another origin, and keeps them on the same one')],
  },
  {
    name: 'a file is written to without its lock',
    file: FILE_LOCK,
    find: `  while (!lock.tryAcquire()) {`,
    replace: `  while (lock === undefined) {`,
    caughtBy: [keyedFile('write each key once between them')],
  },
];
