import { join } from 'node:path';
import type { Engine } from '@holdpoint/runtime/engine/engine';
import type { Logger } from '@holdpoint/runtime/observability/log';
import { type RunningService, startService } from '@holdpoint/runtime/service/service';
import type { Pool } from 'pg';
import { createAskOutcome } from './adapters/ask-outcome.ts';
import { startAuditAnchors } from './adapters/audit-anchors.ts';
import { type RunningIdentity, startIdentity } from './adapters/identity/start-identity.ts';
import { createFeed } from './adapters/feed.ts';
import { createKeyring } from './adapters/keyring.ts';
import { endpoints } from './api.ts';
import type { ApprovalsConfig } from './config.ts';
import { createActiveRules, startRuleRefresh } from './adapters/active-rules.ts';
import { createDecisionSubmitter } from './submit-decision.ts';
import { createServiceDecider, type ServiceMessage } from './aggregates.ts';
import { approvalMetrics, pollApprovals } from './metrics.ts';
import { type ApprovalsParts, approvalsLogic } from './bindings.ts';
import type { SurfaceDeps } from './surfaces/surface-deps.ts';
import { createDiscord } from './surfaces/discord/discord.ts';
import { createEvents } from './surfaces/console/events/events.ts';
import { createPage } from './surfaces/console/page.ts';
import { consoleRoutes } from './surfaces/console/routes.ts';
import { createWeb } from './surfaces/http/app.ts';
import { createWatch } from './surfaces/websocket/server.ts';

export const startApprovals = (
  { env, grantKeys, grantKeyFile, principals, oidc, signIn, discord: asked }: ApprovalsConfig,
  log: Logger,
): Promise<RunningService> => {
  const keyring = createKeyring(grantKeys, grantKeyFile, log);
  const { tokens } = keyring;
  const rollbackRule = env.HOLDPOINT_ROLLBACK_RULE === 'on';
  const surfaces = asked === undefined ? [] : (['discord'] as const);
  const decider = createServiceDecider(keyring.sign, { surfaces, rollbackRule });
  let deliver: ApprovalsParts['deliver'];
  let askOutcome: ApprovalsParts['askOutcome'];
  const book = createActiveRules(Date.now, log);
  let identity: RunningIdentity | undefined;
  const identityOn = (pool: Pool): RunningIdentity =>
    (identity ??= startIdentity({ env, principals, oidc, signIn }, pool, log));
  const depsOn = (pool: Pool, engine: Engine<ServiceMessage>): SurfaceDeps => ({
    pool,
    engine,
    decider,
    identity: identityOn(pool),
    decisions: createDecisionSubmitter(engine, tokens.is),
    tokens,
    keyring,
    rollbackRule,
    log,
  });
  return startService(
    {
      service: 'approvals',
      logic: approvalsLogic({
        decider,
        rulesFor: book.rulesFor,
        deliver: (delivery, accept) => deliver?.(delivery, accept),
        askOutcome: (effect, accept) => askOutcome?.(effect, accept),
      }),
      migrations: join(import.meta.dirname, '..', 'migrations'),
      endpoints: (pool, engine) => endpoints(depsOn(pool, engine)),
      figures: approvalMetrics,
      attend: (pool, engine, _announce, _artifacts, { listener, gauge, sample, look, settle }) => {
        const deps = depsOn(pool, engine);
        const rules = startRuleRefresh(book, pool, engine, listener, log);
        const anchors = startAuditAnchors(pool, engine, log);
        const feed = createFeed(pool, listener, log);
        const watch = createWatch(deps, feed, env);
        pollApprovals(pool, sample);
        gauge('watchers', 'WebSocket connections', [], () => [{ labels: {}, value: watch.watchers() }]);
        const { failures, stop: stopIdentity } = identityOn(pool);
        gauge('authentication_failures_total', 'Failed authentication attempts by kind', ['kind'], failures);
        const discord = asked && createDiscord(deps, asked, gauge);
        const { HOLDPOINT_WATCH_HEARTBEAT_MS: heartbeatMs, HOLDPOINT_WEB_ORIGINS: origins } = env;
        const events = createEvents({ deps, listener, look, heartbeatMs });
        gauge('console_streams', 'Open console event streams', [], () => [
          { labels: {}, value: events.streams() },
        ]);
        const page = createPage(env.HOLDPOINT_CONSOLE_FOLDER);
        const ways = identityOn(pool).signIn;
        const consoleApp = consoleRoutes({
          deps,
          listener,
          look,
          settle,
          events,
          page,
          origins,
          signIn: ways,
        });
        deliver = discord?.deliver;
        askOutcome = createAskOutcome(listener);
        return {
          stop: async () => {
            events.stop();
            await watch.stop();
            await Promise.all([
              feed.stop(),
              rules.stop(),
              anchors.stop(),
              keyring.stop(),
              stopIdentity(),
              discord?.stop(),
            ]);
          },
          web: {
            ...createWeb(deps, env, ...(discord === undefined ? [] : [discord.routes]), consoleApp),
            upgrade: watch.upgrade,
          },
        };
      },
    },
    env,
    log,
  );
};
