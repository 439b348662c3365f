/** Every endpoint of the API, as the test on real parts asks it. A new one is added here. */
export const ENDPOINTS = [
  'orchestrator.submit',
  'orchestrator.cancel',
  'orchestrator.pause',
  'orchestrator.resume',
  'orchestrator.retry',
  'orchestrator.skip',
  'orchestrator.fork',
  'orchestrator.get',
  'orchestrator.list',
  'orchestrator.history',
  'approvals.decide',
  'approvals.get',
  'approvals.list',
  'executor.get',
  'executor.list',
  'recovery.history',
] as const;
