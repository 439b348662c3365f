import { HoldpointError } from '@holdpoint/contracts/values/errors';
import type { Client } from '../../bus/client.ts';
import { busClock, busFindings, inspectBus } from './bus.ts';
import { span } from '../../output/columns.ts';
import { fail, type Finding, ok, warn } from './finding.ts';
import { askServices, serviceFindings, skewFinding } from './services.ts';

const identityFinding = async (client: Client): Promise<Finding> => {
  const check = 'identity';
  if (client.canDecide === false)
    return warn(check, 'no token: read-only access', 'set HOLDPOINT_TOKEN or HOLDPOINT_TOKEN_FILE');
  try {
    const { name, groups, scopes, agent } = await client.call('approvals', 'whoami', {});
    const who = agent === undefined ? name : `the agent ${agent} of ${name}`;
    return ok(check, `${who} (groups: ${groups.join(', ') || 'none'}), scopes ${scopes.join(', ')}`);
  } catch (error) {
    if (!(error instanceof HoldpointError)) throw error;
    return error.code === 'RUNTIME_UNAVAILABLE'
      ? fail(check, 'approvals does not answer', 'check the service first')
      : fail(check, `${error.code}: ${error.message}`, 'create a new token: `holdpoint token create`');
  }
};

const policyFinding = async (client: Client): Promise<Finding> => {
  const check = 'policy';
  try {
    const { digest, source, floor, problem } = await client.call('approvals', 'policy_get', {});
    if (problem !== undefined)
      return warn(
        check,
        `the floor ${digest.slice(0, 12)} stays in force: ${problem}`,
        'correct the policy file',
      );
    const from = source === 'default' ? 'built in' : 'from the policy file';
    return ok(check, `${String(floor.floor.length)} entries, ${from}, floor ${digest.slice(0, 12)}`);
  } catch (error) {
    if (!(error instanceof HoldpointError)) throw error;
    return fail(check, `${error.code}: ${error.message}`, 'check the approvals service first');
  }
};

const executorFindings = async (client: Client, now: () => number): Promise<readonly Finding[]> => {
  const check = 'executors';
  try {
    const { items, work } = await client.call('executor', 'executors', {});
    const gone = items.filter(({ missing, awaited }) => missing || awaited);
    const known = items.filter(({ forgottenAt }) => forgottenAt === undefined);
    return [
      ...(gone.length === 0 ? [ok(check, `${String(known.length)} known, none missing`)] : []),
      ...gone.map(({ name, awaited, seenAt }) =>
        (awaited ? fail : warn)(
          `executor ${name}`,
          `${awaited ? 'effects wait for its journal' : 'missing'}, seen ${span(Math.max(0, now() - seenAt))} ago`,
          `start it again, or \`holdpoint executor forget ${name} --reason <text>\` if it is gone for good`,
        ),
      ),
      (/^(?:refused|not confined)/.test(work) ? warn : ok)(
        'work',
        work,
        'see docs/operations.md#confinement',
      ),
    ];
  } catch (error) {
    if (!(error instanceof HoldpointError)) throw error;
    return [fail(check, `${error.code}: ${error.message}`, 'check the executor service first')];
  }
};

/** Runs every check that this user may run. A failed check is a finding and does not throw. */
export const examine = async (client: Client, now: () => number): Promise<readonly Finding[]> => {
  const from = now();
  const seen = await inspectBus(client.connection);
  const to = now();
  const reports = await askServices(client, now);
  const clock = busClock(seen);
  return [
    ...busFindings(seen),
    ...(clock === undefined ? [] : [skewFinding('clock nats', clock, { from, to })]),
    ...serviceFindings(reports),
    await identityFinding(client),
    await policyFinding(client),
    ...(await executorFindings(client, now)),
  ];
};
