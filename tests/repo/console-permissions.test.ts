import { forwardedEndpoints } from '@holdpoint/approvals/surfaces/http/endpoint-access';
import { busAccess } from '@holdpoint/infra/nats/accounts';
import { expect, test } from 'vitest';

/** The health page lists executors. */
const HEALTH = ['executor.executors'];

/** What the service asks beside what its console passes on: what became of dead letters is each service's own affair. */
const LETTERS = ['orchestrator', 'executor', 'recovery'].flatMap((service) => [
  `${service}.dead_letter_list`,
  `${service}.dead_letter_resolve`,
]);

test('the bus lets the approvals service ask for exactly what its console passes on', () => {
  const { allow } = busAccess().permissions.approvals.publish;
  const endpoints = allow
    .filter((subject) => subject.startsWith('hp.api.'))
    .map((subject) => subject.replace('hp.api.', ''));
  expect(endpoints.toSorted()).toEqual([...forwardedEndpoints(), ...HEALTH, ...LETTERS].toSorted());
});
