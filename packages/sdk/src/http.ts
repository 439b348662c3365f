// Effects of one's own over HTTP alone, without NATS.
export type { WorkerLine, WorkerLog } from './activation/session/port.ts';
export { type ClaimRequests, type RemoteConnection } from './remote/connection.ts';
export {
  type AnyRemoteEffect,
  defineEffect,
  type EffectOptions,
  type Finding,
  type RemoteContext,
  type RemoteEffect,
} from './remote/define-effect.ts';
export {
  EffectCancelled,
  EffectFailed,
  EffectInDoubt,
  EffectRejected,
  NothingHappened,
  nothingHappened,
} from './remote/effect-errors.ts';
export { type HeldHandle, heldHandle, type HoldOptions, type WaitOptions } from './remote/hold.ts';
export { createHttpClient, type HttpClient } from './remote/http-client.ts';
export { connectOverHttp, type HttpOptions } from './remote/http-connection.ts';
export { type Claimant, type ClaimantOptions, startClaimant } from './remote/start-claimant.ts';
export { type WebhookOptions, webhookVerifier } from './remote/webhooks.ts';
export type { WebhookEvent } from '@holdpoint/contracts/webhook/event';
export type { ReceivedWebhook } from '@holdpoint/contracts/webhook/signature';
export { checkGrant } from '@holdpoint/contracts/effect/check-grant';
export { HoldpointError } from '@holdpoint/contracts/values/errors';
