import { z } from 'zod';

/**
 * Every error that a caller, a dead letter or an event may carry. Codes are promises, texts are not.
 * The number is what the NATS services framework and HTTP report.
 */
export const ERRORS = {
  ERR_FORBIDDEN: 403,
  ERR_IDEMPOTENCY_CONFLICT: 409,
  CONTRACT_NOT_JSON: 400,
  CONTRACT_INVALID: 400,
  CONTRACT_PAYLOAD_TOO_LARGE: 413,
  CONTRACT_UNKNOWN_SUBJECT: 404,
  RUNTIME_POISON: 500,
  RUNTIME_UNAVAILABLE: 503,
  RUNTIME_UNKNOWN_LETTER: 404,
  /** A dead letter of which too little is kept to handle it again. */
  RUNTIME_LETTER_CUT: 422,
  ORCHESTRATOR_UNKNOWN_WORKFLOW: 404,
  ORCHESTRATOR_UNKNOWN_TASK: 404,
  ORCHESTRATOR_TASK_CONFLICT: 409,
  /** The task was cancelled before its submission arrived. */
  ORCHESTRATOR_TASK_CANCELLED: 409,
  ORCHESTRATOR_ILLEGAL_IN_PHASE: 409,
  ORCHESTRATOR_WORKFLOW_INVALID: 422,
  ORCHESTRATOR_UNKNOWN_NODE: 404,
  ORCHESTRATOR_UNKNOWN_VERSION: 404,
  /** How a node or a task ended, as its error says it. */
  NODE_FAILED: 422,
  NODE_BLOCKED: 409,
  NODE_CANCELLED: 409,
  NODE_DEPENDENCY: 409,
  NODE_EXPRESSION: 422,
  /** Of workflows whose phases are code. */
  ORCHESTRATOR_PROGRAM_INVALID: 422,
  ORCHESTRATOR_UNKNOWN_PROGRAM: 404,
  /** Whoever says something of a phase does not hold its lease: it was given to another, or is over. */
  ORCHESTRATOR_WORK_LOST: 409,
  /** What a phase wants recorded is another thing than what it had recorded under the same key. */
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
  APPROVALS_UNAUTHENTICATED: 401,
  APPROVALS_NOT_ENTITLED: 403,
  APPROVALS_DIGEST_MISMATCH: 409,
  /** The decision is none of those that the request leaves open. */
  APPROVALS_NO_CHOICE: 422,
  /** The answer is none to what was asked for. */
  APPROVALS_RESPONSE_INVALID: 422,
  /** Whoever asked for an effect may not decide on it. */
  APPROVALS_FOUR_EYES: 403,
  /** The token is good, and not for this. */
  APPROVALS_SCOPE: 403,
  APPROVALS_TOO_MANY_ATTEMPTS: 429,
  /** What the OIDC provider sent somebody back with lets nobody in: he has to sign in there again. */
  APPROVALS_SIGN_IN_REFUSED: 401,
  /** A notice was tampered with, is too old, or belongs to another approval. */
  APPROVALS_TOKEN_MISMATCH: 403,
  APPROVALS_SIGNATURE_INVALID: 401,
  APPROVALS_ORIGIN_REFUSED: 403,
  APPROVALS_UNKNOWN_RULE: 404,
  APPROVALS_RULE_REFUSED: 422,
  APPROVALS_UNKNOWN_TOKEN: 404,
  APPROVALS_TOKEN_CONFLICT: 409,
  EXECUTOR_UNKNOWN_EFFECT: 404,
  EXECUTOR_UNKNOWN_CAPABILITY: 422,
  EXECUTOR_INVALID_ARGUMENTS: 422,
  EXECUTOR_CLASS_MISMATCH: 422,
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
  /** It was in doubt, and turned out not to have happened. */
  EXECUTOR_NOT_APPLIED: 409,
  EXECUTOR_SECRET_UNKNOWN: 422,
  EXECUTOR_SECRET_NOT_ALLOWED: 403,
  EXECUTOR_CIRCUIT_OPEN: 503,
  EXECUTOR_UNKNOWN_ARTIFACT: 404,
  RECOVERY_UNKNOWN: 404,
} as const;

export type ErrorCode = keyof typeof ERRORS;
export const ErrorCode = z.enum(Object.keys(ERRORS) as [ErrorCode, ...ErrorCode[]]);

export const isErrorCode = (code: string): code is ErrorCode => Object.hasOwn(ERRORS, code);

/** An error as it travels. A code of a newer version is kept as it is. */
export const ErrorBody = z.object({
  code: z.string(),
  message: z.string(),
  details: z.record(z.string(), z.json()).optional(),
});
export type ErrorBody = z.infer<typeof ErrorBody>;

/** An error that a caller is meant to see: it has a stable code. */
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

export const errorBody = (code: ErrorCode, message: string, details?: ErrorBody['details']): ErrorBody => ({
  code,
  message,
  ...(details && { details }),
});

/** What of an error may leave the process: the code and text of our own, nothing of anybody else's. */
export const toErrorBody = (error: unknown): ErrorBody =>
  error instanceof HoldpointError
    ? errorBody(error.code, error.message, error.details)
    : errorBody('RUNTIME_POISON', 'the message could not be handled; the service log has the cause');
