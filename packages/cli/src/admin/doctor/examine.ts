import { HoldpointError } from '@holdpoint/contracts/values/errors';
import type { Client } from '../../bus/client.ts';
import { busClock, judgeBus, lookAtBus } from './bus.ts';
import { fail, type Finding, ok, warn } from './finding.ts';
import { hearServices, judgeServices, skewFinding } from './services.ts';

const identityFinding = async (client: Client): Promise<Finding> => {
  const check = 'identity';
  if (client.canDecide === false)
    return warn(
      check,
      'there is no token: everything can be seen, and nothing decided',
      'set HOLDPOINT_TOKEN or HOLDPOINT_TOKEN_FILE',
    );
  try {
    const { name, groups, scopes, agent } = await client.call('approvals', 'whoami', {});
    const who = agent === undefined ? name : `the agent ${agent} of ${name}`;
    return ok(check, `${who} (${groups.join(', ') || 'in no group'}), good for ${scopes.join(', ')}`);
  } catch (error) {
    if (!(error instanceof HoldpointError)) throw error;
    return error.code === 'RUNTIME_UNAVAILABLE'
      ? fail(check, 'approvals does not answer', 'see to the service first')
      : fail(check, `${error.code}: ${error.message}`, 'have a new token made: `holdpoint token create`');
  }
};

/** Looks at everything that this user can see. What fails is a finding; nothing is thrown for it. */
export const examine = async (client: Client, now: () => number): Promise<readonly Finding[]> => {
  const from = now();
  const seen = await lookAtBus(client.connection);
  const to = now();
  const heard = await hearServices(client, now);
  const clock = busClock(seen);
  return [
    ...judgeBus(seen),
    ...(clock === undefined ? [] : [skewFinding('clock nats', clock, { from, to })]),
    ...judgeServices(heard),
    await identityFinding(client),
  ];
};
