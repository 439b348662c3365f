import { describe, expect, test } from 'vitest';
import { rendered } from './manifests.ts';
import { allowedOf } from './network-policies.ts';

const NAMES = 'namespace kube-system:53';
const WORLD = ['0.0.0.0/0:*', '::/0:*'];
const METRICS = 'namespace monitoring:8081';

/**
 * Architecture, section 2: each service connects to the bus and the database; executors also to other
 * machines; approvers to approvals.
 */
const expected = (nats: string, postgres: string) => {
  const service = (more: readonly string[] = [], from: readonly string[] = []) => ({
    egress: [nats, postgres, NAMES, ...more].toSorted(),
    ingress: [METRICS, ...from].toSorted(),
  });
  return {
    orchestrator: service(),
    approvals: service([], ['namespace ingress:8080']),
    executor: service(WORLD),
    recovery: service(),
    provision: { egress: [postgres, NAMES].toSorted(), ingress: [] },
  };
};

describe('network policies allow exactly the required connections', () => {
  test('the policies of the trial allow exactly the required connections', () => {
    const all = ['approvals', 'executor', 'orchestrator', 'recovery'];
    expect(allowedOf(rendered('trial'))).toEqual({
      ...expected('nats:4222', 'postgres:5432'),
      nats: { egress: [NAMES], ingress: all.map((name) => `${name}:4222`) },
      postgres: {
        egress: [NAMES],
        ingress: [...all, 'provision'].toSorted().map((name) => `${name}:5432`),
      },
    });
  });

  test.each(['production', 'without-keda'] as const)(
    'the policies of %s allow exactly the required connections',
    (example) => {
      const each = expected('192.0.2.0/24:4222', '198.51.100.0/24:5432');
      expect(allowedOf(rendered(example))).toEqual({ ...each, 'executor-web': each.executor });
    },
  );

  test('a pod without a policy is reported', () => {
    const open = rendered('trial').filter(({ metadata }) => metadata.name !== 'deny-all');
    expect(() => allowedOf(open)).toThrow(': no policy of ');
  });
});
