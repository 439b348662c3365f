import { z } from 'zod';
import { defineFault } from './fault.ts';

/** The database is stopped cleanly, at once, or killed. */
export const postgresRestart = defineFault({
  name: 'postgres-restart',
  group: 'postgres',
  weight: 2,
  params: z.object({ how: z.enum(['fast', 'immediate', 'kill']), forMs: z.int().min(0) }),
  draw: (random) => ({
    how: random.pick(['fast', 'immediate', 'kill'] as const),
    forMs: random.int(0, 6_000),
  }),
  takes: () => ['postgres'],
  inject: async ({ how, forMs }, { deployment: { postgres }, hold }) => {
    await postgres.end(how);
    try {
      await hold(forMs);
    } finally {
      await postgres.start();
    }
  },
});

/** The sessions of one or all services end in the middle of their work. */
export const terminateSessions = defineFault({
  name: 'terminate-sessions',
  group: 'postgres',
  weight: 2,
  params: z.object({ of: z.enum(['all', 'orchestrator', 'approvals', 'executor', 'recovery']) }),
  draw: (random) => ({
    of: random.pick(['all', 'orchestrator', 'approvals', 'executor', 'recovery'] as const),
  }),
  // A stopped server has no sessions.
  takes: () => ['postgres'],
  inject: async ({ of }, { deployment }) => {
    const whose = of === 'all' ? `usename LIKE 'hp\\_%' AND usename <> 'hp_admin'` : `usename = 'hp_${of}'`;
    const ended = await deployment.query(
      `SELECT pg_terminate_backend(pid) AS ended FROM pg_stat_activity WHERE ${whose} AND pid <> pg_backend_pid()`,
    );
    return { sessions: ended.length };
  },
});
