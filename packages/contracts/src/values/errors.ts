import { z } from 'zod';
import { Json } from './json.ts';

/**
 * All error codes of callers, dead letters and events. Codes are stable, texts are not. The number is the
 * status in the NATS services framework and HTTP.
 */
export const ERRORS = {
  ERR_FORBIDDEN: 403,
  ERR_IDEMPOTENCY_CONFLICT: 409,
  CONTRACT_NOT_JSON: 400,
  CONTRACT_INVALID: 400,
  CONTRACT_PAYLOAD_TOO_LARGE: 413,
  CONTRACT_UNKNOWN_SUBJECT: 404,
  /** The HTTP path exists, with other methods. */
  CONTRACT_METHOD_NOT_ALLOWED: 405,
  /** The range lies outside of the content. */
  CONTRACT_RANGE_INVALID: 416,
  CONTRACT_TOO_MANY_REQUESTS: 429,
  /** A message between services without a seal. */
  SEAL_MISSING: 401,
  /** The seal does not fit the message, its subject or its key. */
  SEAL_INVALID: 401,
  SEAL_KEY_UNKNOWN: 401,
  SEAL_KEY_REVOKED: 401,
  SEAL_KEY_RETIRED: 401,
  /** The role of the key may not send messages on this subject. */
  SEAL_SENDER_NOT_ALLOWED: 403,
  RUNTIME_POISON: 500,
  RUNTIME_UNAVAILABLE: 503,
  /** Another release wrote the events of the aggregate, or they are damaged: the aggregate stays as it is. */
  RUNTIME_HISTORY_UNREADABLE: 500,
  RUNTIME_DEAD_LETTER_UNKNOWN: 404,
  /** The dead letter does not contain enough of its message for a retry. */
  RUNTIME_DEAD_LETTER_TRUNCATED: 422,
  /** The login file of a bus user: no nkey seed and no `.creds`. */
  BUS_LOGIN_INVALID: 401,
  BUS_LOGIN_EXPIRED: 401,
  /** The login belongs to another bus user, or its permissions are of another release. */
  BUS_USER_WRONG: 403,
  /** The account of the bus user lacks an import of `holdpoint nats export`. */
  BUS_IMPORT_MISSING: 503,
  BUS_JETSTREAM_MISSING: 503,
  /** The JetStream limits of the account are too low. */
  BUS_LIMITS_TOO_LOW: 507,
  BUS_SERVER_TOO_OLD: 505,
  /** The identity assertion of a command: forged, expired, or without the scope. */
  IDENTITY_INVALID: 401,
  IDENTITY_EXPIRED: 401,
  IDENTITY_SCOPE: 403,
  /** The command needs the identity of a person. */
  IDENTITY_REQUIRED: 403,
  ORCHESTRATOR_UNKNOWN_WORKFLOW: 404,
  ORCHESTRATOR_UNKNOWN_TASK: 404,
  ORCHESTRATOR_TASK_CONFLICT: 409,
  /** The task was cancelled before its submission arrived. */
  ORCHESTRATOR_TASK_CANCELLED: 409,
  ORCHESTRATOR_ILLEGAL_IN_PHASE: 409,
  /** The sender is not in the audience of the node. */
  ORCHESTRATOR_NOT_ENTITLED: 403,
  ORCHESTRATOR_WORKFLOW_INVALID: 422,
  ORCHESTRATOR_UNKNOWN_NODE: 404,
  ORCHESTRATOR_UNKNOWN_VERSION: 404,
  /** Errors of ended nodes and tasks. */
  NODE_FAILED: 422,
  NODE_BLOCKED: 409,
  NODE_CANCELLED: 409,
  NODE_DEPENDENCY: 409,
  NODE_EXPRESSION: 422,
  /** TypeScript workflows. */
  ORCHESTRATOR_PROGRAM_INVALID: 422,
  ORCHESTRATOR_UNKNOWN_PROGRAM: 404,
  /** The worker does not hold the lease of the phase: it expired or belongs to another worker. */
  ORCHESTRATOR_WORK_LOST: 409,
  /** The phase records different content under a known key. */
  ORCHESTRATOR_RECORD_CONFLICT: 409,
  PROGRAM_STATE_TOO_LARGE: 413,
  PROGRAM_RECORDS_TOO_LARGE: 413,
  PROGRAM_STATE_INVALID: 422,
  PROGRAM_OUTPUT_INVALID: 422,
  PROGRAM_NEXT_UNKNOWN: 422,
  PROGRAM_PHASE_FAILED: 422,
  PROGRAM_PHASE_TIMEOUT: 408,
  PROGRAM_INPUT_EXPIRED: 408,
  PROGRAM_WORKER_LOST: 502,
  PROGRAM_ENDLESS: 422,
  APPROVALS_UNKNOWN: 404,
  APPROVALS_ALREADY_DECIDED: 409,
  /** No approver decided before the deadline of the request. */
  APPROVALS_EXPIRED: 408,
  APPROVALS_UNAUTHENTICATED: 401,
  APPROVALS_NOT_ENTITLED: 403,
  APPROVALS_DIGEST_MISMATCH: 409,
  /** A decision has to name the digest of the effect that the decider saw. */
  APPROVALS_DIGEST_REQUIRED: 400,
  /** Found by the client: the shown effect does not have the shown digest. */
  APPROVALS_EFFECT_ALTERED: 409,
  /** Kind or target of the effect differ from those that its arguments name. */
  APPROVALS_EFFECT_MISDESCRIBED: 422,
  /** The audience of the request and that of the policy floor have no person in common. */
  APPROVALS_FLOOR_AUDIENCE: 403,
  /** The request does not allow this decision. */
  APPROVALS_NO_CHOICE: 422,
  /** The response does not fit the requested input. */
  APPROVALS_RESPONSE_INVALID: 422,
  /** Requesters cannot decide on their own effects. */
  APPROVALS_FOUR_EYES: 403,
  /** The token is valid but lacks a scope. */
  APPROVALS_SCOPE: 403,
  APPROVALS_TOO_MANY_ATTEMPTS: 429,
  /** The provider's answer is invalid: the person must sign in again. */
  APPROVALS_SIGN_IN_REFUSED: 401,
  /** The notice token is forged, expired, or of another approval. */
  APPROVALS_TOKEN_MISMATCH: 403,
  APPROVALS_SIGNATURE_INVALID: 401,
  APPROVALS_ORIGIN_REFUSED: 403,
  APPROVALS_UNKNOWN_RULE: 404,
  APPROVALS_RULE_REFUSED: 422,
  APPROVALS_UNKNOWN_TOKEN: 404,
  APPROVALS_TOKEN_CONFLICT: 409,
  APPROVALS_UNKNOWN_PERSON: 404,
  /** The name exists already, or the principals file lists it. */
  APPROVALS_PERSON_CONFLICT: 409,
  /** The change would remove its author or the last administrator, or exceed the limit. */
  APPROVALS_PERSON_REFUSED: 422,
  /** The executor does not prove that it knows the join secret and has its key. */
  APPROVALS_JOIN_REFUSED: 403,
  APPROVALS_EXECUTOR_REVOKED: 403,
  APPROVALS_UNKNOWN_EXECUTOR: 404,
  APPROVALS_UNKNOWN_CAPABILITY: 404,
  /** The definition of a capability is invalid, such as its JSON Schema. */
  APPROVALS_CAPABILITY_INVALID: 422,
  /** The capability is withdrawn: approvals refuses requests for its effects. */
  APPROVALS_CAPABILITY_WITHDRAWN: 409,
  /** The arguments do not fit the JSON Schema of the capability. */
  APPROVALS_ARGUMENTS_INVALID: 422,
  /** The origin of a callback is not among `HOLDPOINT_NOTIFY_TARGETS`. */
  APPROVALS_CALLBACK_NOT_ALLOWED: 422,
  EXECUTOR_UNKNOWN_EFFECT: 404,
  EXECUTOR_UNKNOWN_INSTANCE: 404,
  EXECUTOR_UNKNOWN_CAPABILITY: 422,
  EXECUTOR_INVALID_ARGUMENTS: 422,
  EXECUTOR_CLASS_MISMATCH: 422,
  /** Kind or target of the effect differ from those that its arguments name. */
  EXECUTOR_EFFECT_MISDESCRIBED: 422,
  EXECUTOR_GRANT_INVALID: 403,
  EXECUTOR_GRANT_EXPIRED: 403,
  EXECUTOR_GRANT_MISMATCH: 403,
  EXECUTOR_DIGEST_MISMATCH: 409,
  EXECUTOR_STATEMENT_INVALID: 403,
  EXECUTOR_PATH_REFUSED: 422,
  EXECUTOR_REPOSITORY_NOT_ALLOWED: 422,
  EXECUTOR_TARGET_NOT_ALLOWED: 422,
  EXECUTOR_TARGET_REFUSED: 422,
  EXECUTOR_TARGET_UNAVAILABLE: 503,
  EXECUTOR_CANCELLED: 409,
  EXECUTOR_JOURNAL_UNAVAILABLE: 503,
  EXECUTOR_OUTCOME_UNKNOWN: 502,
  /** The in-doubt effect turned out not to have happened. */
  EXECUTOR_NOT_APPLIED: 409,
  EXECUTOR_SECRET_UNKNOWN: 422,
  EXECUTOR_SECRET_NOT_ALLOWED: 403,
  EXECUTOR_CIRCUIT_OPEN: 503,
  EXECUTOR_UNKNOWN_ARTIFACT: 404,
  /** The executor takes no work, or cannot confine it. */
  EXECUTOR_WORK_REFUSED: 403,
  /** The token may not claim effects of this capability. */
  EXECUTOR_CLAIM_REFUSED: 403,
  /** The signature of a beat or an end is not that of the claim's key. */
  EXECUTOR_CLAIM_SIGNATURE: 401,
  /** The claim has ended: its lease expired, or another start replaced it. */
  EXECUTOR_CLAIM_LOST: 409,
  /** Another result of this claim was recorded before. */
  EXECUTOR_CLAIM_ENDED: 409,
  EXECUTOR_OUTPUTS_TOO_LARGE: 413,
  EXECUTOR_TOO_MANY_CLAIMS: 429,
  RECOVERY_UNKNOWN: 404,
  /** Found by the receiver: no key of approvals has signed the webhook, or it is too old. */
  WEBHOOK_SIGNATURE_INVALID: 401,
} as const;

export type ErrorCode = keyof typeof ERRORS;
export const ErrorCode = z.enum(Object.keys(ERRORS) as [ErrorCode, ...ErrorCode[]]);

const NOT_APPROVED = ['ERR_FORBIDDEN', 'APPROVALS_EXPIRED'] as const satisfies readonly ErrorCode[];

/** Whether the code is that of an effect that was not approved: it was rejected, or its time for a decision passed. */
export const isNotApproved = (code: string): code is (typeof NOT_APPROVED)[number] =>
  NOT_APPROVED.some((each) => each === code);

export const isErrorCode = (code: string): code is ErrorCode => Object.hasOwn(ERRORS, code);

/** An error on the wire. Codes of newer versions are kept. */
export const ErrorBody = z.object({
  code: z.string(),
  message: z.string(),
  details: z.record(z.string(), Json).optional(),
});
export type ErrorBody = z.infer<typeof ErrorBody>;

/** An error for callers, with a stable code. */
export class HoldpointError extends Error {
  readonly code: ErrorCode;
  readonly details: ErrorBody['details'];

  constructor(
    code: ErrorCode,
    message: string,
    options: { details?: ErrorBody['details']; cause?: unknown } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'HoldpointError';
    this.code = code;
    this.details = options.details;
  }
}

/** Whether an error has this code. */
export const hasCode = (error: unknown, code: ErrorCode): error is HoldpointError =>
  error instanceof HoldpointError && error.code === code;

export const errorBody = (code: ErrorCode, message: string, details?: ErrorBody['details']): ErrorBody => ({
  code,
  message,
  ...(details && { details }),
});

/** The public part of an error: our code and text, nothing of third parties. */
export const toErrorBody = (error: unknown): ErrorBody =>
  error instanceof HoldpointError
    ? errorBody(error.code, error.message, error.details)
    : errorBody('RUNTIME_POISON', 'the message could not be handled; the service log has the cause');
