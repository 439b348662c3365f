import type { FloorDemand } from './policy-floor.ts';
import type { ApprovalView } from './views.ts';

/** The demands of a floor. */
export const DEMANDS: Readonly<Record<FloorDemand, string>> = {
  audience: 'the audience',
  quorum: 'the quorum',
  fourEyes: 'four eyes',
  rules: 'no rules',
  timeout: 'the time limit',
};

const minutes = (ms: number): string => `${String(Math.ceil(ms / 60_000))} min`;

/** The demands that the floor raised, each with the demand of the requester where it is a number. */
export const raisedTexts = ({
  floor,
  policy,
  timeoutMs,
}: Pick<ApprovalView, 'floor' | 'policy' | 'timeoutMs'>): readonly string[] => {
  const { raised = [], asked } = floor ?? {};
  const between = (from: string, to: string): string => (from === to ? '' : ` from ${from} to ${to}`);
  return raised.map((demand) => {
    if (demand === 'quorum')
      return `${DEMANDS.quorum}${between(String(asked?.policy?.quorum ?? 1), String(policy?.quorum ?? 1))}`;
    if (demand === 'timeout' && asked !== undefined)
      return `${DEMANDS.timeout}${between(minutes(asked.timeoutMs), minutes(timeoutMs))}`;
    return DEMANDS[demand];
  });
};
