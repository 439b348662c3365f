import { join } from 'node:path';
import type { CommittedEvent } from '@holdpoint/runtime/engine/batch';
import type { Logger } from '@holdpoint/runtime/observability/log';
import { defineService, type ServiceDefinition } from '@holdpoint/runtime/service/service';
import { createAskOutcome } from './adapters/ask-outcome.ts';
import { startAuditAnchors } from './adapters/audit-anchors.ts';
import { createRedeemCode } from './adapters/identity/sign-in/code.ts';
import { startIdentity } from './adapters/identity/start-identity.ts';
import { createFeed } from './adapters/feed.ts';
import { followJoinSecret } from '@holdpoint/runtime/service/join-secret';
import { followPolicy } from './adapters/policy-file.ts';
import { followCapabilities } from './adapters/capability-registry.ts';
import { followExecutorReach } from './adapters/executor-reach.ts';
import { createKeyring } from './adapters/keyring.ts';
import { endpoints, publishKeys } from './api.ts';
import { type ApprovalsConfig, readConfig } from './config.ts';
import { createActiveRules, startRuleRefresh } from './adapters/active-rules.ts';
import { createDecisionSubmitter } from './submit-decision.ts';
import { createKinds, type ServiceEvent } from './aggregates.ts';
import { approvalMetrics, pollApprovals } from './metrics.ts';
import { approvalsBindings } from './bindings.ts';
import { INBOX } from './queries/inbox.ts';
import { isTokenKnown } from './queries/tokens.ts';
import type { SurfaceDeps } from './surfaces/surface-deps.ts';
import { createDiscord } from './surfaces/discord/discord.ts';
import { createEvents } from './surfaces/console/events/events.ts';
import { createPage } from './surfaces/console/page.ts';
import { consoleRoutes } from './surfaces/console/routes.ts';
import { createWeb } from './surfaces/http/app.ts';
import { createSourceOf } from './surfaces/http/source.ts';
import { createWebhooks } from './surfaces/webhook/webhooks.ts';
import { createWatch } from './surfaces/websocket/server.ts';

const defineApprovals = (
  {
    env,
    grantKeys,
    grantKeyFile,
    policy: firstPolicy,
    principals,
    oidc,
    signIn,
    discord: discordSettings,
    webhooks: webhookSettings,
    firstRetryMs,
  }: ApprovalsConfig,
  log: Logger,
): ServiceDefinition => {
  const keyring = createKeyring(grantKeys, grantKeyFile, log);
  const joinSecret = followJoinSecret(env, log);
  const policy = followPolicy(env.HOLDPOINT_POLICY_FILE, firstPolicy, log);
  const { tokens } = keyring;
  const rollbackRule = env.HOLDPOINT_ROLLBACK_RULE === 'on';
  const surfaces = [
    ...(discordSettings === undefined ? [] : (['discord'] as const)),
    ...(webhookSettings.approvals === undefined ? [] : (['webhook'] as const)),
  ];
  const { HOLDPOINT_WATCH_HEARTBEAT_MS: heartbeatMs, HOLDPOINT_WEB_ORIGINS: origins } = env;
  return defineService(
    {
      service: 'approvals',
      migrations: join(import.meta.dirname, '..', 'migrations'),
      seal: keyring.seal,
    },
    ({ pool, listener, overview, meter, gauge, poll }) => {
      const kinds = createKinds(keyring.sign, {
        surfaces,
        rollbackRule,
        ...(firstRetryMs !== undefined && { firstRetryMs }),
      });
      const identity = startIdentity({ env, principals, oidc, signIn }, pool, log);
      const activeRules = createActiveRules(Date.now, log, (name) => identity.isRemoved(name));
      const feed = createFeed(pool, listener, log);
      pollApprovals(pool, poll);
      gauge(
        'policy_file_invalid',
        '1 while the latest content of the policy file is not in force',
        [],
        () => [{ labels: {}, value: policy.problem() === undefined ? 0 : 1 }],
      );
      gauge('authentication_failures_total', 'Failed authentication attempts', ['kind'], identity.failures);
      const count = approvalMetrics(meter);
      const reach = followExecutorReach(pool, log);
      const capabilities = followCapabilities(pool, log);
      return {
        kinds,
        list: INBOX,
        onCommitted: (committed: CommittedEvent<ServiceEvent>) => {
          count(committed);
          reach.onCommitted(committed);
          capabilities.onCommitted(committed);
        },
        askForKeys: (nonce) => publishKeys({ pool, keyring }, nonce),
        bind: (engine, resolveDeadLetter) => {
          const { decider } = kinds.approval;
          const webhooks = createWebhooks({ pool, decider, keyring, log }, webhookSettings);
          const deps: SurfaceDeps = {
            pool,
            engine,
            decider,
            webhooks,
            capabilities,
            identity,
            decisions: createDecisionSubmitter(engine, tokens.is),
            tokens,
            keyring,
            joinSecret: joinSecret.current,
            rollbackRule,
            policy,
            people: identity.people,
            sourceOf: createSourceOf(env.HOLDPOINT_TRUSTED_PROXIES),
            log,
          };
          const rules = startRuleRefresh(activeRules, pool, engine, listener, log);
          const anchors = startAuditAnchors(pool, engine, log);
          const watch = createWatch(deps, feed, env);
          gauge('watchers', 'WebSocket connections', [], () => [{ labels: {}, value: watch.watchers() }]);
          const discord = discordSettings && createDiscord(deps, discordSettings, gauge);
          const events = createEvents({ deps, listener, look: overview, heartbeatMs });
          gauge('console_streams', 'Console pages that receive live updates', [], () => [
            { labels: {}, value: events.streams() },
          ]);
          const consoleApp = consoleRoutes({
            deps,
            listener,
            look: overview,
            resolveDeadLetter,
            events,
            page: createPage(env.HOLDPOINT_CONSOLE_DIR),
            origins,
            signIn: identity.signIn,
            redeemCode: createRedeemCode({
              engine,
              isKnown: (id) => isTokenKnown(pool, id),
              attempts: identity.attempts,
            }),
          });
          return {
            ...approvalsBindings({
              rulesFor: activeRules.rulesFor,
              floor: policy.current,
              people: identity.people,
              unreachable: reach.unreachable,
              admission: capabilities.admission,
              deliver: (delivery, accept) =>
                (delivery.surface === 'webhook' ? webhooks : discord)?.deliver(delivery, accept),
              callBack: webhooks.callBack,
              askOutcome: createAskOutcome(listener),
            }),
            endpoints: endpoints(deps),
            web: {
              ...createWeb(
                { deps, listener, attend: events.attend },
                env,
                ...(discord === undefined ? [] : [discord.routes]),
                consoleApp,
              ),
              upgrade: watch.upgrade,
            },
            stop: async () => {
              events.stop();
              await watch.stop();
              await Promise.all([
                feed.stop(),
                rules.stop(),
                reach.stop(),
                capabilities.stop(),
                anchors.stop(),
                keyring.stop(),
                policy.stop(),
                joinSecret.stop(),
                identity.stop(),
                discord?.stop(),
                webhooks.stop(),
              ]);
            },
          };
        },
      };
    },
    env,
    log,
  );
};

/** The service as its settings define it. Throws `ConfigError`. */
export const define = (env: NodeJS.ProcessEnv, log: Logger): ServiceDefinition =>
  defineApprovals(readConfig(env), log);
