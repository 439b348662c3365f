import type { z } from 'zod';
import type { ServiceName } from '../bus/subjects.ts';
import { approvalsApi } from './approvals-api.ts';
import { executorApi } from './executor-api.ts';
import { orchestratorApi } from './orchestrator-api.ts';
import { recoveryApi } from './recovery-api.ts';

/** The request/reply API on the NATS services framework: `hp.api.<service>.<endpoint>`. */
export const api = {
  orchestrator: orchestratorApi,
  approvals: approvalsApi,
  executor: executorApi,
  recovery: recoveryApi,
} as const satisfies Record<
  ServiceName,
  Record<string, { description: string; request: z.ZodType; response: z.ZodType }>
>;

export type Api = typeof api;
export type ApiRequest<S extends ServiceName, E extends keyof Api[S]> = Api[S][E] extends {
  request: infer R extends z.ZodType;
}
  ? z.input<R>
  : never;
export type ApiResponse<S extends ServiceName, E extends keyof Api[S]> = Api[S][E] extends {
  response: infer R extends z.ZodType;
}
  ? z.output<R>
  : never;
