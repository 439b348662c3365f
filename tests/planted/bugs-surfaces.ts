import type { Bug } from './bug.ts';
import { clientAddress, mcpScopes, shownEffect, submitDecision, surfaceScopes } from './tests.ts';

/** One bug for each check that a surface makes before a decision or a request counts. */
export const SURFACE_BUGS: readonly Bug[] = [
  {
    name: 'an agent needs no scope for a tool',
    file: 'packages/cli/src/mcp/tools.ts',
    find: `    requireScope(acting, MCP_TOOL_SCOPES[tool]);\n`,
    replace: ``,
    caughtBy: [mcpScopes('a tool answers only a token with its scope: %j')],
  },
  {
    name: 'an agent needs no scope for a resource',
    file: 'packages/cli/src/mcp/resources.ts',
    find: `    requireScope(acting, MCP_RESOURCE_SCOPES[resource]);\n`,
    replace: ``,
    caughtBy: [mcpScopes('a resource answers only a token with its scope: %j')],
  },
  {
    name: 'a route authenticates its caller without the scope',
    file: 'services/approvals/src/callers.ts',
    find: `needed === 'any' ? undefined : needed`,
    replace: `needed === 'any' ? needed : undefined`,
    caughtBy: [
      surfaceScopes('an HTTP route answers only a token with its scope: %s'),
      surfaceScopes('a console call answers only a token with its scope: %s'),
    ],
  },
  {
    name: 'a caller that is no trusted proxy chooses its own address',
    file: 'services/approvals/src/surfaces/http/source.ts',
    find: `    while (isProxy(source)) {`,
    replace: `    while (entries.length > 0) {`,
    caughtBy: [
      clientAddress('the address of the socket %s is the source, whatever the header says'),
      clientAddress('a caller that is no trusted proxy cannot choose its source'),
      clientAddress('the right-most address of "%s" that is no proxy is the source: %s'),
    ],
  },
  {
    name: 'a client sends the digest that came with an effect',
    file: 'packages/contracts/src/approval/shown-effect.ts',
    find: `  if (isAsShown(shown)) return shown.digest;`,
    replace: `  if (shown.digest !== '') return shown.digest;`,
    caughtBy: [shownEffect('an altered %s is refused')],
  },
  {
    name: 'a decision counts without a digest',
    file: 'services/approvals/src/submit-decision.ts',
    find: `    if (digest === undefined)`,
    replace: `    if (digest === '')`,
    caughtBy: [
      submitDecision('a decision without a digest is refused on the surface %s, with the remedy'),
      submitDecision('each of many decisions without a digest is refused by itself'),
    ],
  },
];
